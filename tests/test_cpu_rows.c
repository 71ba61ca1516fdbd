/*
 * test_cpu_rows.c - head and sampler of the CPU backend through the public interface
 *
 *     test_cpu_rows            the suites
 *     test_cpu_rows --draws N  the same, with N draws instead of a few thousand
 */
#include "row_suite.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1 << 13 };

int main(int count, char **arguments)
{
    static const char *const families[] = {"cpu", NULL};
    const bool asked = count == 3 && strcmp(arguments[1], "--draws") == 0;
    const int64_t draws = asked ? strtoll(arguments[2], NULL, 10) : DRAWS;
    int status = EXIT_SUCCESS;
    for (int is_head = 0; is_head < 2; is_head++) {
        const row_suite_setup setup = {DLLM_DEVICE_CPU, is_head == 1, families, 1, draws};
        Suite *suite = suite_create(is_head ? "cpu_head" : "cpu_sampler");
        row_suite_add(suite, &setup);
        if (row_suite_run(suite) != EXIT_SUCCESS) status = EXIT_FAILURE;
    }
    return status;
}
