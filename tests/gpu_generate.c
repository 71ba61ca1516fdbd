/*
 * gpu_generate.c - the golden texts with the head on a GPU; exit 77 without one
 *
 *     gpu_generate [FAMILY]  by one kernel family, or by each of them and the library's own choice
 */
#include "check_suite.h"
#include "device_memory.h"
#include "generate_run.h"

#include <stdio.h>
#include <string.h>

static const char *const families[] = {"naive", "tiled", "mma", "sm90", "gemm_chunk"};
enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

/** Golden run _i % 15 by family _i / 15. */
START_TEST(golden_run)
{
    const char *const further[] = {"--device", "cuda", "--family",
                                   families[_i / GENERATE_GOLDEN_RUNS], NULL};
    generate_check_golden(_i % GENERATE_GOLDEN_RUNS, further);
}
END_TEST

START_TEST(golden_run_by_the_librarys_choice)
{
    const char *const further[] = {"--device", "cuda", NULL};
    generate_check_golden(_i, further);
}
END_TEST

/** A guided text is that of the CPU, by every family. */
START_TEST(guided_run)
{
    static const char austen[] = GENERATE_AUSTEN;
    static generate_end cpu, gpu;
    const char *arguments[16] = {"--model", austen,        "--prompt", "It is", "--gen-length",
                                 "24",      "--cfg-scale", "1.5",      NULL};
    generate_run(&cpu, arguments);
    ck_assert_msg(cpu.code == 0, "%s", cpu.err);
    const char *const further[] = {"--device", "cuda", "--family", families[_i], NULL};
    for (int i = 0; further[i]; i++)
        arguments[8 + i] = further[i];
    generate_run(&gpu, arguments);
    ck_assert_msg(gpu.code == 0, "%s: %s", families[_i], gpu.err);
    ck_assert_str_eq(gpu.out, cpu.out);
}
END_TEST

int main(int count, char **arguments)
{
    char reason[256];
    int family = 0;
    if (device_count(reason) < 1) {
        (void)printf("skipped: no CUDA device\n");
        return 77;
    }
    while (count > 1 && family < FAMILY_COUNT && strcmp(families[family], arguments[1]) != 0)
        family++;
    if (family == FAMILY_COUNT) {
        (void)fprintf(stderr, "gpu_generate: %s is no family of the head\n", arguments[1]);
        return 1;
    }
    const int end = count > 1 ? family + 1 : FAMILY_COUNT;
    Suite *suite = suite_create("gpu_generate");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, golden_run, family * GENERATE_GOLDEN_RUNS,
                        end * GENERATE_GOLDEN_RUNS);
    tcase_add_loop_test(golden, guided_run, family, end);
    if (count == 1) tcase_add_loop_test(golden, golden_run_by_the_librarys_choice, 0, 2);
    suite_add_tcase(suite, golden);
    return check_suite_run(suite);
}
