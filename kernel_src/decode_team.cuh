/*
 * decode_team.cuh - the team of decode_step.h on a GPU: a block of threads
 *
 * Every call but rank, size, claim and add is a barrier of the block: all threads make it.
 */
#ifndef DLLM_DECODE_TEAM_CUH
#define DLLM_DECODE_TEAM_CUH

#include "base.cuh"
#include "decode_rules.h"

constexpr int block_threads = DLLM_TEAM;
constexpr int team_warps = block_threads / warp_lanes;
constexpr int team_sums_max = 4;

static_assert(block_threads % warp_lanes == 0, "a team is whole warps");

DLLM_DEVICE int32_t dllm_team_rank()
{
    return static_cast<int32_t>(threadIdx.x);
}

DLLM_DEVICE int32_t dllm_team_size()
{
    return block_threads;
}

DLLM_DEVICE void dllm_team_meet()
{
    __syncthreads();
}

/* One instruction a warp from sm_80 on, five exchanges between lanes before. */
DLLM_DEVICE int32_t warp_sum(int32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(whole_warp, value);
#else
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(whole_warp, value, distance);
    return value;
#endif
}

DLLM_DEVICE int32_t warp_least(int32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(whole_warp, value);
#else
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
        value = smaller(value, __shfl_xor_sync(whole_warp, value, distance));
    return value;
#endif
}

/* Every warp's numbers to all, number i of warp w in [i * team_warps + w]; the first barrier keeps the
   numbers before from being overwritten. */
DLLM_DEVICE const int32_t *exchange_by_warp(const int32_t *values, int32_t count)
{
    __shared__ int32_t of_warp[team_sums_max * team_warps];
    const unsigned warp = threadIdx.x / warp_lanes;
    __syncthreads();
    for (int i = 0; i < count; i++)
        if (threadIdx.x % warp_lanes == 0)
            of_warp[static_cast<unsigned>(i) * team_warps + warp] = values[i];
    __syncthreads();
    return of_warp;
}

DLLM_DEVICE void dllm_team_sums(int32_t *values, int32_t count)
{
    for (int i = 0; i < count; i++)
        values[i] = warp_sum(values[i]);
    const int32_t *of_warp = exchange_by_warp(values, count);
    for (int i = 0; i < count; i++) {
        values[i] = 0;
        for (int w = 0; w < team_warps; w++)
            values[i] += of_warp[i * team_warps + w];
    }
}

DLLM_DEVICE int32_t dllm_team_sum(int32_t value)
{
    dllm_team_sums(&value, 1);
    return value;
}

DLLM_DEVICE int32_t dllm_team_least(int32_t value)
{
    const int32_t of_lanes = warp_least(value);
    const int32_t *of_warp = exchange_by_warp(&of_lanes, 1);
    int32_t least = of_warp[0];
    for (int w = 1; w < team_warps; w++)
        least = smaller(least, of_warp[w]);
    return least;
}

DLLM_DEVICE int32_t dllm_team_place(int32_t value, int32_t *total)
{
    const unsigned lanes = __ballot_sync(whole_warp, value);
    const int32_t marked = __popc(lanes);
    const int32_t *of_warp = exchange_by_warp(&marked, 1);
    const unsigned warp = threadIdx.x / warp_lanes;
    int32_t place = __popc(lanes & ((1u << threadIdx.x % warp_lanes) - 1));
    *total = 0;
    for (unsigned w = 0; w < team_warps; w++) {
        place += w < warp ? of_warp[w] : 0;
        *total += of_warp[w];
    }
    return place;
}

DLLM_DEVICE int64_t dllm_team_claim(int64_t *counter, int64_t value)
{
    auto *word = reinterpret_cast<unsigned long long *>(counter);
    return static_cast<int64_t>(atomicAdd(word, static_cast<unsigned long long>(value)));
}

DLLM_DEVICE void dllm_team_add(int32_t *counter, int32_t value)
{
    atomicAdd(counter, value);
}

#endif
