/*
 * large_head.c - tests of a head of real size, too slow for every run
 *
 * Rows of the batch repeat a few different ones, so that the double reference is computed for those
 * alone and yet every row is compared.
 */
#include "large_head.h"

#include "compare.h"
#include "row_suite.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 126464, DEPTH = 4096, DIFFERENT_ROWS = 5, ROWS_MAX = 16384 };

static const struct large_run {
    const char *family;
    int64_t rows;
    size_t workspace_max_bytes;
} runs[] = {
    {"naive", 1, 16u << 20},
    {"naive", 16, 16u << 20},
    {"naive", 64, 16u << 20},
    {"tiled", 1, 16u << 20},
    {"tiled", 64, 16u << 20},
    {"tiled", 256, 16u << 20},
    {"mma", 1, 16u << 20},
    {"mma", 64, 16u << 20},
    {"mma", 256, 16u << 20},
    {"mma", 1024, 16u << 20},
    {"mma", 4096, 16u << 20},
    {"mma", 16384, 16u << 20},
    {"sm90", 1, 16u << 20},
    {"sm90", 64, 16u << 20},
    {"sm90", 96, 16u << 20},
    {"sm90", 160, 16u << 20},
    {"sm90", 256, 16u << 20},
    {"sm90", 320, 16u << 20},
    {"sm90", 1024, 16u << 20},
    {"sm90", 4096, 16u << 20},
    {"sm90", 16384, 16u << 20},
    {"gemm_chunk", 1, 64u << 20},
    {"gemm_chunk", 64, 64u << 20},
    {"gemm_chunk", 256, 64u << 20},
    {"gemm_chunk", 1024, 64u << 20},
    {"gemm_chunk", 4096, 64u << 20},
    {"gemm_chunk", 16384, 64u << 20},
};

static row_suite_device opened;
static uint16_t *hidden;
static uint16_t *weight;
static double *logits[DIFFERENT_ROWS];
static const uint32_t outputs =
    DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
static reference_row expected[DIFFERENT_ROWS];
static reference_delta delta[DIFFERENT_ROWS];

/* bf16 numbers of either sign between 2^low and 2^(low + 4), 128 to an octave. */
static void fill(uint16_t *out, size_t count, uint64_t seed, unsigned low)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const unsigned bits = (unsigned)(state >> 40);
        out[i] = (uint16_t)((bits & 0x8000) | ((low + (bits >> 7 & 3)) << 7) | (bits & 0x7f));
    }
}

static void open_large(void)
{
    row_suite_open(&opened, 0);
    hidden = malloc((size_t)ROWS_MAX * DEPTH * sizeof *hidden);
    weight = malloc((size_t)VOCAB * DEPTH * sizeof *weight);
    ck_assert(hidden && weight);
    fill(weight, (size_t)VOCAB * DEPTH, 1, 118);          /* 2^-9 .. 2^-5 */
    fill(hidden, (size_t)DIFFERENT_ROWS * DEPTH, 2, 125); /* 2^-2 .. 2^2 */
    for (int64_t r = DIFFERENT_ROWS; r < ROWS_MAX; r++)
        memcpy(hidden + r * DEPTH, hidden + r % DIFFERENT_ROWS * DEPTH, DEPTH * sizeof *hidden);
    const reference_matrix x = {DLLM_BF16, hidden, DEPTH};
    const reference_matrix w = {DLLM_BF16, weight, DEPTH};
    for (int i = 0; i < DIFFERENT_ROWS; i++) {
        logits[i] = malloc(VOCAB * sizeof *logits[i]);
        ck_assert_ptr_nonnull(logits[i]);
        reference_logits(logits[i], &delta[i], &x, i, &w, VOCAB, DEPTH);
        const reference_input input = {.z = logits[i], .vocab = VOCAB};
        reference_statistics(&expected[i], &input);
    }
}

static void close_large(void)
{
    for (int i = 0; i < DIFFERENT_ROWS; i++)
        free(logits[i]);
    free(weight);
    free(hidden);
    row_suite_close(&opened);
}

static void compare_row(const struct large_run *run, const row_result *result, int64_t row)
{
    const int64_t i = row % DIFFERENT_ROWS;
    const double off = reference_delta_of(&delta[i], run->family);
    const reference_input input = {.z = logits[i], .vocab = VOCAB};
    double value[ROW_OUTPUTS] = {0};
    row_answer answer;
    dllm_message why;
    reference_answer(&answer, &expected[i], off);
    for (int output = 0; output < ROW_OUTPUTS; output++)
        if (result->data[output]) value[output] = row_result_value(result, output, row);
    ck_assert_msg(argmax_matches(&expected[i], &input, off, value[ROW_ARGMAX]),
                  "%s, R %lld, row %lld: argmax %.0f, wanted %lld", run->family,
                  (long long)run->rows, (long long)row, value[ROW_ARGMAX],
                  (long long)expected[i].argmax);
    ck_assert_msg(row_answer_matches(&answer, value, outputs, ~0u, &why),
                  "%s, R %lld, row %lld: %s", run->family, (long long)run->rows, (long long)row,
                  why.text);
}

START_TEST(matches_the_double_reference_within_the_workspace_bound)
{
    const struct large_run *run = &runs[_i];
    row_result result;
    const row_problem problem = {.is_head = true,
                                 .hidden_type = DLLM_BF16,
                                 .weight_type = DLLM_BF16,
                                 .rows = run->rows,
                                 .vocab = VOCAB,
                                 .depth = DEPTH,
                                 .hidden = hidden,
                                 .weight = weight,
                                 .outputs = outputs,
                                 .family = run->family};
    const row_outcome outcome = row_run(&result, &opened.memory, opened.context, &problem);
    ck_assert_msg(outcome == ROW_RAN, "%s, R %lld: %s", run->family, (long long)run->rows,
                  result.message.text);
    for (int64_t r = 0; r < run->rows; r++)
        compare_row(run, &result, r);
    ck_assert_msg(result.workspace_bytes <= run->workspace_max_bytes,
                  "%s, R %lld: workspace %zu bytes, at most %zu wanted", run->family,
                  (long long)run->rows, result.workspace_bytes, run->workspace_max_bytes);
    row_result_release(&result);
}
END_TEST

void large_head_add(Suite *suite)
{
    TCase *large = tcase_create("llada_8b");
    tcase_add_unchecked_fixture(large, open_large, close_large);
    tcase_set_timeout(large, 0);
    tcase_add_loop_test(large, matches_the_double_reference_within_the_workspace_bound, 0,
                        (int)(sizeof runs / sizeof runs[0]));
    suite_add_tcase(suite, large);
}
