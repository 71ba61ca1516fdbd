/*
 * test_plan.c - one choice a row bucket, prepared together, over a fake driver and a fake compiler
 */
#include "check_suite.h"

#include "fake_driver.h"
#include "families.h"
#include "row_params.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 126464, DEPTH = 4096, ROWS_MAX = 5000 };

static char folder[SCRATCH_BYTES];
static dllm_driver unused_table;
static dllm_context *context;

/* What the kernels of the last run were told. */
static struct {
    int splits;          /* of combine */
    const char *packed;  /* of gather */
    size_t packed_bytes; /* bf16 */
} seen;

static void note_launch(void *user, const fake_launch_record *launch)
{
    (void)user;
    if (strcmp(launch->entry, "combine") == 0) {
        const dllm_combine_params *params = launch->parameters[0];
        seen.splits = params->splits;
    } else if (strcmp(launch->entry, "gather") == 0) {
        const dllm_gather_params *params = launch->parameters[0];
        seen.packed = params->packed;
        seen.packed_bytes = (size_t)(params->rows * params->packed_stride) * sizeof(uint16_t);
    }
}

static void open_context(void)
{
    fake_driver_start(&unused_table);
    fake_driver_on_launch(note_launch, NULL);
    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
}

static void close_context(void)
{
    dllm_context_destroy(context);
    ck_assert_int_eq(fake_driver_live(), 0);
}

static dllm_plan *prepare(int64_t rows_max, uint32_t inputs, const char *family)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_plan *plan = NULL;
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = rows_max;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    options.inputs = inputs;
    options.family = family;
    ck_assert_msg(dllm_head_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
    return plan;
}

/* Addresses alone matter: the fake launches nothing. */
static _Alignas(256) char memory[256];

static void run(const dllm_plan *plan, int64_t rows, const void *row_index)
{
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = rows;
    buffers.hidden = buffers.weight = buffers.workspace = memory;
    buffers.argmax = memory;
    buffers.row_index = row_index;
    buffers.source_rows = row_index ? ROWS_MAX : 0;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(plan);
    ck_assert_msg(dllm_head_run(plan, &buffers, NULL) == DLLM_OK, "%s", dllm_last_error());
}

START_TEST(buckets_ascend_to_rows_max)
{
    static const int64_t counts[] = {0, 1, 2, 16, 17, 300, 16384, 16385, INT32_MAX};
    dllm_problem problem = {.rows_max = counts[_i]};
    int64_t rows[DLLM_PLAN_ENTRIES_MAX];
    const int count = dllm__row_buckets(rows, &problem);
    ck_assert_int_eq(rows[count - 1], problem.rows_max);
    for (int i = 1; i < count; i++)
        ck_assert_int_lt(rows[i - 1], rows[i]);
    ck_assert_int_eq(count > 1, problem.rows_max > 1);
}
END_TEST

START_TEST(a_choice_that_must_not_depend_on_rows_has_one_bucket)
{
    dllm_problem problem = {.rows_max = ROWS_MAX, .family = "mma"};
    int64_t rows[DLLM_PLAN_ENTRIES_MAX];
    ck_assert_int_eq(dllm__row_buckets(rows, &problem), 1);
    problem.family[0] = '\0';
    ck_assert_int_gt(dllm__row_buckets(rows, &problem), 1);
    problem.behaviour = DLLM_BATCH_INVARIANT;
    ck_assert_int_eq(dllm__row_buckets(rows, &problem), 1);
}
END_TEST

START_TEST(run_takes_the_bucket_that_holds_its_rows)
{
    dllm_plan *plan = prepare(ROWS_MAX, 0, NULL);
    ck_assert_int_gt(plan->entry_count, 4);
    for (int i = 0; i < plan->entry_count; i++) {
        const int64_t most = plan->entries[i].problem.rows_max;
        const int64_t least = i ? plan->entries[i - 1].problem.rows_max + 1 : 1;
        run(plan, most, NULL);
        ck_assert_int_eq(seen.splits, plan->entries[i].choice.splits);
        run(plan, least, NULL);
        ck_assert_int_eq(seen.splits, plan->entries[i].choice.splits);
    }
    dllm_plan_destroy(plan);
}
END_TEST

/* A bucket with few rows and many splits is laid out by its own rows, not by rows_max. */
START_TEST(every_bucket_stays_inside_the_workspace)
{
    dllm_plan *plan = prepare(ROWS_MAX, DLLM_IN_ROW_INDEX, NULL);
    const size_t workspace_bytes = dllm_plan_workspace_bytes(plan);
    size_t largest = 0;
    for (int i = 0; i < plan->entry_count; i++) {
        const dllm_plan_entry *entry = &plan->entries[i];
        const size_t bytes = entry->choice.family->workspace_bytes(&entry->problem, &entry->choice);
        if (bytes > largest) largest = bytes;
        run(plan, entry->problem.rows_max, memory);
        ck_assert_ptr_nonnull(seen.packed);
        ck_assert_msg(seen.packed + seen.packed_bytes <= memory + bytes, "bucket of %lld rows",
                      (long long)entry->problem.rows_max);
    }
    ck_assert_uint_eq(workspace_bytes, largest + 255);
    dllm_plan_destroy(plan);
}
END_TEST

START_TEST(a_kernel_of_several_buckets_is_loaded_once)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    dllm_plan *plan = prepare(ROWS_MAX, 0, NULL);
    for (int i = 0; i < plan->entry_count; i++)
        ck_assert_ptr_eq(plan->entries[i].kernels[1], plan->entries[0].kernels[1]);
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    ck_assert_uint_eq(statistics.loaded_memory, 0);
    dllm_plan_destroy(plan);
}
END_TEST

/* The limit of dynamic shared memory is the largest that any bucket asks for. */
START_TEST(a_shared_kernel_gets_what_its_largest_bucket_needs)
{
    dllm_plan *plan = prepare(ROWS_MAX, 0, NULL);
    for (int i = 0; i < plan->entry_count; i++) {
        const dllm_plan_entry *entry = &plan->entries[i];
        ck_assert_int_ge(fake_driver_shared_limit(entry->kernels[0]),
                         entry->choice.family->shared_bytes(&entry->problem, &entry->choice, 0));
    }
    dllm_plan_destroy(plan);
}
END_TEST

START_TEST(equal_choices_of_neighbours_are_one_entry)
{
    dllm_plan *plan = prepare(ROWS_MAX, 0, NULL);
    for (int i = 1; i < plan->entry_count; i++)
        ck_assert(!dllm__choice_equal(&plan->entries[i - 1].choice, &plan->entries[i].choice));
    ck_assert_int_eq(plan->entries[plan->entry_count - 1].problem.rows_max, ROWS_MAX);
    dllm_plan_destroy(plan);
}
END_TEST

START_TEST(information_tells_of_the_largest_bucket)
{
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    dllm_plan *plan = prepare(ROWS_MAX, 0, NULL);
    dllm_plan *alone = prepare(ROWS_MAX, 0, "sm90");
    ck_assert_int_eq(dllm_plan_info(plan, &information), DLLM_OK);
    ck_assert_int_eq(information.splits, alone->entries[0].choice.splits);
    ck_assert_int_eq(information.tile_rows, alone->entries[0].choice.tile_rows);
    dllm_plan_destroy(alone);
    dllm_plan_destroy(plan);
}
END_TEST

static void remove_folder(void)
{
    scratch_remove(folder);
}

static void set_environment(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
}

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *group = tcase_create("row buckets");
    tcase_add_unchecked_fixture(group, set_environment, remove_folder);
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_add_loop_test(group, buckets_ascend_to_rows_max, 0, 9);
    tcase_add_test(group, a_choice_that_must_not_depend_on_rows_has_one_bucket);
    tcase_add_test(group, run_takes_the_bucket_that_holds_its_rows);
    tcase_add_test(group, every_bucket_stays_inside_the_workspace);
    tcase_add_test(group, a_kernel_of_several_buckets_is_loaded_once);
    tcase_add_test(group, a_shared_kernel_gets_what_its_largest_bucket_needs);
    tcase_add_test(group, equal_choices_of_neighbours_are_one_entry);
    tcase_add_test(group, information_tells_of_the_largest_bucket);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
