/* cpu_state.c - the statistics of a row: init, merge, finish */
#include "cpu_state.h"

#include <math.h>

#include "problem.h"

bool dllm__cpu_comes_before(float z, int64_t id, float other_z, int64_t other_id)
{
    /* as unsigned numbers: no id comes after every id */
    return z > other_z || (z == other_z && (uint64_t)id < (uint64_t)other_id);
}

dllm_state dllm__cpu_state_init(void)
{
    return (dllm_state){.max = -INFINITY,
                        .id = -1,
                        .nan_id = -1,
                        .second = -INFINITY,
                        .second_id = -1,
                        .target = -INFINITY,
                        .score = -INFINITY,
                        .gumbel = -INFINITY,
                        .gumbel_id = -1};
}

/* Sums of `last` are brought to the maximum of `out`, which is no lower. A side without mass is
   skipped: its maximum may be -inf, and -inf - -inf is NaN. */
static void merge_sums(dllm_state *out, const dllm_state *last, const dllm_cpu_rule *rule)
{
    if (last->max == -INFINITY) return;
    const float x = last->max == out->max ? 0.0f : (last->max - out->max) / rule->temperature;
    const float factor = expf(x);
    out->sum = fmaf(last->sum, factor, out->sum);
    if (rule->statistics & DLLM_STATISTIC_ENTROPY && factor > 0)
        out->weighted = fmaf(fmaf(last->sum, x, last->weighted), factor, out->weighted);
}

void dllm__cpu_state_merge(dllm_state *state, const dllm_state *other, const dllm_cpu_rule *rule)
{
    const bool swap = dllm__cpu_comes_before(other->max, other->id, state->max, state->id);
    const dllm_state last = swap ? *state : *other;
    dllm_state out = swap ? *other : *state;
    merge_sums(&out, &last, rule);
    if (rule->statistics & DLLM_STATISTIC_SECOND &&
        dllm__cpu_comes_before(last.max, last.id, out.second, out.second_id)) {
        out.second = last.max;
        out.second_id = last.id;
    }
    if (dllm__cpu_comes_before(last.score, last.gumbel_id, out.score, out.gumbel_id)) {
        out.score = last.score;
        out.gumbel = last.gumbel;
        out.gumbel_id = last.gumbel_id;
    }
    if ((uint64_t)last.nan_id < (uint64_t)out.nan_id) out.nan_id = last.nan_id;
    out.target = fmaxf(out.target, last.target); /* the side without it has -inf */
    out.bits |= last.bits;
    *state = out;
}

dllm_state dllm__cpu_state_merge_all(const char *states, int64_t stride_bytes, int64_t count,
                                     const dllm_cpu_rule *rule)
{
    if (count == 1) return *(const dllm_state *)(const void *)states;
    const int64_t half = count / 2;
    dllm_state state = dllm__cpu_state_merge_all(states, stride_bytes, half, rule);
    const dllm_state upper =
        dllm__cpu_state_merge_all(states + half * stride_bytes, stride_bytes, count - half, rule);
    dllm__cpu_state_merge(&state, &upper, rule);
    return state;
}

/* ---- finish */

/* A row whose floats have one value each, whatever its sums. */
static dllm_row_values fixed_values(int64_t argmax, float max, float value, uint32_t flags)
{
    const float share = isnan(value) ? NAN : 0.0f;
    return (dllm_row_values){.argmax = argmax,
                             .max = max,
                             .lse = value,
                             .confidence = share,
                             .entropy = share,
                             .second = value,
                             .second_id = -1,
                             .margin = share,
                             .target_logprob = value,
                             .gumbel_id = argmax,
                             .gumbel_logprob = value,
                             .flags = flags};
}

static dllm_row_values ordinary_values(const dllm_state *state, float temperature)
{
    const float log_sum = logf(state->sum);
    /* a row that drew nothing draws its argmax */
    const bool drawn = state->gumbel_id >= 0;
    const float gumbel = drawn ? state->gumbel : state->max;
    return (dllm_row_values){.argmax = state->id,
                             .max = state->max,
                             .lse = state->max / temperature + log_sum,
                             .confidence = 1.0f / state->sum,
                             .entropy = log_sum - state->weighted / state->sum,
                             .second = state->second,
                             .second_id = state->second_id,
                             .margin =
                                 -expm1f((state->second - state->max) / temperature) / state->sum,
                             .target_logprob = (state->target - state->max) / temperature - log_sum,
                             .gumbel_id = drawn ? state->gumbel_id : state->id,
                             .gumbel_logprob = (gumbel - state->max) / temperature - log_sum};
}

/* The table of rows of docs/numerics.md 7. */
static dllm_row_values values_of(const dllm_state *state, float temperature)
{
    if (state->nan_id >= 0) return fixed_values(state->nan_id, NAN, NAN, DLLM_FLAG_NONFINITE);
    if (state->id < 0) return fixed_values(0, -INFINITY, -INFINITY, DLLM_FLAG_EMPTY);
    if (state->max == INFINITY) return fixed_values(state->id, INFINITY, NAN, DLLM_FLAG_NONFINITE);
    if (state->max > -INFINITY) return ordinary_values(state, temperature);
    dllm_row_values values = fixed_values(state->id, -INFINITY, -INFINITY, DLLM_FLAG_EMPTY);
    values.second_id = state->second_id;
    return values;
}

dllm_row_values dllm__cpu_state_finish(const dllm_state *state, float temperature)
{
    if (state->bits & DLLM_STATE_ROW) return fixed_values(0, NAN, NAN, DLLM_FLAG_ROW);
    dllm_row_values values = values_of(state, temperature);
    if (state->bits & DLLM_STATE_PARAM) values.flags |= DLLM_FLAG_PARAM;
    if (state->bits & DLLM_STATE_ASKED && !(state->bits & DLLM_STATE_TARGET)) {
        values.target_logprob = NAN;
        values.flags |= DLLM_FLAG_TARGET;
    }
    return values;
}
