/* simt_inputs.c - what a kernel on the host reads for transforms and further statistics */
#include "simt_inputs.h"

#include "problem.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Transforms that the arrays of a problem can undo. */
enum {
    NEUTRAL = DLLM_TRANSFORM_SCALE | DLLM_TRANSFORM_BIAS | DLLM_TRANSFORM_SUPPRESS |
              DLLM_TRANSFORM_PENALTY | DLLM_TRANSFORM_ROW_TEMPERATURE | DLLM_TRANSFORM_ROW_KEY,
    OF_ROWS = DLLM_TRANSFORM_TEMPERED | DLLM_TRANSFORM_ROW_TEMPERATURE | DLLM_TRANSFORM_GUIDANCE,
    SAMPLER_WARPS = 4,
    SAMPLER_SPAN = 256,
    PLAIN = DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS
};

int simt_variant_value(const simt_variant *variant, const char *define, int otherwise)
{
    for (int i = 0; i < SIMT_DEFINES_MAX && variant->defines[i].name; i++)
        if (strcmp(variant->defines[i].name, define) == 0) return variant->defines[i].value;
    return otherwise;
}

dllm_id_type simt_variant_ids(const simt_variant *variant, dllm_id_type otherwise)
{
    const int bytes = simt_variant_value(variant, "DLLM_ID_BYTES", 0);
    return bytes == 0 ? otherwise : bytes == 8 ? DLLM_INT64 : DLLM_INT32;
}

static uint32_t statistics_of(const simt_variant *variant)
{
    return (uint32_t)simt_variant_value(variant, "DLLM_STATISTICS", 0);
}

static uint32_t transforms_of(const simt_variant *variant)
{
    return (uint32_t)simt_variant_value(variant, "DLLM_TRANSFORMS", 0);
}

uint32_t simt_outputs(const simt_variant *variant)
{
    const uint32_t statistics = statistics_of(variant);
    uint32_t outputs = PLAIN;
    if (statistics & DLLM_STATISTIC_ENTROPY) outputs |= DLLM_OUT_ENTROPY;
    if (statistics & DLLM_STATISTIC_SECOND)
        outputs |= DLLM_OUT_SECOND | DLLM_OUT_SECOND_ID | DLLM_OUT_MARGIN;
    if (statistics & DLLM_STATISTIC_TARGET) outputs |= DLLM_OUT_TARGET_LOGPROB;
    if (statistics & DLLM_STATISTIC_GUMBEL) outputs |= DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;
    if (statistics & DLLM_STATISTIC_CANDIDATES) outputs |= DLLM_OUT_CANDIDATES;
    return outputs;
}

/* What the problem's arrays and options name. */
static uint32_t needed(const row_problem *p)
{
    const struct {
        bool is_set;
        uint32_t bit;
    } transforms[] = {{p->round_logits == DLLM_BF16, DLLM_TRANSFORM_ROUND_BF16},
                      {p->round_logits == DLLM_FP16, DLLM_TRANSFORM_ROUND_FP16},
                      {p->scale != 0, DLLM_TRANSFORM_SCALE},
                      {p->softcap != 0, DLLM_TRANSFORM_SOFTCAP},
                      {p->bias != NULL, DLLM_TRANSFORM_BIAS},
                      {p->suppress_count > 0, DLLM_TRANSFORM_SUPPRESS},
                      {p->penalty != NULL, DLLM_TRANSFORM_PENALTY},
                      {p->behaviour & DLLM_TEMPERED, DLLM_TRANSFORM_TEMPERED},
                      {p->temperature != NULL, DLLM_TRANSFORM_ROW_TEMPERATURE},
                      {p->row_key != NULL, DLLM_TRANSFORM_ROW_KEY},
                      {p->noise != NULL, DLLM_TRANSFORM_NOISE},
                      {row_problem_copies(p) > 1, DLLM_TRANSFORM_GUIDANCE},
                      {p->cfg_round == DLLM_BF16, DLLM_TRANSFORM_GUIDANCE_BF16}};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof transforms / sizeof transforms[0]; i++)
        if (transforms[i].is_set) bits |= transforms[i].bit;
    if (bits & DLLM_TRANSFORM_NOISE) bits &= ~(uint32_t)DLLM_TRANSFORM_ROW_KEY;
    return bits;
}

bool simt_inputs_fit(const simt_variant *variant, const row_problem *problem)
{
    const uint32_t has = transforms_of(variant);
    const uint32_t wanted = needed(problem);
    const bool flagged = !problem->target || statistics_of(variant) & DLLM_STATISTIC_TARGET;
    return (wanted & ~has) == 0 && (has & ~wanted & ~(uint32_t)NEUTRAL) == 0 && flagged &&
           (problem->outputs & ~simt_outputs(variant)) == 0;
}

/* An array of exactly so many bytes; `from` may be NULL for zeros. */
static void *add(simt_inputs *out, const void *from, size_t bytes)
{
    void *made = calloc(1, bytes);
    ck_assert_ptr_nonnull(made);
    ck_assert_int_lt(out->count, SIMT_ARRAYS);
    if (from) memcpy(made, from, bytes);
    out->arrays[out->count++] = made;
    return made;
}

/* ids in the type asked for, `otherwise` in every row without them */
static const void *add_ids(simt_inputs *out, const row_problem *p, const int64_t *ids,
                           int64_t otherwise)
{
    const size_t bytes = p->id_type == DLLM_INT64 ? 8 : 4;
    char *made = add(out, NULL, (size_t)p->rows * bytes);
    for (int64_t r = 0; r < p->rows; r++)
        memcpy(made + (size_t)r * bytes, ids ? &ids[r] : &otherwise, bytes); /* little-endian */
    return made;
}

static const float *add_temperatures(simt_inputs *out, const row_problem *p)
{
    float *made = add(out, p->temperature, (size_t)p->rows * sizeof *made);
    for (int64_t r = 0; !p->temperature && r < p->rows; r++)
        made[r] = p->plan_temperature;
    return made;
}

static const uint64_t *add_keys(simt_inputs *out, const row_problem *p)
{
    uint64_t *made = add(out, p->row_key, (size_t)p->rows * sizeof *made);
    for (int64_t r = 0; !p->row_key && r < p->rows; r++)
        made[r] = (uint64_t)(p->row_index ? p->row_index[r] : r);
    return made;
}

/* Lists of a row and split, and what one fold adds to each at most. */
static void set_lists(dllm_row_inputs *device, const simt_variant *variant, int64_t candidates)
{
    const bool is_sampler = strcmp(variant->kernel, "sampler_stream") == 0;
    const int span = simt_variant_value(variant, "DLLM_TILE_VOCAB", SIMT_LANES);
    device->candidates = (int32_t)candidates;
    device->sharers = is_sampler ? SAMPLER_WARPS : 1;
    device->list_stride = 1 + device->candidates + (is_sampler ? SAMPLER_SPAN : span);
}

void simt_inputs_make(simt_inputs *out, const simt_variant *variant, const row_problem *p,
                      const void *row_index)
{
    const uint32_t transforms = transforms_of(variant);
    *out = (simt_inputs){.device = {.row_index = row_index,
                                    .vocab_offset = p->vocab_offset,
                                    .vocab = (int32_t)p->vocab,
                                    .suppress_count = (int32_t)p->suppress_count,
                                    .scale = p->scale != 0 ? p->scale : 1,
                                    .softcap = p->softcap,
                                    .temperature = p->plan_temperature,
                                    .ids_are_64 = p->id_type == DLLM_INT64,
                                    .row_index_is_64 = p->index_type == DLLM_INT64}};
    dllm_row_inputs *device = &out->device;
    if (statistics_of(variant) & DLLM_STATISTIC_TARGET)
        device->target = add_ids(out, p, p->target, p->vocab_offset);
    if (transforms & DLLM_TRANSFORM_ROW_TEMPERATURE)
        device->temperatures = add_temperatures(out, p);
    if (transforms & DLLM_TRANSFORM_BIAS)
        device->bias = add(out, p->bias, (size_t)p->vocab * sizeof(float));
    if (p->suppress_count > 0)
        device->suppress = add(out, p->suppress, (size_t)p->suppress_count * sizeof(int64_t));
    if (transforms & DLLM_TRANSFORM_PENALTY) {
        device->penalty_id = add_ids(out, p, p->penalty_id, -1);
        device->penalty = add(out, p->penalty, (size_t)p->rows * sizeof(float));
    }
    if (transforms & DLLM_TRANSFORM_ROW_KEY) device->row_key = add_keys(out, p);
    if (transforms & DLLM_TRANSFORM_NOISE)
        device->noise = add(out, p->noise, (size_t)(p->rows * p->vocab) * 2 * sizeof(uint32_t));
    if (statistics_of(variant) & DLLM_STATISTIC_CANDIDATES)
        set_lists(device, variant, p->candidates);
    out->guidance.scale = p->plan_cfg_scale;
    if (p->cfg_scale)
        out->guidance.scales = add(out, p->cfg_scale, (size_t)p->rows * sizeof(float));
    device->seed = add(out, p->seed, sizeof(uint64_t));
    if (p->draw) device->draw = add(out, p->draw, sizeof(uint32_t));
}

void simt_inputs_release(simt_inputs *inputs)
{
    for (int i = 0; i < inputs->count; i++)
        free(inputs->arrays[i]);
    inputs->count = 0;
}

const simt_variant *simt_combine_of(const simt_variant *variant, dllm_id_type id_type,
                                    bool exported)
{
    const int outputs = exported ? DLLM_STATE_OUTPUT : (int)simt_outputs(variant);
    const int bytes = id_type == DLLM_INT64 ? 8 : 4;
    const uint32_t transforms = transforms_of(variant) & (uint32_t)OF_ROWS;
    for (int i = 0; i < simt_variant_count; i++) {
        const simt_variant *combine = simt_variants[i];
        if (strcmp(combine->kernel, "combine") == 0 &&
            statistics_of(combine) == statistics_of(variant) &&
            transforms_of(combine) == transforms &&
            simt_variant_value(combine, "DLLM_OUTPUTS", 0) == outputs &&
            (exported || simt_variant_value(combine, "DLLM_ID_BYTES", 4) == bytes))
            return combine;
    }
    ck_abort_msg("%s: no combine", variant->name);
    return NULL;
}
