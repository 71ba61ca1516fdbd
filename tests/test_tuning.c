/*
 * test_tuning.c - tuning from candidates to the choice of a plan, over a fake driver with a clock
 *
 * The device takes the time that a test says for each head kernel, and gives one answer for all rows.
 */
#include "check_suite.h"

#include "fake_driver.h"
#include "scratch.h"
#include "timed_device.h"
#include "tuner_lock.h"
#include "tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 4096, DEPTH = 64, ROWS_MAX = 64, BUCKETS = 3 };

static char folder[SCRATCH_BYTES];
static dllm_context *context;
static char last_line[512]; /* of the log */

static void take_line(void *user, const char *line)
{
    (void)user;
    (void)snprintf(last_line, sizeof last_line, "%s", line);
}

/* Another process: what it knows is on disk. */
static void open_another(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.log = take_line;
    last_line[0] = '\0';
    timed_device_start();
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_OK);
}

static void close_one(void)
{
    dllm_context_destroy(context);
    context = NULL;
    ck_assert_int_eq(fake_driver_live(), 0);
}

static void open_context(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
    timed_device_reset();
    open_another();
}

static void close_context(void)
{
    close_one();
    scratch_remove(folder);
}

static dllm_head_options head_options(uint32_t prepare)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = ROWS_MAX;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    options.prepare = prepare;
    return options;
}

static dllm_plan_information prepare(uint32_t bits)
{
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    const dllm_head_options options = head_options(bits);
    dllm_plan *plan = NULL;
    ck_assert_msg(dllm_head_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_int_eq(dllm_plan_info(plan, &information), DLLM_OK);
    dllm_plan_destroy(plan);
    return information;
}

static uint64_t measurements(void)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    return statistics.measurements;
}

/* ---- through prepare ---- */

START_TEST(measuring_takes_the_fastest)
{
    timed_device.mma_us = 50.0;
    ck_assert_str_eq(prepare(0).family, "sm90");
    ck_assert_uint_eq(measurements(), 0);
    const dllm_plan_information tuned = prepare(DLLM_PREPARE_MEASURE);
    ck_assert_str_eq(tuned.family, "mma");
    ck_assert_str_eq(tuned.choice_source, "tuned");
    ck_assert_ptr_nonnull(strstr(tuned.why, "measured for up to 64 rows"));
    ck_assert_uint_gt(measurements(), BUCKETS);
}
END_TEST

START_TEST(every_bucket_is_tuned)
{
    const dllm_head_options options = head_options(DLLM_PREPARE_MEASURE);
    dllm_plan *plan = NULL;
    timed_device.mma_us = 50.0;
    ck_assert_int_eq(dllm_head_prepare(&plan, context, &options), DLLM_OK);
    for (int i = 0; i < plan->entry_count; i++)
        ck_assert_str_eq(plan->entries[i].choice.family->name, "mma");
    dllm_plan_destroy(plan);
}
END_TEST

START_TEST(what_is_tuned_is_not_measured_again)
{
    timed_device.mma_us = 50.0;
    (void)prepare(DLLM_PREPARE_MEASURE);
    const uint64_t before = measurements();
    ck_assert_str_eq(prepare(DLLM_PREPARE_MEASURE).family, "mma");
    ck_assert_str_eq(prepare(0).family, "mma");
    ck_assert_uint_eq(measurements(), before);
}
END_TEST

START_TEST(deterministic_ignores_what_was_measured)
{
    timed_device.mma_us = 50.0;
    (void)prepare(DLLM_PREPARE_MEASURE);
    const dllm_plan_information information = prepare(DLLM_PREPARE_DETERMINISTIC);
    ck_assert_str_eq(information.family, "sm90");
    ck_assert_str_eq(information.choice_source, "rule");
    const uint64_t before = measurements();
    (void)prepare(DLLM_PREPARE_DETERMINISTIC | DLLM_PREPARE_MEASURE);
    ck_assert_uint_eq(measurements(), before);
}
END_TEST

/* The default was measured too: it is known to be best, and not measured again. */
START_TEST(a_default_that_stays_is_kept_as_tuned)
{
    const dllm_plan_information rule = prepare(0);
    const dllm_plan_information tuned = prepare(DLLM_PREPARE_MEASURE);
    ck_assert_str_eq(tuned.family, rule.family);
    ck_assert_int_eq(tuned.splits, rule.splits);
    ck_assert_str_eq(tuned.choice_source, "tuned");
}
END_TEST

START_TEST(a_noisy_device_changes_nothing)
{
    timed_device.mma_us = 20.0;
    timed_device.noise = 1.0;
    const dllm_plan_information information = prepare(DLLM_PREPARE_MEASURE);
    ck_assert_str_eq(information.choice_source, "rule");
    ck_assert_str_eq(information.family, "sm90");
}
END_TEST

START_TEST(a_wrong_answer_never_wins)
{
    timed_device.mma_us = 10.0;
    timed_device.mma_is_wrong = true;
    ck_assert_str_eq(prepare(DLLM_PREPARE_MEASURE).family, "sm90");
}
END_TEST

static dllm_cu_result refuse_mma(void *user, const void *image)
{
    (void)user;
    return strstr(image, "head_mma.cu") ? DLLM_CU_INVALID_IMAGE : DLLM_CU_SUCCESS;
}

/* What worked where it was tuned must not fail a call here. */
START_TEST(a_tuned_choice_that_does_not_load_is_dropped)
{
    timed_device.mma_us = 50.0;
    ck_assert_str_eq(prepare(DLLM_PREPARE_MEASURE).family, "mma");
    close_one();
    open_another();
    fake_driver_on_image(refuse_mma, NULL);
    const dllm_plan_information information = prepare(0);
    ck_assert_str_eq(information.family, "sm90");
    ck_assert_str_eq(information.choice_source, "rule");
}
END_TEST

/* ---- another process ---- */

START_TEST(another_process_measures_and_compiles_nothing)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    timed_device.mma_us = 50.0;
    (void)prepare(DLLM_PREPARE_MEASURE);
    close_one();
    open_another();
    const dllm_plan_information information = prepare(DLLM_PREPARE_MEASURE);
    ck_assert_str_eq(information.family, "mma");
    ck_assert_str_eq(information.choice_source, "tuned");
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    ck_assert_uint_eq(statistics.measurements, 0);
    ck_assert_uint_eq(statistics.compiled, 0);
}
END_TEST

START_TEST(no_disk_neither_reads_nor_writes)
{
    timed_device.mma_us = 50.0;
    (void)prepare(DLLM_PREPARE_MEASURE | DLLM_PREPARE_NO_DISK);
    close_one();
    open_another();
    ck_assert_str_eq(prepare(0).choice_source, "rule");
    (void)prepare(DLLM_PREPARE_MEASURE);
    close_one();
    open_another();
    ck_assert_str_eq(prepare(DLLM_PREPARE_NO_DISK).choice_source, "rule");
    ck_assert_str_eq(prepare(0).choice_source, "tuned");
}
END_TEST

static dllm_problem problem_of(int64_t rows)
{
    dllm_problem problem;
    const dllm_head_options options = head_options(0);
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    problem.rows_max = rows;
    return problem;
}

/* A file of this very key, from a version with another tile, or a spoilt one. */
START_TEST(an_illegal_stored_choice_is_dropped)
{
    const dllm_problem problem = problem_of(ROWS_MAX);
    dllm_tuned tuned = {.median_us = 1.0};
    bool stored = false;
    ck_assert_int_eq(dllm__propose(&tuned.choice, dllm__family_find("mma", DLLM_OPERATION_HEAD),
                                   &problem, &context->device),
                     DLLM_OK);
    tuned.choice.tile_rows = 96;
    ck_assert_int_eq(dllm__tuned_keep(context, &problem, &tuned, &stored), DLLM_OK);
    ck_assert(stored);
    ck_assert_str_eq(prepare(0).choice_source, "rule");
    close_one();
    open_another();
    ck_assert_str_eq(prepare(0).choice_source, "rule");
    ck_assert_str_eq(prepare(DLLM_PREPARE_MEASURE).choice_source, "tuned");
}
END_TEST

START_TEST(a_search_cut_short_is_not_stored)
{
    dllm_head_options options = head_options(DLLM_PREPARE_MEASURE);
    dllm_plan *plan = NULL;
    options.time_limit_ms = 1;
    ck_assert_int_eq(dllm_head_prepare(&plan, context, &options), DLLM_OK);
    dllm_plan_destroy(plan);
    close_one();
    open_another();
    ck_assert_str_eq(prepare(0).choice_source, "rule");
}
END_TEST

static bool a_few_times(void *user)
{
    return --*(int *)user >= 0;
}

/* A second tuner waits as long as it is told to, and has the GPU when the first one is gone. */
START_TEST(a_gpu_has_one_tuner_at_a_time)
{
    int left = 2;
    const int first = dllm__tuner_lock(context, a_few_times, &left);
    ck_assert_int_ge(first, 0);
    ck_assert_int_eq(left, 2);
    dllm__tuner_unlock(dllm__tuner_lock(context, a_few_times, &left));
    ck_assert_int_lt(left, 0);
    dllm__tuner_unlock(first);
    left = 2;
    dllm__tuner_unlock(dllm__tuner_lock(context, a_few_times, &left));
    ck_assert_int_eq(left, 2);
}
END_TEST

START_TEST(without_a_folder_there_is_no_lock)
{
    int left = 0;
    (void)setenv("DLLM_CACHE_DIR", "/dev/null/below", 1);
    ck_assert_int_eq(dllm__tuner_lock(context, a_few_times, &left), -1);
    ck_assert_int_eq(left, 0);
}
END_TEST

/* ---- one problem ---- */

static bool stop_at_once(void *user)
{
    return --*(int *)user < 0;
}

static dllm_tuning tune(const dllm_tune_options *options)
{
    dllm_tuning tuning;
    const dllm_problem problem = problem_of(ROWS_MAX);
    ck_assert_msg(dllm__tune(&tuning, context, &problem, options) == DLLM_OK, "%s",
                  dllm_last_error());
    return tuning;
}

START_TEST(a_write_beyond_the_outputs_is_seen)
{
    const dllm_tune_options options = {.patience = DLLM_PATIENCE_MEASURE};
    timed_device.mma_us = 10.0;
    timed_device.mma_writes_too_far = true;
    dllm_tuning tuning = tune(&options);
    int failed = 0;
    for (int i = 0; i < tuning.count; i++) {
        const bool is_mma = strcmp(tuning.candidates[i].choice.family->name, "mma") == 0;
        ck_assert_int_eq(tuning.contenders[i].failed, is_mma);
        if (is_mma) ck_assert_ptr_nonnull(strstr(tuning.contenders[i].why, "behind argmax"));
        failed += is_mma;
    }
    ck_assert_int_gt(failed, 0);
    dllm__tuning_release(&tuning);
}
END_TEST

START_TEST(a_stop_leaves_nothing_behind)
{
    for (int steps = 0; steps < 400; steps += 37) {
        int left = steps;
        const dllm_tune_options options = {.stopped = stop_at_once, .user = &left};
        timed_device.mma_us = 50.0;
        dllm_tuning tuning = tune(&options);
        const bool finished = tuning.verdict == DLLM_VERDICT_WON;
        ck_assert(finished || tuning.verdict == DLLM_VERDICT_STOPPED);
        dllm__tuning_release(&tuning);
        if (finished) break;
        ck_assert_str_eq(prepare(0).choice_source, "rule");
    }
}
END_TEST

START_TEST(more_patience_tries_more)
{
    int counts[3];
    for (int patience = 0; patience < 3; patience++) {
        const dllm_tune_options options = {.patience = (dllm_patience)patience};
        dllm_tuning tuning = tune(&options);
        counts[patience] = tuning.count;
        dllm__tuning_release(&tuning);
    }
    ck_assert_int_lt(counts[0], counts[1]);
    ck_assert_int_le(counts[1], counts[2]);
}
END_TEST

START_TEST(a_problem_with_one_choice_is_refused)
{
    dllm_tuning tuning;
    dllm_problem problem = problem_of(ROWS_MAX);
    const dllm_tune_options options = {.patience = DLLM_PATIENCE_MEASURE};
    problem.behaviour = DLLM_BATCH_INVARIANT;
    ck_assert_int_eq(dllm__tune(&tuning, context, &problem, &options), DLLM_UNSUPPORTED);
    ck_assert_str_eq(dllm_last_error(),
                     "there is nothing to tune: batch_invariant leaves one choice");
    dllm__tuning_release(&tuning);
}
END_TEST

START_TEST(prepare_says_what_it_does_not_measure)
{
    dllm_plan *plan = NULL;
    dllm_head_options options = head_options(DLLM_PREPARE_MEASURE);
    options.cfg_scale = 2.0f;
    ck_assert_msg(dllm_head_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
    dllm_plan_destroy(plan);
    ck_assert_str_eq(last_line, "nothing is measured: guidance goes by rules of thumb");
    ck_assert_uint_eq(measurements(), 0);
}
END_TEST

/* Wherever the driver fails, prepare ends, with a plan or with a message, and nothing is left. */
START_TEST(a_driver_call_may_fail_anywhere)
{
    int n = 1;
    bool was_reached = true;
    close_context();
    for (; was_reached; n += 1 + n / 3) {
        dllm_plan *plan = NULL;
        const dllm_head_options options = head_options(DLLM_PREPARE_MEASURE);
        open_context();
        const int before = fake_driver_calls();
        fake_driver_fail_call(n, 999);
        const dllm_status status = dllm_head_prepare(&plan, context, &options);
        was_reached = fake_driver_calls() - before >= n;
        ck_assert_msg(status == DLLM_OK || dllm_last_error()[0], "call %d", n);
        dllm_plan_destroy(plan);
        close_context();
    }
    ck_assert_int_gt(n, 1000);
    open_context();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuning");
    TCase *group = tcase_create("prepare");
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_add_test(group, measuring_takes_the_fastest);
    tcase_add_test(group, every_bucket_is_tuned);
    tcase_add_test(group, what_is_tuned_is_not_measured_again);
    tcase_add_test(group, deterministic_ignores_what_was_measured);
    tcase_add_test(group, a_default_that_stays_is_kept_as_tuned);
    tcase_add_test(group, a_noisy_device_changes_nothing);
    tcase_add_test(group, a_wrong_answer_never_wins);
    tcase_add_test(group, a_tuned_choice_that_does_not_load_is_dropped);
    suite_add_tcase(suite, group);
    group = tcase_create("another process");
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_add_test(group, another_process_measures_and_compiles_nothing);
    tcase_add_test(group, no_disk_neither_reads_nor_writes);
    tcase_add_test(group, an_illegal_stored_choice_is_dropped);
    tcase_add_test(group, a_search_cut_short_is_not_stored);
    tcase_add_test(group, a_gpu_has_one_tuner_at_a_time);
    tcase_add_test(group, without_a_folder_there_is_no_lock);
    suite_add_tcase(suite, group);
    group = tcase_create("one problem");
    tcase_set_timeout(group, 120);
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_add_test(group, a_write_beyond_the_outputs_is_seen);
    tcase_add_test(group, a_stop_leaves_nothing_behind);
    tcase_add_test(group, more_patience_tries_more);
    tcase_add_test(group, a_problem_with_one_choice_is_refused);
    tcase_add_test(group, prepare_says_what_it_does_not_measure);
    tcase_add_test(group, a_driver_call_may_fail_anywhere);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
