/* test_family_stream.c - how the sampler finishes rows: what it chooses and launches, over the fake driver */
#include "check_suite.h"

#include "fake_driver.h"
#include "families.h"
#include "family_list.h"
#include "row_params.h"

#include <string.h>

enum { VOCAB = 126464, LAUNCHES_MAX = 2, PLAIN = DLLM_OUT_ARGMAX | DLLM_OUT_LSE };

/* Operands are never read here: addresses alone matter. */
static _Alignas(256) char memory[256];
static dllm_context context;
static dllm_plan plan;

static struct {
    int count;
    fake_launch_record launches[LAUNCHES_MAX];
    dllm_sampler_params sampler;
    dllm_combine_params rows;
} seen;

static void note_launch(void *user, const fake_launch_record *launch)
{
    (void)user;
    ck_assert_int_lt(seen.count, LAUNCHES_MAX);
    seen.launches[seen.count++] = *launch;
    if (strcmp(launch->entry, "sampler_finish") != 0) return;
    memcpy(&seen.sampler, launch->parameters[0], sizeof seen.sampler);
    memcpy(&seen.rows, launch->parameters[1], sizeof seen.rows);
}

static void load_kernels(dllm_plan_entry *entry)
{
    dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
    dllm_cu_module module;
    const dllm_driver *driver = &context.driver;
    ck_assert_int_eq(driver->module_load(&module, memory), DLLM_CU_SUCCESS);
    const int count = dllm__family_stream.kernels(&plan.problem, &entry->choice, specs);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(driver->module_function(&entry->kernels[i], module, specs[i].entry),
                         DLLM_CU_SUCCESS);
}

/* By the rule of thumb; a kernel is its name and nothing else. */
static void make_plan_of(const char *arch, int64_t vocab, int64_t rows_max, uint32_t outputs)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_plan_entry *entry = &plan.entries[0];
    fake_driver_start(&context.driver);
    fake_driver_enter();
    fake_driver_on_launch(note_launch, NULL);
    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(dllm__device_typical(&context.device, arch), DLLM_OK);
    options.vocab = vocab;
    options.rows_max = rows_max;
    options.logits_type = DLLM_BF16;
    options.outputs = outputs;
    options.candidates = outputs & DLLM_OUT_CANDIDATES ? 8 : 0;
    plan = (dllm_plan){.context = &context, .entry_count = 1};
    ck_assert_int_eq(dllm__sampler_problem(&plan.problem, &options), DLLM_OK);
    entry->problem = plan.problem;
    ck_assert_int_eq(
        dllm__propose(&entry->choice, &dllm__family_stream, &plan.problem, &context.device),
        DLLM_OK);
    load_kernels(entry);
}

static void make_plan(const char *arch, int64_t rows_max, uint32_t outputs)
{
    make_plan_of(arch, VOCAB, rows_max, outputs);
}

static void run(int64_t rows)
{
    const dllm_row_call call = {.rows = rows,
                                .hidden = memory,
                                .hidden_stride = VOCAB,
                                .source_rows = rows,
                                .argmax = memory,
                                .max = (float *)(void *)(memory + 64), /* not asked for */
                                .lse = (float *)(void *)(memory + 128)};
    ck_assert_msg(dllm__family_stream.run(&plan, &plan.entries[0], &call, NULL) == DLLM_OK, "%s",
                  dllm_last_error());
}

/* Threads a block, and blocks a row: few rows take wide clusters, many a block each. */
START_TEST(hopper_finishes_rows_in_one_launch)
{
    static const struct {
        int64_t rows;
        unsigned threads, cluster;
    } ways[] = {{1, 512, 8},   {16, 512, 8},   {64, 512, 2},   {128, 512, 0},  {256, 512, 0},
                {512, 256, 0}, {1024, 256, 0}, {2048, 128, 0}, {16384, 128, 0}};
    const int64_t blocks = ways[_i].cluster ? ways[_i].cluster : 1;
    make_plan("sm_90a", ways[_i].rows, PLAIN);
    run(ways[_i].rows);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.launches[0].entry, "sampler_finish");
    ck_assert_uint_eq(seen.launches[0].block[0], ways[_i].threads);
    ck_assert_uint_eq(seen.launches[0].cluster, ways[_i].cluster);
    ck_assert_int_eq(seen.launches[0].grid[0], blocks * ways[_i].rows);
    ck_assert_uint_eq(dllm__family_stream.workspace_bytes(&plan.problem, &plan.entries[0].choice),
                      0);
    ck_assert_int_eq(seen.sampler.columns, VOCAB);
    ck_assert_int_ge(seen.sampler.split_columns * blocks, VOCAB);
}
END_TEST

/* The kernel serves any set of plain outputs: it is told which by their pointers. */
START_TEST(outputs_that_were_not_asked_for_are_not_pointed_at)
{
    make_plan("sm_90a", 4, PLAIN);
    run(4);
    ck_assert_ptr_eq(seen.rows.argmax, memory);
    ck_assert_ptr_eq(seen.rows.lse, memory + 128);
    ck_assert_ptr_null(seen.rows.max);
    ck_assert_ptr_null(seen.rows.confidence);
    ck_assert_ptr_null(seen.rows.flags);
}
END_TEST

START_TEST(fewer_rows_change_no_share_of_a_row)
{
    make_plan("sm_90a", 64, PLAIN);
    run(64);
    const int columns = seen.sampler.split_columns;
    memset(&seen, 0, sizeof seen);
    run(17);
    ck_assert_int_eq(seen.sampler.split_columns, columns);
    ck_assert_uint_eq(seen.launches[0].block[0], 512);
    ck_assert_uint_eq(seen.launches[0].cluster, 2);
    ck_assert_uint_eq(seen.launches[0].grid[0], 34);
}
END_TEST

static void check_two_launches(void)
{
    static const char *const entries[] = {"sampler_stream", "combine"};
    run(4);
    ck_assert_int_eq(seen.count, 2);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(strcmp(seen.launches[i].entry, entries[i]) == 0 && !seen.launches[i].cluster,
                      "launch %d is %s", i, seen.launches[i].entry);
}

START_TEST(without_clusters_several_splits_take_two_launches)
{
    make_plan("sm_80", 4, PLAIN);
    ck_assert_int_gt(plan.entries[0].choice.splits, 8);
    check_two_launches();
}
END_TEST

START_TEST(without_clusters_one_split_is_finished)
{
    make_plan("sm_80", 4, PLAIN);
    dllm_choice choice = plan.entries[0].choice;
    choice.finishes = choice.splits = 1;
    ck_assert_int_eq(dllm__family_stream.legal(&plan.problem, &context.device, &choice), DLLM_OK);
    choice.splits = 2;
    ck_assert_int_eq(dllm__family_stream.legal(&plan.problem, &context.device, &choice),
                     DLLM_UNSUPPORTED);
}
END_TEST

/* Few rows of a vocabulary that eight blocks would read for long; many rows fill the device anyway. */
START_TEST(long_rows_take_two_launches)
{
    static const struct {
        int64_t vocab, rows;
        int finishes;
    } ways[] = {{1 << 20, 1, 1},
                {(1 << 20) + 1025 * 8, 1, 0},
                {1 << 23, 1, 0},
                {1 << 20, 132, 1},
                {(1 << 23) + 1, 132, 0}};
    make_plan_of("sm_90a", ways[_i].vocab, ways[_i].rows, PLAIN);
    const dllm_choice *choice = &plan.entries[0].choice;
    ck_assert_int_eq(choice->finishes, ways[_i].finishes);
    if (!choice->finishes) ck_assert_int_ge(choice->splits * ways[_i].rows, 528); /* four an SM */
    ck_assert_int_eq(dllm__check_choice(choice, &plan.problem, &context.device), DLLM_OK);
}
END_TEST

START_TEST(lists_of_candidates_take_two_launches)
{
    make_plan("sm_90a", 4, PLAIN | DLLM_OUT_CANDIDATES);
    ck_assert_int_eq(plan.entries[0].choice.finishes, 0);
    check_two_launches();
}
END_TEST

/* The kernel that stores states has blocks of 128 threads. */
START_TEST(only_finishing_blocks_are_wide)
{
    make_plan("sm_90a", 4, PLAIN);
    dllm_choice choice = plan.entries[0].choice;
    ck_assert_int_eq(dllm__check_choice(&choice, &plan.problem, &context.device), DLLM_OK);
    choice.finishes = 0;
    ck_assert_int_eq(dllm__check_choice(&choice, &plan.problem, &context.device), DLLM_UNSUPPORTED);
    choice.tile_vocab = 1024;
    ck_assert_int_eq(dllm__check_choice(&choice, &plan.problem, &context.device), DLLM_OK);
}
END_TEST

START_TEST(the_widest_blocks_are_for_plain_outputs)
{
    make_plan("sm_90a", 4, PLAIN);
    dllm_choice choice = plan.entries[0].choice;
    choice.tile_vocab = 8192;
    choice.stages = 2;
    ck_assert_int_eq(dllm__check_choice(&choice, &plan.problem, &context.device), DLLM_OK);
    make_plan("sm_90a", 4, PLAIN | DLLM_OUT_ENTROPY);
    ck_assert_int_eq(dllm__check_choice(&choice, &plan.problem, &context.device), DLLM_UNSUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("family_stream");
    TCase *group = tcase_create("stream");
    tcase_add_loop_test(group, hopper_finishes_rows_in_one_launch, 0, 9);
    tcase_add_test(group, outputs_that_were_not_asked_for_are_not_pointed_at);
    tcase_add_test(group, fewer_rows_change_no_share_of_a_row);
    tcase_add_test(group, without_clusters_several_splits_take_two_launches);
    tcase_add_test(group, without_clusters_one_split_is_finished);
    tcase_add_loop_test(group, long_rows_take_two_launches, 0, 5);
    tcase_add_test(group, lists_of_candidates_take_two_launches);
    tcase_add_test(group, only_finishing_blocks_are_wide);
    tcase_add_test(group, the_widest_blocks_are_for_plain_outputs);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
