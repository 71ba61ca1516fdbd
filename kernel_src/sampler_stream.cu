/*
 * sampler_stream.cu - the sampler: one pass over rows of logits at the speed of memory
 *
 *     z[r, v] = logits[index(r), v], folded into a state a (split, row)
 *
 * logits   (source_rows, columns) DLLM_LOGITS_TYPE, row-major, logits_stride elements apart; rows
 *          need no more alignment than an element. Column 0 here is column column_begin of the
 *          vocabulary, so that logits may come chunk by chunk.
 * states   [splits][state_stride]; row r of split s is written when r < row_count, nothing else is.
 *          With `continues` they are read first, and the columns here come after theirs.
 * Grid     splits * row_limit blocks, block = split * row_limit + row - row_begin. 128 threads, whose
 *          shares sampler_fold.cuh tells.
 * Shared   4 states, for the merge over the warps. Barriers: all threads, once, inside that merge.
 * Limits   split_columns a multiple of 16, at most 2^20 (no sum gets more than 1,024 terms)
 * Source   numerics.md 2, 6, 12, 14
 */
#include "base.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "sampler_fold.cuh"
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(block_threads, asks_further ? 3 : 0)
    sampler_stream(const __grid_constant__ dllm_sampler_params params)
{
    griddepcontrol_wait();
    __shared__ row_state scratch[block_warps];
    const uint32_t rows = static_cast<uint32_t>(params.row_limit);
    const int64_t split = blockIdx.x / rows;
    const int64_t row = params.row_begin + blockIdx.x % rows;
    if (row >= row_count(params)) return;
    const row_part part = find_part(params, split, row, 0);
    const row_context context =
        find_context(params, row, split * block_warps + threadIdx.x / warp_lanes);
    if (!params.continues) list_begin(context);
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
    griddepcontrol_launch_dependents();
    row_state merged = block_merge<block_warps>(mine, scratch, context);
    if (threadIdx.x != 0) return;
    const int64_t place = split * params.state_stride + row;
    if (params.continues) merged = state_merge(read_state(params, place), merged, context);
    store_state(params, place, merged);
}
