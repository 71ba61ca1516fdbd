/*
 * gpu_sampler.c - the sampler on a GPU against the double reference; exit 77 without a device
 *
 *     gpu_sampler [stream]  the suite
 *     gpu_sampler --draws   2^20 draws in place of 2^13, and nothing else
 */
#include "row_suite.h"

#include <string.h>

int main(int count, char **arguments)
{
    static const char *const families[] = {"stream", NULL};
    const bool draws = count == 2 && strcmp(arguments[1], "--draws") == 0;
    const row_suite_setup setup = {0, false, families, 1, draws ? 1 << 20 : 1 << 13};
    if (!row_suite_has_device()) return 77;
    Suite *suite = suite_create("gpu_sampler");
    if (draws)
        row_suite_add_draws(suite, &setup);
    else
        row_suite_add(suite, &setup);
    return row_suite_run(suite);
}
