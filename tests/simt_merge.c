/*
 * simt_merge.c - states of vocabulary shards, exported and merged by the kernels, against the whole row
 */
#include "check_suite.h"
#include "element_type.h"
#include "row_driver.h"
#include "simt_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 9, VOCAB = 301, SHARDS_MAX = 8, BLOCK_ROWS = 4, BLOCK_THREADS = 128 };

/* The columns where shards begin; the last entry is the end. */
static const struct {
    int count;
    int begin[SHARDS_MAX + 1];
} cuts[] = {{1, {0, VOCAB}},
            {2, {0, 77, VOCAB}},
            {3, {0, 1, 299, VOCAB}},
            {8, {0, 5, 6, 64, 128, 130, 200, 298, VOCAB}}};

static const struct {
    const char *sampler, *merge;
    uint32_t features;
} requests[] = {{"sampler_stream_3_15_0", "merge_15_0", FEATURE_OUTPUTS},
                {"sampler_finish_3_15_0_state", "merge_15_0", FEATURE_OUTPUTS},
                {"sampler_finish_3_15_1012_state", "merge_15_384",
                 FEATURE_OUTPUTS | FEATURE_SCALE | FEATURE_BIAS | FEATURE_SUPPRESS |
                     FEATURE_PENALTY | FEATURE_TEMPERATURES | FEATURE_TEMPERED | FEATURE_KEYS},
                {"sampler_stream_3_31_1012", "merge_31_384",
                 FEATURE_OUTPUTS | FEATURE_SCALE | FEATURE_BIAS | FEATURE_SUPPRESS |
                     FEATURE_PENALTY | FEATURE_TEMPERATURES | FEATURE_TEMPERED | FEATURE_KEYS},
                {"sampler_stream_3_15_1012", "merge_15_384",
                 FEATURE_OUTPUTS | FEATURE_SCALE | FEATURE_BIAS | FEATURE_SUPPRESS |
                     FEATURE_PENALTY | FEATURE_TEMPERATURES | FEATURE_TEMPERED | FEATURE_KEYS}};

enum { REQUESTS = sizeof requests / sizeof requests[0], CUTS = sizeof cuts / sizeof cuts[0] };

static void make_whole(row_data *out, int request, row_values values)
{
    const simt_variant *variant = simt_variant_find(requests[request].sampler);
    const row_shape shape = {.seed = 11 + (uint64_t)values,
                             .values = values,
                             .hidden_type = DLLM_FP32,
                             .id_type = DLLM_INT64,
                             .rows = ROWS,
                             .vocab = VOCAB,
                             .vocab_offset = 126464,
                             .valid_vocab = 300,
                             .features = requests[request].features};
    ck_assert(row_data_make(out, &shape));
    out->problem.outputs &= simt_outputs(variant);
}

/* Of a row in one shard: its state, and its candidates behind it. */
static size_t state_bytes(const row_data *whole)
{
    const bool listed = whole->problem.outputs & DLLM_OUT_CANDIDATES;
    const size_t count = listed ? (size_t)whole->problem.candidates : 0;
    return sizeof(dllm_state) + count * sizeof(dllm_state_candidate);
}

/* The columns begin .. end - 1 of the whole as a problem of their own. */
static row_problem shard_of(const row_problem *whole, int begin, int end)
{
    row_problem shard = *whole;
    const int64_t valid = whole->valid_vocab - begin;
    shard.vocab = end - begin;
    shard.valid_vocab = valid < shard.vocab ? valid : shard.vocab;
    shard.vocab_offset += begin;
    shard.hidden_stride = whole->hidden_stride;
    shard.hidden = (const char *)whole->hidden + (size_t)begin * element_bytes(whole->hidden_type);
    if (whole->bias) shard.bias = whole->bias + begin;
    return shard;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes the states */
static void export_shards(char *states, const row_data *whole, int request, int cut)
{
    for (int s = 0; s < cuts[cut].count; s++) {
        const row_problem shard =
            shard_of(&whole->problem, cuts[cut].begin[s], cuts[cut].begin[s + 1]);
        const simt_choice choice = {.kernel = simt_variant_find(requests[request].sampler),
                                    .splits = 2,
                                    .states = states + (size_t)s * ROWS * state_bytes(whole),
                                    .state_bytes = (int64_t)state_bytes(whole)};
        row_result unused;
        ck_assert_msg(simt_row_run(&unused, &shard, &choice) == ROW_RAN, "%s", unused.message.text);
        row_result_release(&unused);
    }
}

static void merge(row_result *out, const row_data *whole, const char *states, int request, int cut)
{
    const simt_variant *variant = simt_variant_find(requests[request].merge);
    const row_problem *p = &whole->problem;
    simt_inputs inputs;
    simt_inputs_make(&inputs, variant, p, NULL);
    *out = (row_result){.id_type = DLLM_INT64, .candidates = p->candidates};
    for (int i = 0; i <= ROW_CANDIDATE_IDS; i++) {
        const size_t elements = i < ROW_OUTPUTS ? 1 : (size_t)p->candidates;
        if (!(p->outputs & row_output_bit(i))) continue;
        out->data[i] = malloc(ROWS * elements * 8);
        ck_assert_ptr_nonnull(out->data[i]);
        memset(out->data[i], 0xa5, ROWS * elements * 8);
    }
    const dllm_merge_params params = {
        .states = states,
        .shard_stride_bytes = (int64_t)(ROWS * state_bytes(whole)),
        .argmax = out->data[ROW_ARGMAX],
        .max = out->data[ROW_MAX],
        .lse = out->data[ROW_LSE],
        .confidence = out->data[ROW_CONFIDENCE],
        .flags = out->data[ROW_FLAGS],
        .rows = ROWS,
        .shards = cuts[cut].count,
        .further = {.inputs = inputs.device,
                    .entropy = out->data[ROW_ENTROPY],
                    .second = out->data[ROW_SECOND],
                    .second_id = out->data[ROW_SECOND_ID],
                    .margin = out->data[ROW_MARGIN],
                    .target_logprob = out->data[ROW_TARGET_LOGPROB],
                    .gumbel_id = out->data[ROW_GUMBEL_ID],
                    .gumbel_logprob = out->data[ROW_GUMBEL_LOGPROB],
                    .candidate_values = out->data[ROW_CANDIDATE_VALUES],
                    .candidate_ids = out->data[ROW_CANDIDATE_IDS],
                    .state_bytes = (int64_t)state_bytes(whole)}};
    const char *wrong = simt_run(variant->body, &params, (ROWS + BLOCK_ROWS - 1) / BLOCK_ROWS,
                                 BLOCK_THREADS, SIMT_FIRST_COME);
    ck_assert_msg(!wrong, "%s", wrong);
    simt_inputs_release(&inputs);
}

START_TEST(shards_merge_to_the_whole_row)
{
    const int request = _i % REQUESTS;
    const int cut = _i / REQUESTS % CUTS;
    const row_values values = (row_values)(_i / REQUESTS / CUTS);
    row_data whole;
    row_result merged;
    dllm_message why;
    make_whole(&whole, request, values);
    char *states = aligned_alloc(16, (size_t)cuts[cut].count * ROWS * state_bytes(&whole));
    ck_assert_ptr_nonnull(states);
    export_shards(states, &whole, request, cut);
    merge(&merged, &whole, states, request, cut);
    ck_assert_msg(row_data_compare(&whole, &merged, &why), "%d shards: %s", cuts[cut].count,
                  why.text);
    row_result_release(&merged);
    row_data_release(&whole);
    free(states);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simt_merge");
    TCase *group = tcase_create("merge");
    tcase_set_timeout(group, 0);
    tcase_add_loop_test(group, shards_merge_to_the_whole_row, 0, REQUESTS * CUTS * 3);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
