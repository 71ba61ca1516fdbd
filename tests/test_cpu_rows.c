/*
 * test_cpu_rows.c - head and sampler of the CPU backend through the public interface
 *
 *     test_cpu_rows            the suites
 *     test_cpu_rows --draws N  N draws instead of a few thousand, and nothing else
 */
#include "row_suite.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1 << 13, HEAD_DRAWS = 1 << 10 };

int main(int count, char **arguments)
{
    static const char *const families[] = {"cpu", NULL};
    const bool asked = count == 3 && strcmp(arguments[1], "--draws") == 0;
    int status = EXIT_SUCCESS;
    for (int is_head = 0; is_head < 2; is_head++) {
        const int64_t draws = asked     ? strtoll(arguments[2], NULL, 10)
                              : is_head ? HEAD_DRAWS
                                        : DRAWS;
        const row_suite_setup setup = {DLLM_DEVICE_CPU, is_head == 1, families, 1, draws};
        Suite *suite = suite_create(is_head ? "cpu_head" : "cpu_sampler");
        if (asked)
            row_suite_add_draws(suite, &setup);
        else
            row_suite_add(suite, &setup);
        if (row_suite_run(suite) != EXIT_SUCCESS) status = EXIT_FAILURE;
    }
    return status;
}
