/* test_model_head.c - a model's head through the library, on the CPU */
#include "check_suite.h"
#include "model_head.h"
#include "scratch.h"
#include "tensor_fixture.h"

#include <math.h>
#include <string.h>

enum { ROWS = 6 };

static char folder[SCRATCH_BYTES];
static dllm_context *context;
static dllm_model *model;
static dllm_model_head *head;
static dllm_message message;
static float hidden[ROWS][TINY_HIDDEN];

static void set_up(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = DLLM_DEVICE_CPU;
    options.threads = 1;
    scratch_make(folder);
    model = NULL;
    head = NULL;
    ck_assert_msg(dllm_context_create(&context, &options) == DLLM_OK, "%s", dllm_last_error());
    for (int i = 0; i < ROWS * TINY_HIDDEN; i++)
        hidden[i / TINY_HIDDEN][i % TINY_HIDDEN] = (float)((i * 37) % 101 - 50) / 17.0f;
}

static void tear_down(void)
{
    dllm_model_head_destroy(head);
    dllm_context_destroy(context);
    dllm_model_close(model);
    scratch_remove(folder);
}

static dllm_status create_head(const tiny_model *tiny, const char *family)
{
    const dllm_model_head_options options = {DLLM_DEVICE_CPU, family, ROWS};
    tiny_model_write(folder, tiny);
    ck_assert_msg(dllm_model_open(&model, folder, &message), "%s", message.text);
    return dllm_model_head_create(&head, context, model, &options, &message);
}

/** Winner among the ids below the mask, and its probability, in double. */
static int32_t score_row(const float *row, double *confidence)
{
    double logits[TINY_VOCAB] = {0.0};
    double sum = 0.0;
    int32_t best = 0;
    for (int v = 0; v < TINY_VOCAB - 1; v++) {
        float weight[TINY_HIDDEN];
        dllm_tensor_to_fp32(weight, model->head, (int64_t)v * TINY_HIDDEN, TINY_HIDDEN);
        for (int i = 0; i < TINY_HIDDEN; i++)
            logits[v] += (double)row[i] * (double)weight[i];
        if (logits[v] > logits[best]) best = v;
    }
    for (int v = 0; v < TINY_VOCAB - 1; v++)
        sum += exp(logits[v] - logits[best]);
    *confidence = 1.0 / sum;
    return best;
}

static const tiny_model models[] = {
    {.type = DLLM_TENSOR_BF16},
    {.type = DLLM_TENSOR_FP16},
    {.type = DLLM_TENSOR_FP32},
    {.omitted = "model.transformer.ff_out.weight", .config = ", \"weight_tying\": true"},
};

START_TEST(scores_gathered_rows)
{
    const int64_t positions[] = {1, 2, 5};
    int32_t token[3] = {-1, -1, -1};
    float confidence[3] = {NAN, NAN, NAN};
    uint32_t flags[3] = {~0u, ~0u, ~0u};
    const dllm_row_scores out = {token, confidence, flags};
    ck_assert_msg(create_head(&models[_i], NULL) == DLLM_OK, "%s", message.text);
    ck_assert_msg(dllm_model_head_score(head, hidden[0], positions, 3, &out, &message), "%s",
                  message.text);
    for (int r = 0; r < 3; r++) {
        double wanted = 0.0;
        const int32_t winner = score_row(hidden[positions[r]], &wanted);
        ck_assert_int_eq(token[r], winner);
        ck_assert_uint_eq(flags[r], 0);
        ck_assert_msg(fabs((double)confidence[r] - wanted) <= 2e-6, "row %d: got %.9g, wanted %.9g",
                      r, (double)confidence[r], wanted);
    }
}
END_TEST

START_TEST(flags_row_that_is_not_finite)
{
    const int64_t positions[] = {0, 3};
    int32_t token[2];
    float confidence[2];
    uint32_t flags[2];
    const dllm_row_scores out = {token, confidence, flags};
    ck_assert_msg(create_head(&models[0], NULL) == DLLM_OK, "%s", message.text);
    hidden[3][0] = NAN;
    ck_assert(dllm_model_head_score(head, hidden[0], positions, 2, &out, &message));
    ck_assert_uint_eq(flags[0], 0);
    ck_assert_uint_eq(flags[1], DLLM_FLAG_NONFINITE);
}
END_TEST

START_TEST(report_adds_calls_up)
{
    const int64_t positions[] = {0, 1, 2, 3};
    int32_t token[4];
    float confidence[4];
    uint32_t flags[4];
    const dllm_row_scores out = {token, confidence, flags};
    dllm_model_head_report report;
    ck_assert_msg(create_head(&models[0], NULL) == DLLM_OK, "%s", message.text);
    ck_assert(dllm_model_head_score(head, hidden[0], positions, 4, &out, &message));
    ck_assert(dllm_model_head_score(head, hidden[0], positions, 3, &out, &message));
    dllm_model_head_read_report(head, &report);
    ck_assert_int_eq(report.rows, 7);
    ck_assert_str_eq(report.family, "cpu");
    ck_assert_uint_eq(report.logits_bytes, sizeof(float[ROWS][TINY_VOCAB]));
}
END_TEST

START_TEST(refuses_mask_that_is_not_the_last_id)
{
    const tiny_model elsewhere = {.mask_id = 3};
    ck_assert_int_eq(create_head(&elsewhere, NULL), DLLM_UNSUPPORTED);
    ck_assert_str_eq(message.text, "mask_token_id 3 is not the last id, 10: a mask that lies "
                                   "elsewhere needs a suppression list, which is not built yet");
}
END_TEST

START_TEST(passes_on_an_unknown_family)
{
    ck_assert_int_ne(create_head(&models[0], "no_such"), DLLM_OK);
    ck_assert_ptr_nonnull(strstr(message.text, "no_such"));
    ck_assert_ptr_null(head);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model_head");
    TCase *scores = tcase_create("scores");
    tcase_add_checked_fixture(scores, set_up, tear_down);
    tcase_add_loop_test(scores, scores_gathered_rows, 0, (int)(sizeof models / sizeof models[0]));
    tcase_add_test(scores, flags_row_that_is_not_finite);
    tcase_add_test(scores, report_adds_calls_up);
    suite_add_tcase(suite, scores);
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, set_up, tear_down);
    tcase_add_test(refusals, refuses_mask_that_is_not_the_last_id);
    tcase_add_test(refusals, passes_on_an_unknown_family);
    suite_add_tcase(suite, refusals);
    return check_suite_run(suite);
}
