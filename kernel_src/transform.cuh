/*
 * transform.cuh - what happens to the logits of a tile before their statistics
 *
 *     z0 rounded, z1 = scale z0, z2 = softcap tanh(z1 / softcap), z3 = z2 + bias; of guided rows then
 *     u + (s + 1)(z3 - u), u being z3 of the unconditional row; the penalty; suppressed columns are made
 *     absent
 *
 * One rounding each, never contracted: a logit is the same whatever stands around it.
 */
#ifndef DLLM_TRANSFORM_CUH
#define DLLM_TRANSFORM_CUH

#include "base.cuh"
#include "request.cuh"
#include "rounding.h"
#include "row_context.cuh"

/* Column of element i, counted from that of element 0: runs of RUN columns, STEP apart. */
template <int RUN, int STEP> DLLM_DEVICE constexpr int32_t tile_offset(int i)
{
    return i / RUN * STEP + i % RUN;
}

/* An absent logit is this NaN and no other: no comparison picks it, and it is told from the NaN of a
   candidate, which tile_transform makes the usual one. */
constexpr uint32_t absent_bits = 0x7fffdeadu;

DLLM_DEVICE bool is_absent(float z)
{
    return has_suppress && __float_as_uint(z) == absent_bits;
}

/* Calls change(z[i], i) for every element in ascending order. Elements turn through the registers, a
 * chunk at a time: what `change` costs stands in the program once an element of a chunk. */
template <int N, typename Change> DLLM_DEVICE void tile_walk(float (&z)[N], Change change)
{
    constexpr int chunk = N < 8 ? N : 8;
    static_assert(N % chunk == 0, "whole chunks");
#pragma unroll 1
    for (int done = 0; done < N; done += chunk) {
        float changed[chunk];
#pragma unroll
        for (int i = 0; i < chunk; i++) {
            changed[i] = z[i];
            change(changed[i], done + i);
        }
#pragma unroll
        for (int i = 0; i < N; i++)
            z[i] = i < N - chunk ? z[(i + chunk) % N] : changed[i - (N - chunk)];
    }
}

/* Calls change(z[i]) if `column` is that of an element; first is that of the first. */
template <int N, int RUN, int STEP, typename Change>
DLLM_DEVICE void tile_pick(float (&z)[N], int32_t first, int32_t column, Change change)
{
    const int64_t offset = static_cast<int64_t>(column) - first;
    if (offset < 0 || offset > tile_offset<RUN, STEP>(N - 1)) return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (tile_offset<RUN, STEP>(i) == offset) change(z[i]);
    }
}

DLLM_DEVICE float transform(float z, const dllm_row_inputs &inputs)
{
    if constexpr (has_rounding) z = rounds_to_bf16 ? dllm_nearest_bf16(z) : dllm_nearest_fp16(z);
    if constexpr (has_scale) z = __fmul_rn(inputs.scale, z);
    if constexpr (has_softcap) z = __fmul_rn(inputs.softcap, tanhf(z / inputs.softcap));
    return z;
}

template <int N, int RUN, int STEP>
DLLM_DEVICE void tile_suppress(float (&z)[N], int32_t first, const dllm_row_inputs &inputs)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        z[i] = z[i] == z[i] ? z[i] : quiet_nan();
    for (int32_t s = 0; s < inputs.suppress_count; s++) {
        tile_pick<N, RUN, STEP>(z, first, column_of(inputs, inputs.suppress[s]),
                                [](float &value) { value = __uint_as_float(absent_bits); });
    }
}

/* What precedes guidance, of each side: element i is that of column first + tile_offset<RUN, STEP>(i). */
template <int N, int RUN, int STEP>
DLLM_DEVICE void tile_side(float (&z)[N], int32_t first, int32_t limit, const row_context &row)
{
    if constexpr (!changes_logits) return;
    const dllm_row_inputs &inputs = *row.inputs;
    if constexpr (has_softcap) {
        tile_walk(z, [&](float &value, int) { value = transform(value, inputs); });
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
            z[i] = transform(z[i], inputs);
    }
    if constexpr (has_bias) {
        const int32_t valid = limit - first;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int32_t offset = tile_offset<RUN, STEP>(i);
            if (offset < valid) z[i] = __fadd_rn(z[i], inputs.bias[first + offset]);
        }
    }
}

/* What follows it. */
template <int N, int RUN, int STEP>
DLLM_DEVICE void tile_row(float (&z)[N], int32_t first, const row_context &row)
{
    if constexpr (has_penalty) {
        tile_pick<N, RUN, STEP>(z, first, row.penalty_column,
                                [&](float &value) { value = __fadd_rn(value, -row.penalty); });
    }
    if constexpr (has_suppress) tile_suppress<N, RUN, STEP>(z, first, *row.inputs);
}

/**
 * Makes logits of products: element i is that of column first + tile_offset<RUN, STEP>(i) of a row.
 * limit    columns from here on need not exist
 */
template <int N, int RUN, int STEP>
DLLM_DEVICE void tile_transform(float (&z)[N], int32_t first, int32_t limit, const row_context &row)
{
    tile_side<N, RUN, STEP>(z, first, limit, row);
    tile_row<N, RUN, STEP>(z, first, row);
}

DLLM_DEVICE float guidance_rounded(float value)
{
    return guides_in_bf16 ? dllm_nearest_bf16(value) : value;
}

/** The same of products of both sides, into z. */
template <int N, int RUN, int STEP, typename Row>
DLLM_DEVICE void tile_guide(float (&z)[N], float (&unconditional)[N], int32_t first, int32_t limit,
                            const Row &row)
{
    tile_side<N, RUN, STEP>(z, first, limit, row);
    tile_side<N, RUN, STEP>(unconditional, first, limit, row);
    const float factor = __fadd_rn(row.guidance, 1.0f);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const float apart = guidance_rounded(__fadd_rn(z[i], -unconditional[i]));
        const float drawn = guidance_rounded(__fmul_rn(factor, apart));
        const float guided = guidance_rounded(__fadd_rn(unconditional[i], drawn));
        z[i] = row.guidance > 0.0f ? guided : z[i];
    }
    tile_row<N, RUN, STEP>(z, first, row);
}

#endif
