/*
 * test_decoder.c - a small model decoded through the library against plain loops in double
 *
 * The plain loops are written from decode.md 2.2 and 2.7, for one sequence on the host.
 */
#include "check_suite.h"
#include "decoder.h"
#include "scratch.h"
#include "tensor_fixture.h"
#include "trunk.h"

#include <math.h>
#include <string.h>

enum { PROMPT = 3, GENERATE = 12, BLOCK = 6, LENGTH = PROMPT + GENERATE, STEPS = 8 };

static char folder[SCRATCH_BYTES];
static dllm_context *context;
static dllm_model *model;
static dllm_decoder *decoder;
static dllm_trunk *trunk; /* of the plain loop */
static dllm_message message;
static int32_t ids[LENGTH], plain[LENGTH];

static void set_up(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = DLLM_DEVICE_CPU;
    options.threads = 1;
    scratch_make(folder);
    model = NULL;
    decoder = NULL;
    trunk = NULL;
    ck_assert_msg(dllm_context_create(&context, &options) == DLLM_OK, "%s", dllm_last_error());
}

static void tear_down(void)
{
    dllm_decoder_destroy(decoder);
    dllm_trunk_destroy(trunk);
    dllm_context_destroy(context);
    dllm_model_close(model);
    scratch_remove(folder);
}

static dllm_decoder_options options_of(const char *preset)
{
    dllm_decoder_options options = {.device = DLLM_DEVICE_CPU, .threads = 1};
    ck_assert_int_eq(dllm_decode_preset(&options.decode, &options.sequence, preset), DLLM_OK);
    options.decode.trace_max = 64;
    options.sequence.prompt = PROMPT;
    options.sequence.generate = GENERATE;
    options.sequence.block_length = BLOCK;
    if (options.sequence.steps) options.sequence.steps = STEPS;
    return options;
}

static dllm_status create(const tiny_model *tiny, const dllm_decoder_options *options)
{
    tiny_model_write(folder, tiny);
    ck_assert_msg(dllm_model_open(&model, folder, &message), "%s", message.text);
    ck_assert(dllm_trunk_create(&trunk, model, LENGTH, 1, &message));
    for (int q = 0; q < LENGTH; q++)
        ids[q] = plain[q] = q < PROMPT ? 4 + q : (int32_t)model->config.mask_id;
    return dllm_decoder_create(&decoder, context, model, options, &message);
}

/* ---- the plain loop ----------------------------------------------------------------------- */

static double scale; /* of guidance */

static double product(const float *row, const float *weight)
{
    double sum = 0.0;
    for (int i = 0; i < TINY_HIDDEN; i++)
        sum += (double)row[i] * (double)weight[i];
    return sum;
}

/* Token of a hidden row that another guides, and its probability among all ids but the mask. */
static int32_t take_row(const float *row, const float *unconditional, double *confidence)
{
    double logits[TINY_VOCAB] = {0.0}, sum = 0.0;
    int32_t best = -1;
    for (int v = 0; v < TINY_VOCAB; v++) {
        float weight[TINY_HIDDEN];
        if (v == model->config.mask_id) continue;
        dllm_tensor_to_fp32(weight, model->head, (int64_t)v * TINY_HIDDEN, TINY_HIDDEN);
        const double apart = product(row, weight) - product(unconditional, weight);
        logits[v] = product(unconditional, weight) + (scale + 1) * apart;
        if (best < 0 || logits[v] > logits[best]) best = v;
    }
    for (int v = 0; v < TINY_VOCAB; v++)
        if (v != model->config.mask_id) sum += exp(logits[v] - logits[best]);
    *confidence = 1.0 / sum;
    return best;
}

/* A block's masked positions as they stand: tokens and probabilities; returns how many. */
static int take_block(int low, int32_t *token, double *confidence)
{
    static float hidden[LENGTH * TINY_HIDDEN];
    int32_t masked[LENGTH];
    int masks = 0;
    memcpy(hidden, dllm_trunk_forward(trunk, plain, LENGTH), sizeof hidden);
    for (int q = 0; q < LENGTH; q++)
        masked[q] = q < PROMPT ? (int32_t)model->config.mask_id : plain[q];
    const float *unconditional = dllm_trunk_forward(trunk, masked, LENGTH);
    for (int q = low; q < low + BLOCK; q++) {
        confidence[q] = -1;
        if (plain[q] != model->config.mask_id) continue;
        token[q] = take_row(hidden + (size_t)q * TINY_HIDDEN,
                            unconditional + (size_t)q * TINY_HIDDEN, &confidence[q]);
        masks++;
    }
    return masks;
}

/* Commits the surest position that is left. */
static void commit_best(int low, const int32_t *token, double *confidence)
{
    int best = low;
    for (int q = low; q < low + BLOCK; q++)
        if (confidence[q] > confidence[best]) best = q;
    plain[best] = token[best];
    confidence[best] = -1;
}

static int decode_llada(void)
{
    const int steps = STEPS / (GENERATE / BLOCK);
    int forwards = 0;
    for (int low = PROMPT; low < LENGTH; low += BLOCK)
        for (int step = 0; step < steps; step++, forwards++) {
            int32_t token[LENGTH];
            double confidence[LENGTH];
            (void)take_block(low, token, confidence);
            for (int k = 0; k < BLOCK / steps + (step < BLOCK % steps); k++)
                commit_best(low, token, confidence);
        }
    return forwards;
}

static int decode_threshold(double threshold)
{
    int forwards = 0;
    for (int low = PROMPT; low < LENGTH; low += BLOCK)
        for (;;) {
            int32_t token[LENGTH];
            double confidence[LENGTH];
            if (take_block(low, token, confidence) == 0) break;
            commit_best(low, token, confidence);
            for (int q = low; q < low + BLOCK; q++)
                if (confidence[q] >= threshold) plain[q] = token[q];
            forwards++;
        }
    return forwards;
}

/* ---- tests -------------------------------------------------------------------------------- */

static const tiny_model models[] = {
    {.type = DLLM_TENSOR_BF16},
    {.type = DLLM_TENSOR_FP16},
    {.type = DLLM_TENSOR_FP32},
    {.omitted = "model.transformer.ff_out.weight", .config = ", \"weight_tying\": true"},
    {.mask_id = 3},
};

static void ck_assert_report(int forwards)
{
    dllm_decoder_report report;
    dllm_decoder_read_report(decoder, &report);
    ck_assert_int_eq(report.steps, forwards);
    ck_assert_str_eq(report.family, "cpu");
    ck_assert_uint_eq(report.logits_bytes, sizeof(float[BLOCK][TINY_VOCAB]) * (scale > 0 ? 2 : 1));
}

/* A record for each commit and each step. */
static void ck_assert_trace(int forwards)
{
    int64_t count = 0;
    ck_assert_ptr_nonnull(dllm_decoder_trace(decoder, &count, &message));
    ck_assert_int_eq(count, GENERATE + forwards);
}

static void check_run(int forwards)
{
    const dllm_status status = dllm_decoder_run(decoder, ids, &message);
    ck_assert_msg(status == DLLM_OK, "%s", message.text);
    for (int q = 0; q < LENGTH; q++)
        ck_assert_msg(ids[q] == plain[q], "position %d: %d, wanted %d", q, ids[q], plain[q]);
    ck_assert_report(forwards);
    ck_assert_trace(forwards);
}

START_TEST(llada_as_a_plain_loop_does)
{
    const dllm_decoder_options options = options_of("llada");
    ck_assert_msg(create(&models[_i], &options) == DLLM_OK, "%s", message.text);
    check_run(decode_llada());
}
END_TEST

START_TEST(guided_as_a_plain_loop_does)
{
    dllm_decoder_options options = options_of("llada");
    scale = 1.5;
    options.decode.guides = 1;
    options.sequence.cfg_scale = (float)scale;
    ck_assert_msg(create(&models[_i], &options) == DLLM_OK, "%s", message.text);
    check_run(decode_llada());
    scale = 0;
}
END_TEST

START_TEST(threshold_as_a_plain_loop_does)
{
    dllm_decoder_options options = options_of("threshold");
    options.sequence.selection.threshold = 0.125f;
    ck_assert_msg(create(&models[_i], &options) == DLLM_OK, "%s", message.text);
    check_run(decode_threshold(0.125));
}
END_TEST

START_TEST(passes_on_an_unknown_family)
{
    dllm_decoder_options options = options_of("llada");
    options.family = "no_such";
    ck_assert_int_ne(create(&models[0], &options), DLLM_OK);
    ck_assert_ptr_nonnull(strstr(message.text, "no_such"));
    ck_assert_ptr_null(decoder);
}
END_TEST

int main(void)
{
    const int count = (int)(sizeof models / sizeof models[0]);
    Suite *suite = suite_create("decoder");
    TCase *runs = tcase_create("runs");
    tcase_add_checked_fixture(runs, set_up, tear_down);
    tcase_add_loop_test(runs, llada_as_a_plain_loop_does, 0, count);
    tcase_add_loop_test(runs, guided_as_a_plain_loop_does, 0, count);
    tcase_add_loop_test(runs, threshold_as_a_plain_loop_does, 0, count);
    tcase_add_test(runs, passes_on_an_unknown_family);
    suite_add_tcase(suite, runs);
    return check_suite_run(suite);
}
