/*
 * state.cuh - the numeric contract: start, fold a logit, fold a tile, merge, finish
 *
 * The rules for ties, NaN and infinities stand here alone; every family, the combine kernel and the
 * sampler use these functions. A state {m, d, column, nan_column} describes a set of candidates:
 *     m = largest z that is not NaN        d = sum of exp(z - m) over the z that are not NaN
 *     column = lowest column with z = m    nan_column = lowest column with NaN
 * With m = +inf d is +inf and means nothing: such a row has no softmax.
 *
 * NOTE: z - m is formed first and then multiplied by log2 e. One fma from m * log2 e would save an
 * instruction and make every term wrong by the rounding of that product (4.4 % at |m| = 1e6).
 */
#ifndef DLLM_STATE_CUH
#define DLLM_STATE_CUH

#include "base.cuh"
#include "candidates.cuh"
#include "extra.cuh"
#include "request.cuh"
#include "row_context.cuh"
#include "row_params.h"
#include "transform.cuh"

/* the DLLM_FLAG_ bits of dllm.h that a kernel sets */
constexpr uint32_t flag_nonfinite = 1u << 0;
constexpr uint32_t flag_empty = 1u << 1;
constexpr uint32_t flag_target = 1u << 2;
constexpr uint32_t flag_param = 1u << 3;
constexpr uint32_t flag_row = 1u << 4;

/** A finished row; a column is no_column when there is no such entry. */
template <typename Column> struct row_result {
    Column column;
    float max;
    float lse;
    float confidence;
    uint32_t flags;
    float entropy;
    float second;
    Column second_column;
    float margin;
    float target_logprob;
    Column gumbel_column;
    float gumbel_logprob;
};

/* What exponents are taken relative to: with m infinite z - m would make NaN of an infinity. */
DLLM_DEVICE float state_reference(float max)
{
    return is_finite(max) ? max : 0.0f;
}

/* (z - m) / T in powers of two */
DLLM_DEVICE float state_power(float z, float reference, const row_context &row)
{
    return (z - reference) * (is_tempered ? row.exponent : log2_e);
}

/* exp((z - m) / T): 1 exactly for z = m, 0 for z = -inf, NaN for NaN alone */
DLLM_DEVICE float state_term(float z, float reference, const row_context &row)
{
    return exp2_approx(state_power(z, reference, row));
}

/* What a tile adds to d and, where it is asked for, to s / ln 2. */
struct tile_sums {
    float sum;
    float weighted;
};

/* Two chains: the folds of the families differ in nothing, and neither waits for each addition. */
template <int N>
DLLM_DEVICE tile_sums tile_sum(const float (&z)[N], float reference, const row_context &row)
{
    float sum[2] = {0.0f, 0.0f};
    float weighted[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < N; i++) {
        const float power = state_power(z[i], reference, row);
        const float term = exp2_approx(power);
        sum[i % 2] += term;
        if (has_entropy) weighted[i % 2] = fmaf(term, power, weighted[i % 2]);
    }
    return {sum[0] + sum[1], weighted[0] + weighted[1]};
}

/* The same where a power may be -inf: its term is 0 and adds nothing. */
template <int N>
DLLM_DEVICE tile_sums tile_sum_of_some(const float (&z)[N], float reference, const row_context &row)
{
    tile_sums sums = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < N; i++) {
        const float power = state_power(z[i], reference, row);
        const float term = exp2_approx(power);
        sums.sum += term;
        if (term > 0.0f) sums.weighted = fmaf(term, power, sums.weighted);
    }
    return sums;
}

/* fmaxf leaves NaN out; -inf when nothing else is there */
template <int N> DLLM_DEVICE float tile_max(const float (&z)[N])
{
    float even = -infinity();
    float odd = -infinity();
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        even = fmaxf(even, z[i]);
        if (i + 1 < N) odd = fmaxf(odd, z[i + 1]);
    }
    return fmaxf(even, odd);
}

DLLM_DEVICE row_state state_neutral()
{
    row_state state = {};
    state.max = -infinity();
    state.column = DLLM_NO_COLUMN;
    state.nan_column = DLLM_NO_COLUMN;
    if constexpr (has_extra) extra_clear(state);
    return state;
}

/* The NaN of a tile leave: the lowest of a candidate gives its column, all become -inf. Returns the
 * sums of the rest. */
template <int N, int RUN, int STEP>
DLLM_DEVICE tile_sums state_take_nan(row_state &state, float (&z)[N], int32_t first,
                                     float reference, const row_context &row)
{
    constexpr bool some = has_suppress || has_entropy; /* else whoever calls has seen a NaN */
    int32_t offset = some ? DLLM_NO_COLUMN : 0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        if (z[i] == z[i]) continue;
        if (!is_absent(z[i])) offset = tile_offset<RUN, STEP>(i);
        z[i] = -infinity();
    }
    if (!some || offset != DLLM_NO_COLUMN) {
        state.nan_column = smaller(state.nan_column, first + offset);
    }
    return has_entropy ? tile_sum_of_some(z, reference, row) : tile_sum(z, reference, row);
}

/* Folds a tile whose transforms are done. */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void state_fold_made(State &state, float (&z)[N], int32_t first, int32_t limit,
                                 const row_context &row)
{
    const int32_t valid = limit - first;
    if (tile_offset<RUN, STEP>(N - 1) >= valid) {
#pragma unroll
        for (int i = 0; i < N; i++)
            z[i] = tile_offset<RUN, STEP>(i) < valid ? z[i] : -infinity();
    }
    const float largest = tile_max(z);
    if constexpr (has_second) fold_second<N, RUN, STEP>(state, z, largest, first, valid);
    if constexpr (has_candidates) list_offer<N, RUN, STEP>(z, largest, first, valid, row);
    if (largest > state.max || state.column == DLLM_NO_COLUMN) {
        int32_t offset =
            DLLM_NO_COLUMN; /* stays in a tile without mass that is all NaN or masked */
#pragma unroll
        for (int i = N - 1; i >= 0; i--) {
            if (z[i] == largest) offset = tile_offset<RUN, STEP>(i);
        }
        if (offset < valid) state.column = first + offset;
    }
    const float max = fmaxf(state.max, largest);
    const float reference = state_reference(max);
    tile_sums sums = tile_sum(z, reference, row);
    if (sums.sum != sums.sum || (has_entropy && sums.weighted != sums.weighted)) {
        sums = state_take_nan<N, RUN, STEP>(state, z, first, reference, row);
    }
    if constexpr (has_entropy) {
        const float power = state_power(state.max, reference, row);
        state.weighted = fmaf(extra_shifted(state.sum, state.weighted, power), exp2_approx(power),
                              sums.weighted);
    }
    state.sum = fmaf(state.sum, state_term(state.max, reference, row), sums.sum);
    state.max = max;
    if constexpr (has_target) fold_target<N, RUN, STEP>(state, z, first, row);
    if constexpr (has_draw) fold_draw<N, RUN, STEP>(state, z, first, row);
}

/**
 * Folds a tile of N logits of one row.
 * z        element i belongs to column first + tile_offset<RUN, STEP>(i), ascending; may be changed
 * limit    columns from here on are not candidates: neither value nor column is seen
 * Columns of later calls on the same state are higher: an equal maximum keeps its first column.
 * At most 1,024 calls may go into one state before it is merged.
 */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void state_fold_tile(State &state, float (&z)[N], int32_t first, int32_t limit,
                                 const row_context &row)
{
    tile_transform<N, RUN, STEP>(z, first, limit, row);
    state_fold_made<N, RUN, STEP>(state, z, first, limit, row);
}

/** The same of a guided row, with the tile of its unconditional one, which may be changed too. */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void state_fold_pair(State &state, float (&z)[N], float (&unconditional)[N],
                                 int32_t first, int32_t limit, const row_context &row)
{
    tile_guide<N, RUN, STEP>(z, unconditional, first, limit, row);
    state_fold_made<N, RUN, STEP>(state, z, first, limit, row);
}

/** One or the other: take(u) fills u[N] with the unconditional row's tile, and is called with guidance
 * alone. */
template <int N, int RUN, int STEP, typename State, typename Take>
DLLM_DEVICE void state_fold_lines(State &state, float (&z)[N], int32_t first, int32_t limit,
                                  const row_context &row, Take take)
{
    if constexpr (has_guidance) {
        float unconditional[N];
        take(unconditional);
        state_fold_pair<N, RUN, STEP>(state, z, unconditional, first, limit, row);
    } else {
        state_fold_tile<N, RUN, STEP>(state, z, first, limit, row);
    }
}

/** Folds one candidate, the next in ascending columns; without guidance there is no unconditional one. */
DLLM_DEVICE void state_fold_logit(row_state &state, float logit, float unconditional,
                                  int32_t column, const row_context &row)
{
    float z[1] = {logit};
    state_fold_lines<1, 1, 1>(state, z, column, column + 1, row,
                              [&](float(&u)[1]) { u[0] = unconditional; });
}

/**
 * State of the union of two disjoint sets; the same bits in either order. Columns may be global ids:
 * State is row_state, or wide_state.
 */
template <typename State>
DLLM_DEVICE State state_merge(const State &a, const State &b, const row_context &row)
{
    const bool a_larger = a.max >= b.max;
    const float small_max = a_larger ? b.max : a.max;
    const float small_sum = a_larger ? b.sum : a.sum;
    const float large_sum = a_larger ? a.sum : b.sum;
    State merged = a;
    merged.max = (a_larger ? a.max : b.max) + 0.0f; /* -0 becomes +0, or the order would show */
    merged.sum =
        fmaf(small_sum, state_term(small_max, state_reference(merged.max), row), large_sum);
    if constexpr (has_entropy) {
        const float power = state_power(small_max, state_reference(merged.max), row);
        merged.weighted = fmaf(extra_shifted(small_sum, a_larger ? b.weighted : a.weighted, power),
                               exp2_approx(power), a_larger ? a.weighted : b.weighted);
    }
    if constexpr (has_extra) extra_merge(merged, a, b);
    merged.column = a_larger ? a.column : b.column;
    if (a.max == b.max) merged.column = smaller(a.column, b.column);
    merged.nan_column = smaller(a.nan_column, b.nan_column);
    return merged;
}

/* What a row without a softmax gets: NaN, or of one without mass zeros and -inf. */
template <typename Column>
DLLM_DEVICE row_result<Column> row_without_softmax(Column column, float max, uint32_t flags)
{
    const bool empty = flags == flag_empty;
    const float value = empty ? 0.0f : quiet_nan();
    const float logarithm = empty ? -infinity() : quiet_nan();
    return {column, max,       logarithm, value,    flags, value, logarithm, no_column<Column>,
            value,  logarithm, column,    logarithm};
}

/** What a row outside the source gets. */
template <typename Column> DLLM_DEVICE row_result<Column> row_of_no_source()
{
    return row_without_softmax(no_column<Column>, quiet_nan(), flag_row);
}

/** The statistics of a row from the state of all its candidates. */
template <typename State>
DLLM_DEVICE auto state_finish(const State &state, const row_context &row)
    -> row_result<decltype(State::column)>
{
    using Column = decltype(State::column);
    if (state.nan_column != no_column<Column>) {
        return row_without_softmax(state.nan_column, quiet_nan(), flag_nonfinite);
    }
    if (state.max == infinity()) {
        return row_without_softmax(state.column, infinity(), flag_nonfinite);
    }
    if (state.max == -infinity()) {
        row_result<Column> result = row_without_softmax(state.column, -infinity(), flag_empty);
        if constexpr (has_second) result.second_column = state.second_column;
        return result;
    }
    const float log_sum = logf(state.sum);
    const float scaled_max = is_tempered ? state.max / row.temperature : state.max;
    row_result<Column> result = row_without_softmax(state.column, state.max, 0);
    result.lse = scaled_max + log_sum;
    result.confidence = 1.0f / state.sum;
    if constexpr (asks_further) finish_further(result, state, log_sum, row);
    return result;
}

#endif
