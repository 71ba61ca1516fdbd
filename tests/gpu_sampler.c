/* gpu_sampler.c - the sampler on a GPU against the double reference; exit 77 without a device */
#include "row_suite.h"

int main(void)
{
    static const char *const families[] = {"stream", NULL};
    const row_suite_setup setup = {0, false, families, 1, 1 << 20};
    if (!row_suite_has_device()) return 77;
    Suite *suite = suite_create("gpu_sampler");
    row_suite_add(suite, &setup);
    return row_suite_run(suite);
}
