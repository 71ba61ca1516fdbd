/* row_features.c - transforms, further statistics and their arrays of a random row problem */
#include "row_features.h"

#include "random_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUPPRESSED = 6, WORDS_MAX = 1 << 20 };

uint32_t row_features_random(uint64_t seed)
{
    uint64_t state = seed ^ 0xfea7;
    if (below(&state, 3) == 0) return 0;
    uint32_t features = 0;
    for (uint32_t bit = 1; bit < FEATURE_ALL; bit <<= 1)
        if (below(&state, 3) == 0) features |= bit;
    return below(&state, 2) ? features | FEATURE_OUTPUTS : features;
}

static void *array(bool wanted, int64_t count, size_t bytes, bool *short_of_memory)
{
    void *made = wanted ? calloc((size_t)count + 1, bytes) : NULL;
    if (wanted && !made) *short_of_memory = true;
    return made;
}

static bool allocate(row_features *out, const row_problem *p, uint32_t features)
{
    bool failed = false;
    const bool words = features & FEATURE_WORDS && p->rows * p->vocab <= WORDS_MAX;
    out->bias = array(features & FEATURE_BIAS, p->vocab, sizeof *out->bias, &failed);
    out->suppress = array(features & FEATURE_SUPPRESS, SUPPRESSED, sizeof *out->suppress, &failed);
    out->penalty_id = array(features & FEATURE_PENALTY, p->rows, sizeof(int64_t), &failed);
    out->penalty = array(features & FEATURE_PENALTY, p->rows, sizeof(float), &failed);
    out->target = array(features & FEATURE_OUTPUTS, p->rows, sizeof *out->target, &failed);
    out->temperature = array(features & FEATURE_TEMPERATURES, p->rows, sizeof(float), &failed);
    out->row_key = array(features & FEATURE_KEYS, p->rows, sizeof *out->row_key, &failed);
    out->noise = array(words, p->rows * p->vocab * 2, sizeof *out->noise, &failed);
    out->cfg_scale = array(features & FEATURE_GUIDANCE, p->rows, sizeof(float), &failed);
    return !failed;
}

/* An id of the vocabulary or just beside it. */
static int64_t draw_id(uint64_t *state, const row_problem *p)
{
    return p->vocab_offset + below(state, p->vocab + 4) - 2;
}

static void fill_rows(row_features *out, const row_problem *p, uint64_t *state)
{
    static const float temperatures[] = {1, 0.5f, 0.1f, 3, 0, -1.0f, NAN, 1e-40f, INFINITY, 1};
    static const float scales[] = {0.5f, 1.5f, 0.3f, 2, 0, -1, NAN, INFINITY, 1, 0.75f};
    for (int64_t r = 0; r < p->rows; r++) {
        if (out->cfg_scale) out->cfg_scale[r] = scales[below(state, 10)];
        if (out->penalty) {
            out->penalty_id[r] = below(state, 4) ? draw_id(state, p) : -1;
            out->penalty[r] = (float)(below(state, 9) - 2) / 2;
        }
        if (out->target) out->target[r] = draw_id(state, p);
        if (out->temperature) out->temperature[r] = temperatures[below(state, 10)];
        if (out->row_key) out->row_key[r] = next_random(state);
    }
}

static void fill(row_features *out, const row_problem *p, uint64_t *state)
{
    for (int64_t v = 0; out->bias && v < p->vocab; v++)
        out->bias[v] = below(state, 50) ? (float)(below(state, 5) - 2) / 2 : -100.0f;
    for (int64_t i = 0; out->suppress && i < SUPPRESSED; i++)
        out->suppress[i] = draw_id(state, p);
    fill_rows(out, p, state);
    /* all ones: the largest noise there is */
    for (int64_t i = 0; out->noise && i < p->rows * p->vocab * 2; i++)
        out->noise[i] = below(state, 100) ? (uint32_t)next_random(state) : ~0u;
    out->seed = next_random(state);
    out->draw = (uint32_t)below(state, 3);
}

static void bind(const row_features *from, row_problem *out)
{
    out->bias = from->bias;
    out->suppress = from->suppress;
    out->suppress_count = from->suppress ? SUPPRESSED : 0;
    out->penalty_id = from->penalty_id;
    out->penalty = from->penalty;
    out->target = from->target;
    out->temperature = from->temperature;
    out->row_key = from->row_key;
    out->noise = from->noise;
    out->seed = &from->seed;
    out->draw = from->draw ? &from->draw : NULL;
}

/* A scale for each row, or one for all. Behind a softcap a logit that is off may round to its neighbour. */
static void set_guidance(const row_features *from, row_problem *out, uint32_t features,
                         uint64_t *state)
{
    if (below(state, 2))
        out->cfg_scale = from->cfg_scale;
    else
        out->plan_cfg_scale = 0.75f;
    if (features & FEATURE_GUIDE_BF16 && !(features & FEATURE_SOFTCAP)) out->cfg_round = DLLM_BF16;
}

bool row_features_make(row_features *out, row_problem *problem, uint32_t features, uint64_t seed)
{
    static const float temperatures[] = {1, 0.6f, 0};
    static const int32_t counts[] = {1, 2, 7, 64, 256};
    uint64_t state = seed ^ 0xa44a;
    *out = (row_features){0};
    if (features == 0) return true;
    if (!allocate(out, problem, features)) return false;
    fill(out, problem, &state);
    bind(out, problem);
    if (features & FEATURE_OUTPUTS) problem->outputs = DLLM_OUT_CANDIDATES * 2 - 1;
    problem->candidates = counts[below(&state, 5)];
    problem->plan_temperature = temperatures[below(&state, 3)];
    if (features & FEATURE_SCALE) problem->scale = below(&state, 2) ? 0.37f : 2.5f;
    if (features & FEATURE_SOFTCAP) problem->softcap = below(&state, 2) ? 5.0f : 30.0f;
    if (features & FEATURE_ROUND) problem->round_logits = below(&state, 2) ? DLLM_BF16 : DLLM_FP16;
    if (features & FEATURE_TEMPERED) problem->behaviour |= DLLM_TEMPERED;
    if (features & FEATURE_GUIDANCE) set_guidance(out, problem, features, &state);
    return true;
}

/* Row 0's bytes in every row. */
static void repeat(void *rows, size_t row_bytes, int64_t count)
{
    for (int64_t r = 1; rows && r < count; r++)
        memcpy((char *)rows + (size_t)r * row_bytes, rows, row_bytes);
}

void row_features_repeat(row_features *features, const row_problem *problem)
{
    const int64_t rows = problem->rows;
    repeat(features->penalty_id, sizeof *features->penalty_id, rows);
    repeat(features->penalty, sizeof *features->penalty, rows);
    repeat(features->target, sizeof *features->target, rows);
    repeat(features->temperature, sizeof *features->temperature, rows);
    repeat(features->row_key, sizeof *features->row_key, rows);
    repeat(features->cfg_scale, sizeof *features->cfg_scale, rows);
    repeat(features->noise, (size_t)problem->vocab * 2 * sizeof *features->noise, rows);
}

void row_features_release(row_features *features)
{
    free(features->bias);
    free(features->suppress);
    free(features->penalty_id);
    free(features->penalty);
    free(features->target);
    free(features->temperature);
    free(features->row_key);
    free(features->noise);
    free(features->cfg_scale);
    *features = (row_features){0};
}
