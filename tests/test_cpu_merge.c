/* test_cpu_merge.c - merge on the CPU through the public interface, from states made by hand */
#include "check_suite.h"

#include "dllm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 1000 };

static dllm_context *context;
static dllm_plan *plan;

static void open_cpu(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = DLLM_DEVICE_CPU;
    options.threads = 2;
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_OK);
    plan = NULL;
}

static void close_cpu(void)
{
    dllm_plan_destroy(plan);
    dllm_context_destroy(context);
}

static void prepare(uint32_t outputs, int32_t candidates)
{
    dllm_merge_options options = DLLM_MERGE_OPTIONS_INIT;
    options.vocab = (int64_t)1 << 40;
    options.shards_max = SHARDS;
    options.rows_max = 2;
    options.id_type = DLLM_INT64;
    options.outputs = outputs;
    options.candidates = candidates;
    ck_assert_msg(dllm_merge_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
}

/* A shard of one candidate. */
static dllm_state single(float z, int64_t id)
{
    return (dllm_state){.max = z,
                        .sum = 1.0f,
                        .id = id,
                        .nan_id = -1,
                        .second = -INFINITY,
                        .second_id = -1,
                        .target = -INFINITY,
                        .score = -INFINITY,
                        .gumbel = -INFINITY,
                        .gumbel_id = -1};
}

static dllm_state neutral(void)
{
    dllm_state state = single(-INFINITY, -1);
    state.sum = 0.0f;
    return state;
}

START_TEST(no_rows_touch_nothing)
{
    const dllm_merge_buffers none = DLLM_MERGE_BUFFERS_INIT;
    prepare(DLLM_OUT_ARGMAX, 0);
    ck_assert_uint_eq(dllm_plan_state_bytes(plan), sizeof(dllm_state));
    ck_assert_int_eq(dllm_merge_run(plan, &none, NULL), DLLM_OK);
}
END_TEST

START_TEST(a_plan_of_another_operation_is_refused)
{
    const dllm_merge_buffers none = DLLM_MERGE_BUFFERS_INIT;
    const dllm_sampler_buffers sampler_none = DLLM_SAMPLER_BUFFERS_INIT;
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_plan *other = NULL;
    sampler.vocab = sampler.rows_max = 1;
    sampler.logits_type = DLLM_FP32;
    sampler.outputs = DLLM_OUT_ARGMAX;
    prepare(DLLM_OUT_ARGMAX, 0);
    ck_assert_int_eq(dllm_sampler_prepare(&other, context, &sampler), DLLM_OK);
    ck_assert_int_eq(dllm_merge_run(other, &none, NULL), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_sampler_run(plan, &sampler_none, NULL), DLLM_INVALID_ARGUMENT);
    ck_assert_uint_eq(dllm_plan_state_bytes(other), 0);
    dllm_plan_destroy(other);
}
END_TEST

/* 1,000 shards of one logit each, two rows, with room between the shards: d = 1,000 exactly. */
START_TEST(a_thousand_shards_lose_nothing)
{
    enum { STRIDE = 3 };
    static dllm_state states[SHARDS * STRIDE];
    int64_t argmax[2];
    float confidence[2];
    dllm_merge_buffers buffers = DLLM_MERGE_BUFFERS_INIT;
    for (size_t s = 0; s < SHARDS; s++) {
        states[s * STRIDE] = single(2.5f, (int64_t)(SHARDS - s));
        states[s * STRIDE + 1] = single(-1e6f, (int64_t)1 << 33);
        memset(&states[s * STRIDE + 2], 0xff, sizeof *states);
    }
    prepare(DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE, 0);
    buffers.rows = 2;
    buffers.shards = SHARDS;
    buffers.states = states;
    buffers.shard_stride_bytes = STRIDE * sizeof *states;
    buffers.argmax = argmax;
    buffers.confidence = confidence;
    ck_assert_int_eq(dllm_merge_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert(argmax[0] == 1 && argmax[1] == (int64_t)1 << 33);
    ck_assert(confidence[0] == 1.0f / SHARDS && confidence[1] == 1.0f / SHARDS);
}
END_TEST

START_TEST(neutral_shards_are_an_empty_row)
{
    const dllm_state states[] = {neutral(), neutral(), neutral()};
    int64_t argmax = 7;
    uint32_t flags = 7;
    float lse = 7;
    dllm_merge_buffers buffers = DLLM_MERGE_BUFFERS_INIT;
    prepare(DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_FLAGS, 0);
    buffers.rows = 1;
    buffers.shards = 3;
    buffers.states = states;
    buffers.argmax = &argmax;
    buffers.flags = &flags;
    buffers.lse = &lse;
    ck_assert_int_eq(dllm_merge_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert(argmax == 0 && flags == DLLM_FLAG_EMPTY && lse == -INFINITY);
}
END_TEST

START_TEST(a_row_without_source_stays_one)
{
    dllm_state states[] = {single(1.0f, 4), neutral()};
    uint32_t flags = 7;
    dllm_merge_buffers buffers = DLLM_MERGE_BUFFERS_INIT;
    states[1].bits = DLLM_STATE_ROW;
    prepare(DLLM_OUT_FLAGS, 0);
    buffers.rows = 1;
    buffers.shards = 2;
    buffers.states = states;
    buffers.flags = &flags;
    ck_assert_int_eq(dllm_merge_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert_uint_eq(flags, DLLM_FLAG_ROW);
}
END_TEST

/* Lists of 2 behind each state; of equal values the lower id comes first. */
START_TEST(lists_of_shards_become_one_list)
{
    const struct {
        dllm_state state;
        dllm_state_candidate list[2];
    } shards[] = {{single(3.0f, 9), {{3.0f, 0, 9}, {1.0f, 0, 8}}},
                  {single(3.0f, 4), {{3.0f, 0, 4}, {-INFINITY, 0, -1}}}};
    float values[2];
    int64_t ids[2];
    dllm_merge_buffers buffers = DLLM_MERGE_BUFFERS_INIT;
    prepare(DLLM_OUT_CANDIDATES, 2);
    ck_assert_uint_eq(dllm_plan_state_bytes(plan), sizeof shards[0]);
    buffers.rows = 1;
    buffers.shards = 2;
    buffers.states = shards;
    buffers.candidate_values = values;
    buffers.candidate_ids = ids;
    ck_assert_int_eq(dllm_merge_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert(values[0] == 3.0f && ids[0] == 4 && values[1] == 3.0f && ids[1] == 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_merge");
    TCase *merge = tcase_create("merge");
    tcase_add_checked_fixture(merge, open_cpu, close_cpu);
    tcase_add_test(merge, no_rows_touch_nothing);
    tcase_add_test(merge, a_plan_of_another_operation_is_refused);
    tcase_add_test(merge, a_thousand_shards_lose_nothing);
    tcase_add_test(merge, neutral_shards_are_an_empty_row);
    tcase_add_test(merge, a_row_without_source_stays_one);
    tcase_add_test(merge, lists_of_shards_become_one_list);
    suite_add_tcase(suite, merge);
    return check_suite_run(suite);
}
