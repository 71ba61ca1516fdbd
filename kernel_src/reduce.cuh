/*
 * reduce.cuh - sums and states over the lanes of a warp and the warps of a block
 *
 * Every reduction has one fixed order that depends on nothing but its width, so that a row's bits
 * do not depend on what runs beside it.
 */
#ifndef DLLM_REDUCE_CUH
#define DLLM_REDUCE_CUH

#include "base.cuh"
#include "state.cuh"

/** Sum over a warp, the same bits in every lane. All lanes call. */
DLLM_DEVICE float warp_sum(float value)
{
#pragma unroll
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        value += __shfl_xor_sync(whole_warp, value, mask);
    }
    return value;
}

/** The state of the lane whose number differs in the bits of `mask`. All lanes of the warp call. */
DLLM_DEVICE dllm_row_state shuffle_state(const dllm_row_state &state, int mask)
{
    dllm_row_state other;
    other.max = __shfl_xor_sync(whole_warp, state.max, mask);
    other.sum = __shfl_xor_sync(whole_warp, state.sum, mask);
    other.column = __shfl_xor_sync(whole_warp, state.column, mask);
    other.nan_column = __shfl_xor_sync(whole_warp, state.nan_column, mask);
    return other;
}

/**
 * Merges the states of each group of LANES neighbouring lanes (a power of two); every lane of a
 * group has the same result. All lanes of the warp call.
 */
template <int LANES> DLLM_DEVICE dllm_row_state lanes_merge(dllm_row_state state)
{
    static_assert(LANES > 0 && LANES <= warp_lanes && (LANES & (LANES - 1)) == 0, "butterfly");
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) {
        state = state_merge(state, shuffle_state(state, mask));
    }
    return state;
}

/**
 * Merges the states of all threads of a block of WARPS warps; the result is right in thread 0.
 * scratch  WARPS states of shared memory, not used by anyone since the last barrier
 * One barrier; all threads call.
 */
template <int WARPS>
DLLM_DEVICE dllm_row_state block_merge(dllm_row_state state, dllm_row_state *scratch)
{
    static_assert(WARPS > 0 && WARPS <= warp_lanes && (WARPS & (WARPS - 1)) == 0, "butterfly");
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    state = lanes_merge<warp_lanes>(state);
    if (lane == 0) scratch[warp] = state;
    __syncthreads();
    if (warp > 0) return state;
    return lanes_merge<WARPS>(scratch[lane % WARPS]);
}

#endif
