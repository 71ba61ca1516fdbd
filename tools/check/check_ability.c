/*
 * check_ability.c - the families a check can ask for, and what each of them implements
 */
#include "check_ability.h"

#include <stdio.h>
#include <string.h>

static const check_family families[] = {
    {"cpu", true, CHECK_HEAD | CHECK_SAMPLER},
    {"stream", false, CHECK_SAMPLER},
    {"naive", false, CHECK_HEAD},
    {"tiled", false, CHECK_HEAD},
    {"mma", false, CHECK_HEAD},
    {"sm90", false, CHECK_HEAD},
    {"gemm_chunk", false, CHECK_HEAD},
    {NULL, false, 0},
};

const check_family *check_families(void)
{
    return families;
}

bool check_family_exists(const char *family, bool on_cpu, unsigned operations)
{
    for (int f = 0; families[f].name; f++)
        if (families[f].on_cpu == on_cpu && families[f].operations & operations &&
            strcmp(families[f].name, family) == 0)
            return true;
    return false;
}

void check_family_names(dllm_message *out, bool on_cpu, unsigned operations)
{
    size_t length = 0;
    out->text[0] = '\0';
    for (int f = 0; families[f].name; f++) {
        if (families[f].on_cpu != on_cpu || !(families[f].operations & operations)) continue;
        const int added = snprintf(out->text + length, sizeof out->text - length, "%s%s",
                                   length ? ", " : "", families[f].name);
        if (added > 0) length += (size_t)added;
    }
}

static dllm_status try_prepare(dllm_context *context, const row_problem *problem)
{
    dllm_plan *plan = NULL;
    const dllm_status status =
        row_prepare(&plan, context, problem, DLLM_PREPARE_CACHE_ONLY | DLLM_PREPARE_NO_DISK);
    dllm_plan_destroy(plan);
    return status;
}

static bool is_built(dllm_context *context, row_problem problem)
{
    return try_prepare(context, &problem) != DLLM_UNSUPPORTED;
}

static uint32_t probe_outputs(dllm_context *context, const row_problem *plain)
{
    static const int64_t id = 0;
    uint32_t built = 0;
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        row_problem asked = *plain;
        asked.outputs |= row_output_bit(i);
        if (i == ROW_TARGET_LOGPROB) asked.target = &id;
        if (is_built(context, asked)) built |= 1u << i;
    }
    return built;
}

static uint32_t probe_inputs(dllm_context *context, const row_problem *plain)
{
    static const int64_t id = 0;
    static const float number = 0;
    static const uint64_t key = 0;
    static const uint32_t word = 0;
    uint32_t built = 0;
    row_problem asked = *plain;
    asked.target = &id; /* the output and its input go together */
    if (is_built(context, asked)) built |= DLLM_IN_TARGET;
    asked = *plain;
    asked.temperature = &number;
    if (is_built(context, asked)) built |= DLLM_IN_TEMPERATURE;
    asked = *plain;
    asked.bias = &number;
    if (is_built(context, asked)) built |= DLLM_IN_BIAS;
    asked = *plain;
    asked.suppress = &id;
    asked.suppress_count = 1;
    if (is_built(context, asked)) built |= DLLM_IN_SUPPRESS;
    asked = *plain;
    asked.row_key = &key;
    if (is_built(context, asked)) built |= DLLM_IN_ROW_KEY;
    asked = *plain;
    asked.noise = &word;
    if (is_built(context, asked)) built |= DLLM_IN_NOISE;
    return built;
}

static void probe_transforms(check_ability *out, dllm_context *context, const row_problem *plain)
{
    row_problem asked = *plain;
    asked.scale = 0.5f;
    out->scale = is_built(context, asked);
    asked = *plain;
    asked.softcap = 1;
    out->softcap = is_built(context, asked);
    asked = *plain;
    asked.round_logits = DLLM_BF16;
    out->round_logits = is_built(context, asked);
    asked = *plain;
    asked.behaviour = DLLM_TEMPERED;
    out->tempered = is_built(context, asked);
    asked = *plain;
    asked.behaviour = DLLM_PARTIAL_STATE;
    out->merged = is_built(context, asked);
    asked = (row_problem){.states = plain, .shards = 1, .rows = 1, .vocab = 1, .outputs = 1};
    out->merged = out->merged && is_built(context, asked);
}

void check_ability_probe(check_ability *out, dllm_context *context, const char *family,
                         bool is_head, dllm_type type)
{
    const row_problem plain = {.is_head = is_head,
                               .hidden_type = type,
                               .weight_type = type,
                               .rows = 1,
                               .vocab = 8,
                               .depth = 8,
                               .outputs = DLLM_OUT_ARGMAX,
                               .family = family};
    const dllm_status status = try_prepare(context, &plain);
    *out = (check_ability){.is_usable = status != DLLM_UNSUPPORTED,
                           .is_missing = status == DLLM_LIBRARY_MISSING};
    if (!out->is_usable) return;
    out->outputs = probe_outputs(context, &plain);
    out->inputs = probe_inputs(context, &plain);
    probe_transforms(out, context, &plain);
}

const char *check_missing_transform(const row_case *from, const check_ability *ability)
{
    if (from->scale != 0 && !ability->scale) return "scale";
    if (from->softcap != 0 && !ability->softcap) return "softcap";
    if (from->round_logits != DLLM_TYPE_NONE && !ability->round_logits) return "round_logits";
    if (from->bias && !(ability->inputs & DLLM_IN_BIAS)) return "bias";
    if (from->suppress && !(ability->inputs & DLLM_IN_SUPPRESS)) return "suppress";
    return NULL;
}
