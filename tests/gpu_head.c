/*
 * gpu_head.c - every family of the head on a GPU against the double reference; exit 77 without one
 *
 *     gpu_head [FAMILY]  the suite, of one family or of all; several hundred kernels a family
 *     gpu_head --large   the head of LLaDA-8B: all rows of R = 1 .. 16,384, workspace within bounds
 *     gpu_head --shapes  every head of the table at random row counts, against cuBLAS
 *     gpu_head --draws   2^20 draws of each family in place of 2^13, and nothing else
 */
#include "row_suite.h"

#include "head_shapes.h"
#include "large_head.h"

#include <stdio.h>
#include <string.h>

static const char *const families[] = {"naive", "tiled", "mma", "sm90", "gemm_chunk", NULL};

/* Adds the suite of the named family, NULL for all of them; false if there is none of that name. */
static bool add_families(Suite *suite, const char *name)
{
    static const char *one[] = {NULL, NULL};
    /* cuBLAS chooses by shape, so gemm_chunk makes no promise across row counts */
    row_suite_setup setup = {0, true, families, 4, 1 << 13};
    for (int i = 0; name && families[i]; i++) {
        if (strcmp(name, families[i]) != 0) continue;
        one[0] = families[i];
        setup.families = one;
        setup.steady_families = i < setup.steady_families;
    }
    if (name && !one[0]) return false;
    row_suite_add(suite, &setup);
    return true;
}

int main(int count, char **arguments)
{
    static const row_suite_setup draws = {0, true, families, 4, 1 << 20};
    const char *what = count > 1 ? arguments[1] : NULL;
    if (!row_suite_has_device()) return 77;
    Suite *suite = suite_create("gpu_head");
    if (what && strcmp(what, "--large") == 0) {
        large_head_add(suite);
    } else if (what && strcmp(what, "--shapes") == 0) {
        head_shapes_add(suite);
    } else if (what && strcmp(what, "--draws") == 0) {
        row_suite_add_draws(suite, &draws);
    } else if (!add_families(suite, what)) {
        (void)fprintf(stderr, "gpu_head: %s is no family of the head\n", what);
        return 1;
    }
    return row_suite_run(suite);
}
