/*
 * test_bench_measure.c - the methods of bench on variants that only note that they ran
 */
#include "bench_measure.h"

#include "check_suite.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 1 << 16 };

static device_memory cpu;
static char ran[RUNS_MAX]; /* the variants' letters in the order of their runs */
static int runs;
static int refused_run; /* the run that fails, -1 = none */
static bench_variant first;
static bench_variant second;
static bench_variant *const both[] = {&first, &second};

static bool note(bench_variant *variant, int64_t turn)
{
    (void)turn;
    if (runs == refused_run) {
        (void)strcpy(variant->why, "no more");
        return false;
    }
    ck_assert_int_lt(runs, RUNS_MAX - 1);
    ran[runs++] = variant->name[0];
    return true;
}

static void start(void)
{
    ck_assert(device_open(&cpu, DLLM_DEVICE_CPU));
    memset(ran, 0, sizeof ran);
    runs = 0;
    refused_run = -1;
    first = (bench_variant){.name = "a", .run = note};
    second = (bench_variant){.name = "b", .run = note};
}

static bool measure(char letter, const bench_timing *timing, char *why)
{
    return bench_way_find(letter)->measure(both, 2, &cpu, timing, why, 64);
}

/* How often the runs change from one variant to the other. */
static int changes(void)
{
    int count = 0;
    for (int i = 1; i < runs; i++)
        count += ran[i] != ran[i - 1];
    return count;
}

START_TEST(launches_alternate_between_the_variants)
{
    const bench_timing timing = {.samples = 10, .limit_ms = 1e4};
    char why[64] = "";
    ck_assert(measure('L', &timing, why));
    ck_assert_int_eq(first.samples, 10);
    ck_assert_int_eq(second.samples, 10);
    ck_assert_int_ge(changes(), 2 * 10 - 1);
    /* the last round: a batch of one, then a batch of the other */
    const char *tail = ran + runs - first.batch - second.batch;
    for (int i = 0; i < first.batch + second.batch; i++)
        ck_assert_int_eq(tail[i], i < first.batch ? 'a' : 'b');
}
END_TEST

START_TEST(bursts_keep_a_variant_together)
{
    const bench_timing timing = {.samples = 4, .burst_ms = 0.01};
    char why[64] = "";
    ck_assert(measure('B', &timing, why));
    ck_assert_int_eq(first.samples, 4);
    ck_assert_int_eq(second.samples, 4);
    ck_assert_int_gt(first.batch, 1);
    /* the probe of each, then four rounds of two bursts */
    ck_assert_int_eq(changes(), 2 * (1 + 4) - 1);
    for (int i = 0; i < second.batch; i++)
        ck_assert_int_eq(ran[runs - 1 - i], 'b');
    ck_assert_int_eq(ran[runs - 1 - second.batch], 'a');
}
END_TEST

START_TEST(a_burst_is_one_run_where_a_run_is_longer)
{
    const bench_timing timing = {.samples = 3, .burst_ms = 1e-9};
    char why[64] = "";
    ck_assert(measure('B', &timing, why));
    ck_assert_int_eq(first.batch, 1);
}
END_TEST

START_TEST(host_time_is_of_single_calls)
{
    const bench_timing timing = {.samples = 500, .limit_ms = 1e4};
    char why[64] = "";
    ck_assert(measure('H', &timing, why));
    ck_assert_int_ge(first.samples, 500);
    ck_assert_int_le(first.samples, BENCH_SAMPLES_MAX);
    ck_assert_int_eq(first.batch, 1);
    ck_assert_int_eq(changes(), 1);
    for (int i = 0; i < first.samples; i++)
        ck_assert(first.ms[i] >= 0.0 && first.ms[i] < 1e3);
}
END_TEST

START_TEST(host_time_never_has_more_samples_than_room)
{
    const bench_timing timing = {.samples = BENCH_SAMPLES_MAX + 1, .limit_ms = 1e4};
    char why[64] = "";
    ck_assert(measure('H', &timing, why));
    ck_assert_int_le(first.samples, BENCH_SAMPLES_MAX);
}
END_TEST

START_TEST(failure_says_who_failed_and_why)
{
    static const char letters[] = "LBH";
    const bench_timing timing = {.samples = 3, .limit_ms = 1e4, .burst_ms = 0.01};
    char why[64] = "";
    refused_run = 1; /* every method begins with at least two runs of the first variant */
    ck_assert(!measure(letters[_i], &timing, why));
    ck_assert_str_eq(why, "a: no more");
}
END_TEST

START_TEST(ratio_is_the_median_of_paired_samples)
{
    first.samples = 3;
    second.samples = 4;
    memcpy(first.ms, (double[]){1, 4, 9}, 3 * sizeof(double));
    memcpy(second.ms, (double[]){2, 2, 3, 100}, 4 * sizeof(double));
    ck_assert_double_eq(bench_ratio(&first, &second), 2.0);
    ck_assert_double_eq(bench_median(second.ms, 4), 2.5);
    ck_assert_double_eq(bench_least(second.ms, 4), 2.0);
}
END_TEST

START_TEST(unknown_letter_is_no_method)
{
    ck_assert_ptr_null(bench_way_find('X'));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench_measure");
    TCase *methods = tcase_create("methods");
    tcase_add_checked_fixture(methods, start, NULL);
    tcase_add_test(methods, launches_alternate_between_the_variants);
    tcase_add_test(methods, bursts_keep_a_variant_together);
    tcase_add_test(methods, a_burst_is_one_run_where_a_run_is_longer);
    tcase_add_test(methods, host_time_is_of_single_calls);
    tcase_add_test(methods, host_time_never_has_more_samples_than_room);
    tcase_add_loop_test(methods, failure_says_who_failed_and_why, 0, 3);
    tcase_add_test(methods, ratio_is_the_median_of_paired_samples);
    tcase_add_test(methods, unknown_letter_is_no_method);
    suite_add_tcase(suite, methods);
    return check_suite_run(suite);
}
