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

template <typename T> DLLM_DEVICE void shuffle(T &value, int mask)
{
    value = __shfl_xor_sync(whole_warp, value, mask);
}

/** The state of the lane whose number differs in the bits of `mask`. All lanes of the warp call. */
template <typename State> DLLM_DEVICE State shuffle_state(State state, int mask)
{
    shuffle(state.max, mask);
    shuffle(state.sum, mask);
    shuffle(state.column, mask);
    shuffle(state.nan_column, mask);
    extra_each(state, [&](auto &value) { shuffle(value, mask); });
    return state;
}

/**
 * Merges the states of each group of LANES neighbouring lanes (a power of two); every lane of a
 * group has the same result. All lanes of the warp call.
 */
template <int LANES> DLLM_DEVICE row_state lanes_merge(row_state state, const row_context &row)
{
    static_assert(LANES > 0 && LANES <= warp_lanes && (LANES & (LANES - 1)) == 0, "butterfly");
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) {
        state = state_merge(state, shuffle_state(state, mask), row);
    }
    return state;
}

/**
 * Merges the states of all threads of a block, all of one row, of WARPS warps; the result is right in thread 0.
 * scratch  WARPS states of shared memory, not used by anyone since the last barrier
 * One barrier; all threads call.
 */
template <int WARPS>
DLLM_DEVICE row_state block_merge(row_state state, row_state *scratch, const row_context &row)
{
    static_assert(WARPS > 0 && WARPS <= warp_lanes && (WARPS & (WARPS - 1)) == 0, "butterfly");
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    state = lanes_merge<warp_lanes>(state, row);
    if (lane == 0) scratch[warp] = state;
    __syncthreads();
    if (warp > 0) return state;
    return lanes_merge<WARPS>(scratch[lane % WARPS], row);
}

/* Place split * state_stride + row of a run's memory: the base state, and behind another pointer the
 * rest. */
template <typename Params>
DLLM_DEVICE void store_state(const Params &params, int64_t place, row_state state)
{
    params.states[place] = state;
    if constexpr (has_extra) inputs_of(params.further).extras[place] = state;
}

template <typename State = row_state, typename Params>
DLLM_DEVICE State read_state(const Params &params, int64_t place)
{
    State state;
    static_cast<dllm_row_state &>(state) = params.states[place];
    if constexpr (has_extra) {
        static_cast<dllm_row_extra &>(state) = inputs_of(params.further).extras[place];
    }
    return state;
}

#endif
