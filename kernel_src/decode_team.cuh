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

/* Every warp's number to all; the first barrier keeps the numbers before from being overwritten. */
DLLM_DEVICE const int32_t *exchange_by_warp(int32_t value)
{
    __shared__ int32_t of_warp[team_warps];
    __syncthreads();
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
    __syncthreads();
    return of_warp;
}

DLLM_DEVICE int32_t dllm_team_sum(int32_t value)
{
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(whole_warp, value, distance);
    const int32_t *of_warp = exchange_by_warp(value);
    int32_t sum = 0;
    for (int w = 0; w < team_warps; w++)
        sum += of_warp[w];
    return sum;
}

DLLM_DEVICE int32_t dllm_team_least(int32_t value)
{
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
        value = smaller(value, __shfl_xor_sync(whole_warp, value, distance));
    const int32_t *of_warp = exchange_by_warp(value);
    int32_t least = of_warp[0];
    for (int w = 1; w < team_warps; w++)
        least = smaller(least, of_warp[w]);
    return least;
}

DLLM_DEVICE int32_t dllm_team_place(int32_t value, int32_t *total)
{
    const unsigned lanes = __ballot_sync(whole_warp, value);
    const int32_t *of_warp = exchange_by_warp(__popc(lanes));
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
