/* ability.c - what a kernel family implements, and how what it lacks is named */
#include "ability.h"

#include "status.h"

const dllm_ability dllm__able_all = {~0u, ~0u, ~0u, ~0u};

const dllm_ability dllm__able_plain = {
    .outputs = DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
    .inputs = DLLM_IN_ROW_INDEX | DLLM_IN_ROWS_DEVICE,
};

typedef struct bit_name {
    uint32_t bit;
    const char *name;
} bit_name;

static const bit_name output_names[] = {
    {DLLM_OUT_ARGMAX, "argmax"},
    {DLLM_OUT_MAX, "max"},
    {DLLM_OUT_LSE, "lse"},
    {DLLM_OUT_CONFIDENCE, "confidence"},
    {DLLM_OUT_ENTROPY, "entropy"},
    {DLLM_OUT_SECOND, "second"},
    {DLLM_OUT_SECOND_ID, "second_id"},
    {DLLM_OUT_MARGIN, "margin"},
    {DLLM_OUT_TARGET_LOGPROB, "target_logprob"},
    {DLLM_OUT_GUMBEL_ID, "gumbel_id"},
    {DLLM_OUT_GUMBEL_LOGPROB, "gumbel_logprob"},
    {DLLM_OUT_FLAGS, "flags"},
    {DLLM_OUT_CANDIDATES, "candidates"},
    {0, NULL},
};

static const bit_name input_names[] = {
    {DLLM_IN_ROW_INDEX, "row_index"}, {DLLM_IN_ROWS_DEVICE, "rows_device"},
    {DLLM_IN_TARGET, "target"},       {DLLM_IN_TEMPERATURE, "temperature"},
    {DLLM_IN_BIAS, "bias"},           {DLLM_IN_SUPPRESS, "suppress"},
    {DLLM_IN_PENALTY, "penalty"},     {DLLM_IN_ROW_KEY, "row_key"},
    {DLLM_IN_NOISE, "noise"},         {DLLM_IN_ROW_SEED, "row_seed"},
    {DLLM_IN_CFG_SCALE, "cfg_scale"}, {0, NULL},
};

static const bit_name behaviour_names[] = {
    {DLLM_TEMPERED, "tempered"},
    {DLLM_BATCH_INVARIANT, "batch_invariant"},
    {DLLM_PARTIAL_STATE, "partial_state"},
    {0, NULL},
};

static const bit_name transform_names[] = {
    {DLLM_TRANSFORM_ROUND_BF16, "round_logits"},
    {DLLM_TRANSFORM_ROUND_FP16, "round_logits"},
    {DLLM_TRANSFORM_SCALE, "scale"},
    {DLLM_TRANSFORM_SOFTCAP, "softcap"},
    {DLLM_TRANSFORM_GUIDANCE, "cfg_scale"},
    {0, NULL},
};

dllm_status dllm__check_ability(const char *family, const dllm_ability *able,
                                const dllm_problem *problem)
{
    const struct {
        uint32_t missing;
        const bit_name *names;
    } groups[] = {
        {problem->outputs & ~able->outputs, output_names},
        {problem->inputs & ~able->inputs, input_names},
        {problem->behaviour & ~able->behaviour, behaviour_names},
        {dllm__transforms(problem) & ~able->transforms, transform_names},
    };
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        for (const bit_name *bit = groups[i].names; bit->name; bit++)
            if (groups[i].missing & bit->bit)
                return dllm__fail(DLLM_UNSUPPORTED, "%s: %s is not implemented in version %s",
                                  family, bit->name, dllm_version());
    return DLLM_OK;
}
