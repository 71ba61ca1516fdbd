/*
 * sampler_finish.cu - the sampler in one launch: a block or a cluster reads a row and ends it
 *
 * What sampler_stream.cu and combine.cu do in two, to the same bits where tile and splits are the same.
 *
 * logits   as in sampler_stream.cu, all columns and rows at once: row_begin and column_begin are 0
 * outputs  `to`, as in combine.cu; of the plain outputs in DLLM_OUTPUTS those that are not NULL
 * Grid     a block a row, or with DLLM_CLUSTERED a cluster of 2 to 8 blocks a row, block s of it for
 *          split s. DLLM_THREADS threads, whose shares sampler_fold.cuh tells.
 * Shared   a state a warp, for the merge over the warps; clustered also 8 states, those of the cluster's
 *          blocks in its first block.
 * Barriers of the block: all threads, once, in the merge over the warps. Of the cluster: all threads
 *          arrive when they begin and wait for each other before the first block's memory is written;
 *          then all arrive behind that write and wait once more. A row that does not exist has none:
 *          its blocks leave together.
 * Source   numerics.md 2, 6, 7, 12, 13, 14
 */
#include "base.cuh"
#include "cluster.cuh"
#include "finish_row.cuh"
#include "load.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "sampler_fold.cuh"
#include "state.cuh"

/* 1: the blocks of a cluster have a row together, sm_90 and later; 0: a block has it alone. */
#ifndef DLLM_CLUSTERED
#define DLLM_CLUSTERED 0
#endif

constexpr bool is_clustered = DLLM_CLUSTERED;
constexpr int cluster_blocks_max = 8; /* that any device with clusters takes */
/* that an SM holds; left to itself the compiler gives wide blocks of further statistics too few registers */
constexpr int least_blocks = !asks_further ? 0 : block_threads > 128 ? 1 : 3;

static_assert(!has_candidates, "lists are merged by combine");

/* Merges what the blocks of a cluster made of their parts; right in thread 0 of the first block. All
 * threads call. */
DLLM_DEVICE row_state cluster_merge(const row_state &mine, const row_context &context)
{
    __shared__ row_state parts[cluster_blocks_max];
    cluster_wait(); /* the first block has begun: before that it has no memory to write to */
    if (threadIdx.x == 0) cluster_map(parts, 0)[cluster_rank()] = mine;
    __syncwarp();
    cluster_arrive();
    cluster_wait();
    if (threadIdx.x >= warp_lanes || cluster_rank() != 0) return mine;
    const uint32_t block = threadIdx.x % cluster_blocks_max;
    return lanes_merge<cluster_blocks_max>(
        block < cluster_blocks() ? parts[block] : state_neutral(), context);
}

extern "C" __global__ void __launch_bounds__(block_threads, least_blocks)
    sampler_finish(const __grid_constant__ dllm_sampler_params params,
                   const __grid_constant__ dllm_combine_params to)
{
    __shared__ row_state scratch[block_warps];
    const int64_t row = is_clustered ? cluster_number() : blockIdx.x;
    const int64_t split = is_clustered ? cluster_rank() : 0;
    if (row >= row_count(params)) return;
    if constexpr (is_clustered) cluster_arrive_relaxed();
    const row_part part = find_part(params, split, row, 0);
    const row_context context = find_context(params, row, 0);
    row_state mine;
    if constexpr (has_guidance) {
        const row_part unconditional = find_part(params, split, row, 1);
        mine = (part.phase | unconditional.phase) == 0
                   ? fold_part<false>(part, unconditional, context)
                   : fold_part<true>(part, unconditional, context);
    } else {
        mine = part.phase == 0 ? fold_part<false>(part, part, context)
                               : fold_part<true>(part, part, context);
    }
    row_state state = block_merge<block_warps>(mine, scratch, context);
    if constexpr (is_clustered) state = cluster_merge(state, context);
    if (threadIdx.x != 0 || split != 0) return;
    finish_row(to, row, state, part.begin < part.end, context);
}
