/* simt_shapes.c - shapes and data that fit a variant, run on the host and compared */
#include "simt_shapes.h"

#include "element_type.h"
#include "problem.h"
#include "row_driver.h"

#include <check.h>

enum { LOGITS_MAX = 6000, ROWS_MAX = 70 };

/* Pads a row up to the alignment of the variant. */
int64_t simt_pad_to(int64_t pad, int64_t width, dllm_type type, int align)
{
    while ((width + pad) * (int64_t)element_bytes(type) % align != 0)
        pad++;
    return pad;
}

/* The features that a variant was compiled with. */
static uint32_t features_of(const simt_variant *variant)
{
    const uint32_t transforms = (uint32_t)simt_variant_value(variant, "DLLM_TRANSFORMS", 0);
    const struct {
        uint32_t transforms;
        uint32_t feature;
    } features[] = {{DLLM_TRANSFORM_SCALE, FEATURE_SCALE},
                    {DLLM_TRANSFORM_SOFTCAP, FEATURE_SOFTCAP},
                    {DLLM_TRANSFORM_ROUND_BF16 | DLLM_TRANSFORM_ROUND_FP16, FEATURE_ROUND},
                    {DLLM_TRANSFORM_BIAS, FEATURE_BIAS},
                    {DLLM_TRANSFORM_SUPPRESS, FEATURE_SUPPRESS},
                    {DLLM_TRANSFORM_PENALTY, FEATURE_PENALTY},
                    {DLLM_TRANSFORM_ROW_TEMPERATURE, FEATURE_TEMPERATURES},
                    {DLLM_TRANSFORM_TEMPERED, FEATURE_TEMPERED},
                    {DLLM_TRANSFORM_ROW_KEY, FEATURE_KEYS},
                    {DLLM_TRANSFORM_NOISE, FEATURE_WORDS},
                    {DLLM_TRANSFORM_GUIDANCE, FEATURE_GUIDANCE},
                    {DLLM_TRANSFORM_GUIDANCE_BF16, FEATURE_GUIDE_BF16}};
    uint32_t bits = simt_variant_value(variant, "DLLM_STATISTICS", 0) ? FEATURE_OUTPUTS : 0;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (transforms & features[i].transforms) bits |= features[i].feature;
    return bits;
}

/* What the shape drew beyond the variant: the type that logits are rounded to, and outputs. */
static void fit_problem(row_problem *problem, const simt_variant *variant)
{
    const int transforms = simt_variant_value(variant, "DLLM_TRANSFORMS", 0);
    const int statistics = simt_variant_value(variant, "DLLM_STATISTICS", 0);
    if (problem->round_logits)
        problem->round_logits = transforms & DLLM_TRANSFORM_ROUND_BF16 ? DLLM_BF16 : DLLM_FP16;
    problem->outputs &= simt_outputs(variant);
    if (!(statistics & DLLM_STATISTIC_TARGET)) problem->target = NULL;
    ck_assert_msg(simt_variant_takes(variant, problem), "%s does not take it", variant->name);
}

/* A head's real logits are known too badly to be rounded as the reference rounds them. */
static void make_exact(row_shape *shape)
{
    const uint32_t rounding = FEATURE_ROUND | FEATURE_GUIDE_BF16;
    if (shape->is_head && shape->features & rounding && shape->values == VALUES_REAL)
        shape->values = VALUES_INTEGER;
}

/* A random shape made to fit the variant, and small enough for a host. */
void simt_shape_draw(row_shape *out, const simt_variant *variant, uint64_t seed)
{
    const bool is_head = simt_variant_is_head(variant);
    const int align = simt_variant_alignment(variant);
    row_shape_random(out, seed, is_head);
    out->features = features_of(variant);
    make_exact(out);
    out->hidden_type = (dllm_type)simt_variant_value(
        variant, is_head ? "DLLM_HIDDEN_TYPE" : "DLLM_LOGITS_TYPE", DLLM_BF16);
    out->weight_type = (dllm_type)simt_variant_value(variant, "DLLM_WEIGHT_TYPE", DLLM_BF16);
    out->id_type = simt_variant_ids(variant, out->id_type);
    if (out->id_type == DLLM_INT32 && out->vocab_offset > INT32_MAX - out->vocab)
        out->vocab_offset = 126464;
    if (out->rows > ROWS_MAX) out->rows = ROWS_MAX;
    if (out->rows * out->vocab > LOGITS_MAX)
        out->rows = out->vocab < LOGITS_MAX ? LOGITS_MAX / out->vocab : 1;
    out->hidden_pad = (int64_t)(seed % 4);
    out->weight_pad = (int64_t)(seed / 2 % 4);
    if (!is_head) return;
    out->hidden_pad = simt_pad_to(out->hidden_pad, out->depth, out->hidden_type, align);
    out->weight_pad = simt_pad_to(out->weight_pad, out->depth, out->weight_type, align);
}

void simt_shape_check(const row_shape *shape, const simt_choice *choice)
{
    row_data data;
    row_result result;
    dllm_message text;
    dllm_message why;
    row_shape_text(&text, shape);
    ck_assert(row_data_make(&data, shape));
    fit_problem(&data.problem, choice->kernel);
    ck_assert_msg(simt_row_run(&result, &data.problem, choice) == ROW_RAN, "%s: %s", text.text,
                  result.message.text);
    ck_assert_msg(row_data_compare(&data, &result, &why), "%s, %d splits, %s: %s",
                  choice->kernel->name, choice->splits, text.text, why.text);
    row_result_release(&result);
    row_data_release(&data);
}

/* Real data that is ragged in each direction. */
row_shape simt_shape_plain(const simt_variant *variant)
{
    row_shape shape;
    simt_shape_draw(&shape, variant, 3);
    shape.values = VALUES_REAL;
    make_exact(&shape);
    shape.rows = 37;
    shape.vocab = 133;
    shape.valid_vocab = 0;
    shape.source_rows = 0;
    shape.depth = shape.is_head ? 37 : 0;
    const int align = simt_variant_alignment(variant);
    /* an odd stride: rows of logits begin at every distance from a 16-byte boundary */
    shape.hidden_pad = shape.is_head ? simt_pad_to(1, shape.depth, shape.hidden_type, align) : 2;
    shape.weight_pad = simt_pad_to(1, shape.depth, shape.weight_type, align);
    return shape;
}

void simt_data_make(row_data *out, const row_shape *shape, const simt_variant *variant)
{
    ck_assert(row_data_make(out, shape));
    fit_problem(&out->problem, variant);
}

void simt_data_run(row_result *out, const row_data *data, const simt_choice *choice)
{
    ck_assert_msg(simt_row_run(out, &data->problem, choice) == ROW_RAN, "%s: %s",
                  choice->kernel->name, out->message.text);
}

void simt_bits_compare(const row_result *a, int64_t row_a, const row_result *b, int64_t row_b,
                       const char *name)
{
    dllm_message why;
    ck_assert_msg(row_bits_equal(a, row_a, b, row_b, &why), "%s: %s", name, why.text);
}
