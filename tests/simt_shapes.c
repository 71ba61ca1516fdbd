/* simt_shapes.c - see simt_shapes.h */
#include "simt_shapes.h"

#include "check_suite.h"
#include "element_type.h"
#include "problem.h"

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
void simt_shape_fit(row_problem *problem, const simt_variant *variant)
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
void simt_shape_make_exact(row_shape *shape)
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
    simt_shape_make_exact(out);
    out->hidden_type = (dllm_type)simt_variant_value(
        variant, is_head ? "DLLM_HIDDEN_TYPE" : "DLLM_LOGITS_TYPE", DLLM_BF16);
    out->weight_type = (dllm_type)simt_variant_value(variant, "DLLM_WEIGHT_TYPE", DLLM_BF16);
    if (out->rows > ROWS_MAX) out->rows = ROWS_MAX;
    if (out->rows * out->vocab > LOGITS_MAX)
        out->rows = out->vocab < LOGITS_MAX ? LOGITS_MAX / out->vocab : 1;
    out->hidden_pad = (int64_t)(seed % 4);
    out->weight_pad = (int64_t)(seed / 2 % 4);
    if (!is_head) return;
    out->hidden_pad = simt_pad_to(out->hidden_pad, out->depth, out->hidden_type, align);
    out->weight_pad = simt_pad_to(out->weight_pad, out->depth, out->weight_type, align);
}
