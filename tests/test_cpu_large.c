/* test_cpu_large.c - the sums of a vocabulary of millions stay within the tolerance */
#include "check_suite.h"

#include "dllm.h"

#include <math.h>
#include <stdlib.h>

enum { VOCAB = 1 << 22 };

/* One winner and equal others: each range gives the same sum, so every addition to a large running
   sum is rounded the same way, and the errors add up instead of cancelling. Returns d. */
static double fill(uint16_t *bf16)
{
    enum { ZERO = 0x0000, OTHER = 0xbe9a }; /* 0 and -0.30078125 */
    for (int64_t v = 0; v < VOCAB; v++)
        bf16[v] = v == 0 ? ZERO : OTHER;
    return 1 + (VOCAB - 1) * exp(-0.30078125);
}

/* The relative error allowed to d by docs/numerics.md 15, with one rise of the maximum; X and Q of
   this row are below 1. */
static const double allowed = (1024 + 32 + 5 * (1 + 16)) * 0x1p-24 + (4 + 2) * 0x1p-24;

static void run(dllm_context *context, const uint16_t *weight, float *confidence)
{
    static const uint16_t one = 0x3f80;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    dllm_plan *plan;
    options.vocab = VOCAB;
    options.depth = 1;
    options.rows_max = 1;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_CONFIDENCE;
    ck_assert_int_eq(dllm_head_prepare(&plan, context, &options), DLLM_OK);
    buffers.rows = 1;
    buffers.hidden = &one;
    buffers.weight = weight;
    buffers.confidence = confidence;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(plan);
    buffers.workspace = malloc(buffers.workspace_bytes);
    ck_assert_int_eq(dllm_head_run(plan, &buffers, NULL), DLLM_OK);
    free(buffers.workspace);
    dllm_plan_destroy(plan);
}

START_TEST(confidence_of_four_million_columns_is_within_tolerance)
{
    dllm_context *context;
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    uint16_t *weight = malloc(VOCAB * sizeof *weight);
    float confidence;
    ck_assert_ptr_nonnull(weight);
    const double sum = fill(weight);
    options.device = DLLM_DEVICE_CPU;
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_OK);
    run(context, weight, &confidence);
    dllm_context_destroy(context);
    free(weight);
    const double error = fabs((double)confidence * sum - 1);
    ck_assert_msg(error <= allowed, "relative error %.3g, allowed %.3g", error, allowed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_large");
    TCase *group = tcase_create("sums");
    tcase_add_test(group, confidence_of_four_million_columns_is_within_tolerance);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
