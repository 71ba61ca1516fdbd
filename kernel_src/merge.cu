/*
 * merge.cu - statistics of whole rows from the states of vocabulary shards
 *
 * states   [shards] of (rows, state_bytes), shard_stride_bytes apart: a dllm_state, and what else the
 *          shard's plan wrote behind it
 * outputs  (rows) each, those of DLLM_OUTPUTS alone
 * Grid     ceil(rows / 4) blocks of 128 threads, a row a warp. Every lane merges the states of the
 *          row's shards in the order in which they are given; lists of candidates they merge together.
 * Shared   none. Barriers none.
 * Source   numerics.md 6
 */
#include "base.cuh"
#include "merge_lists.cuh"
#include "request.cuh"
#include "row_context.cuh"
#include "row_outputs.cuh"
#include "shard_state.cuh"
#include "state.cuh"

constexpr int block_rows = 4;
constexpr int block_threads = block_rows * warp_lanes;

/* What a shard's state tells of a row beside its logits. */
DLLM_DEVICE void flag_bits(row_result<int64_t> &result, uint32_t bits)
{
    if (bits & state_param) result.flags |= flag_param;
    if ((bits & state_asked) && !(bits & state_has_target)) {
        result.target_logprob = quiet_nan();
        result.flags |= flag_target;
    }
}

extern "C" __global__ void __launch_bounds__(block_threads, has_candidates ? 4 : 0)
    merge(const __grid_constant__ dllm_merge_params params)
{
    const int64_t row = static_cast<int64_t>(blockIdx.x) * block_rows + threadIdx.x / warp_lanes;
    if (row >= params.rows) return;
    row_context context = plain_context();
    set_temperature(context, params.further.inputs, row);
    shard_state state = shard_neutral();
    for (int64_t shard = 0; shard < params.shards; shard++) {
        const shard_state part = load_shard(params.states + shard * params.shard_stride_bytes +
                                            row * params.further.state_bytes);
        const uint32_t bits = state.bits | part.bits;
        state = state_merge(state, part, context);
        state.bits = bits;
    }
    row_result<int64_t> result = row_of_no_source<int64_t>();
    if (!(state.bits & state_row)) {
        result = state_finish(state, context);
        flag_bits(result, state.bits);
    }
    if (threadIdx.x % warp_lanes == 0) write_row(params, row, 0, result);
    if constexpr (has_candidates) merge_lists(params, row, result.flags);
}
