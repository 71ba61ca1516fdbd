/*
 * gpu_tune.c - the choices that the tuner may make give right answers; what is tuned is kept
 *
 * Exit 77 without a device.
 */
#include "check_suite.h"

#include "scratch.h"
#include "tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[SCRATCH_BYTES];
static dllm_context *context;

static void open_context(void)
{
    ck_assert_msg(dllm_context_create(&context, NULL) == DLLM_OK, "%s", dllm_last_error());
}

static void close_context(void)
{
    dllm_context_destroy(context);
}

/* Ragged in every direction, tall and wide, and one that 16-byte loads do not fit. */
static const struct {
    int64_t vocab, depth; /* depth 0: a sampler */
    dllm_type type;
} shapes[] = {
    {20001, 512, DLLM_BF16}, {5003, 4104, DLLM_FP16}, {3001, 1027, DLLM_BF16},
    {4099, 260, DLLM_FP32},  {126464, 0, DLLM_BF16},  {50257, 0, DLLM_FP32},
};

static const int64_t row_counts[] = {1, 16, 64, 512, 1024};

enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    ROW_COUNTS = sizeof row_counts / sizeof row_counts[0]
};

static dllm_problem problem_of(int shape, int64_t rows)
{
    dllm_problem problem;
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    head.vocab = sampler.vocab = shapes[shape].vocab;
    head.depth = shapes[shape].depth;
    head.hidden_type = head.weight_type = sampler.logits_type = shapes[shape].type;
    head.outputs = sampler.outputs = DLLM_OUT_ARGMAX;
    head.rows_max = sampler.rows_max = rows;
    ck_assert_int_eq(shapes[shape].depth ? dllm__head_problem(&problem, &head)
                                         : dllm__sampler_problem(&problem, &sampler),
                     DLLM_OK);
    return problem;
}

START_TEST(choices_give_right_answers)
{
    const dllm_tune_options options = {.patience = DLLM_PATIENCE_PATIENT};
    const dllm_problem problem = problem_of(_i / ROW_COUNTS, row_counts[_i % ROW_COUNTS]);
    dllm_tuning tuning;
    ck_assert_msg(dllm__tune(&tuning, context, &problem, &options) == DLLM_OK, "%s",
                  dllm_last_error());
    ck_assert_int_gt(tuning.count, 0);
    for (int i = 0; i < tuning.count; i++) {
        const dllm_choice *choice = &tuning.candidates[i].choice;
        ck_assert_msg(!tuning.contenders[i].failed,
                      "%lld columns, %lld rows: %s %dx%d stages %d "
                      "splits %d: %s",
                      (long long)problem.vocab, (long long)problem.rows_max, choice->family->name,
                      choice->tile_rows, choice->tile_vocab, choice->stages, choice->splits,
                      tuning.contenders[i].why);
    }
    dllm__tuning_release(&tuning);
}
END_TEST

static dllm_plan_information prepare(uint32_t bits)
{
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_plan *plan = NULL;
    options.vocab = 32000;
    options.depth = 1024;
    options.rows_max = 64;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE;
    options.prepare = bits;
    ck_assert_msg(dllm_head_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_int_eq(dllm_plan_info(plan, &information), DLLM_OK);
    dllm_plan_destroy(plan);
    return information;
}

/* On a busy device nothing is kept: then there is nothing to be seen here. */
START_TEST(a_second_process_measures_and_compiles_nothing)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    const dllm_plan_information first = prepare(DLLM_PREPARE_MEASURE);
    if (strcmp(first.choice_source, "tuned") != 0) return;
    close_context();
    open_context();
    const dllm_plan_information second = prepare(0);
    ck_assert_str_eq(second.choice_source, "tuned");
    ck_assert_str_eq(second.family, first.family);
    ck_assert_int_eq(second.splits, first.splits);
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    ck_assert_uint_eq(statistics.measurements, 0);
    ck_assert_uint_eq(statistics.compiled, 0);
}
END_TEST

static void make_folder(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

int main(void)
{
    if (dllm_context_create(&context, NULL) != DLLM_OK) {
        (void)printf("skipped: %s\n", dllm_last_error());
        return 77;
    }
    dllm_context_destroy(context);
    Suite *suite = suite_create("gpu_tune");
    TCase *group = tcase_create("tune");
    tcase_add_unchecked_fixture(group, make_folder, remove_folder);
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_set_timeout(group, 0);
    tcase_add_loop_test(group, choices_give_right_answers, 0, (int)(SHAPES * ROW_COUNTS));
    tcase_add_test(group, a_second_process_measures_and_compiles_nothing);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
