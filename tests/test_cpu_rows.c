/* test_cpu_rows.c - head and sampler of the CPU backend through the public interface */
#include "row_suite.h"

#include <stdlib.h>

enum { DRAWS = 1 << 13 };

int main(void)
{
    static const char *const families[] = {"cpu", NULL};
    int status = EXIT_SUCCESS;
    for (int is_head = 0; is_head < 2; is_head++) {
        const row_suite_setup setup = {DLLM_DEVICE_CPU, is_head == 1, families, 1, DRAWS};
        Suite *suite = suite_create(is_head ? "cpu_head" : "cpu_sampler");
        row_suite_add(suite, &setup);
        if (row_suite_run(suite) != EXIT_SUCCESS) status = EXIT_FAILURE;
    }
    return status;
}
