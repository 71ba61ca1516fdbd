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
#include "row_params.h"

/* the DLLM_FLAG_ bits of dllm.h that a kernel sets */
constexpr uint32_t flag_nonfinite = 1u << 0;
constexpr uint32_t flag_empty = 1u << 1;
constexpr uint32_t flag_row = 1u << 4;

/** A finished row; column is DLLM_NO_COLUMN when there was no candidate. */
struct row_result {
    int32_t column;
    float max;
    float lse;
    float confidence;
    uint32_t flags;
};

/* What exponents are taken relative to: with m infinite z - m would make NaN of an infinity. */
DLLM_DEVICE float state_reference(float max)
{
    return fabsf(max) < infinity() ? max : 0.0f;
}

/* exp(z - m): 1 exactly for z = m, 0 for z = -inf, NaN for NaN alone */
DLLM_DEVICE float state_term(float z, float reference)
{
    return exp2_approx((z - reference) * log2_e);
}

/* Column of element i, counted from that of element 0: runs of RUN columns, STEP apart. */
template <int RUN, int STEP> DLLM_DEVICE constexpr int32_t tile_offset(int i)
{
    return i / RUN * STEP + i % RUN;
}

/* Two chains: the folds of the families differ in nothing, and neither waits for each addition. */
template <int N> DLLM_DEVICE float tile_sum(const float (&z)[N], float reference)
{
    float even = 0.0f;
    float odd = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        even += state_term(z[i], reference);
        if (i + 1 < N) odd += state_term(z[i + 1], reference);
    }
    return even + odd;
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

DLLM_DEVICE dllm_row_state state_neutral()
{
    return {-infinity(), 0.0f, DLLM_NO_COLUMN, DLLM_NO_COLUMN};
}

/* The NaN of a tile leave: the lowest gives its column, all become -inf. Returns the sum of the
 * rest. */
template <int N, int RUN, int STEP>
DLLM_DEVICE float state_take_nan(dllm_row_state &state, float (&z)[N], int32_t first,
                                 float reference)
{
    int32_t offset = 0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        if (z[i] == z[i]) continue;
        offset = tile_offset<RUN, STEP>(i);
        z[i] = -infinity();
    }
    state.nan_column = smaller(state.nan_column, first + offset);
    return tile_sum(z, reference);
}

/**
 * Folds a tile of N logits of one row.
 * z        element i belongs to column first + tile_offset<RUN, STEP>(i), ascending; may be changed
 * limit    columns from here on are not candidates: neither value nor column is seen
 * Columns of later calls on the same state are higher: an equal maximum keeps its first column.
 * At most 1,024 calls may go into one state before it is merged.
 */
template <int N, int RUN, int STEP>
DLLM_DEVICE void state_fold_tile(dllm_row_state &state, float (&z)[N], int32_t first, int32_t limit)
{
    const int32_t valid = limit - first;
    if (tile_offset<RUN, STEP>(N - 1) >= valid) {
#pragma unroll
        for (int i = 0; i < N; i++)
            z[i] = tile_offset<RUN, STEP>(i) < valid ? z[i] : -infinity();
    }
    const float largest = tile_max(z);
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
    float sum = tile_sum(z, reference);
    if (sum != sum) sum = state_take_nan<N, RUN, STEP>(state, z, first, reference);
    state.sum = fmaf(state.sum, state_term(state.max, reference), sum);
    state.max = max;
}

/** Folds one candidate, the next in ascending columns. */
DLLM_DEVICE void state_fold_logit(dllm_row_state &state, float logit, int32_t column)
{
    float z[1] = {logit};
    state_fold_tile<1, 1, 1>(state, z, column, column + 1);
}

/** State of the union of two disjoint sets; the same bits in either order. */
DLLM_DEVICE dllm_row_state state_merge(const dllm_row_state &a, const dllm_row_state &b)
{
    const bool a_larger = a.max >= b.max;
    const float small_max = a_larger ? b.max : a.max;
    const float small_sum = a_larger ? b.sum : a.sum;
    const float large_sum = a_larger ? a.sum : b.sum;
    dllm_row_state merged;
    merged.max = (a_larger ? a.max : b.max) + 0.0f; /* -0 becomes +0, or the order would show */
    merged.sum = fmaf(small_sum, state_term(small_max, state_reference(merged.max)), large_sum);
    merged.column = a_larger ? a.column : b.column;
    if (a.max == b.max) merged.column = smaller(a.column, b.column);
    merged.nan_column = smaller(a.nan_column, b.nan_column);
    return merged;
}

/** The statistics of a row from the state of all its candidates. */
DLLM_DEVICE row_result state_finish(const dllm_row_state &state)
{
    if (state.nan_column != DLLM_NO_COLUMN) {
        return {state.nan_column, quiet_nan(), quiet_nan(), quiet_nan(), flag_nonfinite};
    }
    if (state.max == infinity()) {
        return {state.column, infinity(), quiet_nan(), quiet_nan(), flag_nonfinite};
    }
    if (state.max == -infinity()) {
        return {state.column, -infinity(), -infinity(), 0.0f, flag_empty};
    }
    return {state.column, state.max, state.max + logf(state.sum), 1.0f / state.sum, 0};
}

#endif
