/*
 * gpu_head.c - every family of the head on a GPU against the double reference; exit 77 without one
 *
 *     gpu_head           the suite
 *     gpu_head --large   the head of LLaDA-8B: all rows of R = 1 .. 16,384, workspace within bounds
 *     gpu_head --shapes  every head of the table at random row counts, against cuBLAS
 */
#include "row_suite.h"

#include "head_shapes.h"
#include "large_head.h"

#include <string.h>

int main(int count, char **arguments)
{
    static const char *const families[] = {"naive", "tiled", "mma", "sm90", "gemm_chunk", NULL};
    /* cuBLAS chooses by shape, so gemm_chunk makes no promise across row counts */
    const row_suite_setup setup = {0, true, families, 4, 0};
    if (!row_suite_has_device()) return 77;
    Suite *suite = suite_create("gpu_head");
    if (count == 2 && strcmp(arguments[1], "--large") == 0)
        large_head_add(suite);
    else if (count == 2 && strcmp(arguments[1], "--shapes") == 0)
        head_shapes_add(suite);
    else
        row_suite_add(suite, &setup);
    return row_suite_run(suite);
}
