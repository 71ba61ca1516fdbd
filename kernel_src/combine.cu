/*
 * combine.cu - merges the states of the splits and writes the outputs of a row
 *
 *     argmax = vocab_offset + lowest column with z = m,  max = m,  lse = m + ln d,
 *     confidence = 1 / d,  flags and so on; rows that are not finite as state_finish says
 *
 * states   [splits][state_stride] partial states, 1 <= splits < 2^16; beside them the extras
 * outputs  (rows) each, those of DLLM_OUTPUTS alone; a row whose index is outside the source gets
 *          id 0, NaN and the flag ROW. With DLLM_STATE_OUTPUT the row's dllm_state instead
 * Grid     ceil(rows / 4) blocks of 128 threads; warp w has row 4 * block + w. With extras a block of
 *          32 threads a row. Lane l merges the splits l, l + 32, ... in ascending order, then the
 *          lanes merge: an order that depends on the number of splits alone.
 * Shared   none. Barriers none: a warp whose row does not exist leaves.
 * Source   numerics.md 2, 6, 7, 13
 */
#include "base.cuh"
#include "finish_row.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "reduce.cuh"
#include "row_outputs.cuh"
#include "row_params.h"
#include "shard_state.cuh"
#include "state.cuh"

constexpr int block_rows = DLLM_COMBINE_ROWS(statistics);
constexpr int block_threads = block_rows * warp_lanes;
/* left to itself the compiler takes too few, and spills */
constexpr bool wants_registers = has_candidates || (writes_state && has_draw);

/* Five states are asked for before the first is merged, one wait for memory in place of five: a split for
 * each multiprocessor of Hopper. */
DLLM_DEVICE row_state merge_splits(const dllm_combine_params &params, int64_t row,
                                   const row_context &context)
{
    constexpr int ahead = 5;
    row_state state = state_neutral();
    for (int64_t first = threadIdx.x % warp_lanes; first < params.splits;
         first += ahead * warp_lanes) {
        row_state parts[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int64_t split = first + i * warp_lanes;
            parts[i] = split < params.splits ? read_state(params, split * params.state_stride + row)
                                             : state_neutral();
        }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            state = state_merge(state, parts[i], context);
        }
    }
    return lanes_merge<warp_lanes>(state, context);
}

template <typename Params>
DLLM_DEVICE void write_list(const Params &params, int64_t row, uint32_t flags,
                            const row_context &context)
{
    const dllm_row_outputs &to = params.further;
    const bool listed = !(flags & (flag_nonfinite | flag_row));
    const int64_t first = row * context.inputs->candidates;
    list_each(context, listed, [&](int rank, const dllm_candidate &entry) {
        const bool exists = entry.column != DLLM_NO_COLUMN;
        to.candidate_values[first + rank] = listed ? entry.value : quiet_nan();
        write_id(to.candidate_ids, first + rank, exists ? params.vocab_offset + entry.column : -1);
    });
}

template <typename Params>
DLLM_DEVICE void export_list(const Params &params, int64_t row, bool exists,
                             const row_context &context)
{
    const dllm_row_outputs &to = params.further;
    auto *records =
        reinterpret_cast<shard_candidate *>(to.state + row * to.state_bytes + sizeof(shard_state));
    list_each(context, exists, [&](int rank, const dllm_candidate &entry) {
        const int64_t column = wide_column(entry.column, params.vocab_offset);
        records[rank] = {entry.value, 0, id_of_column(column)};
    });
}

extern "C" __global__ void __launch_bounds__(block_threads, wants_registers ? 4 : 0)
    combine(const __grid_constant__ dllm_combine_params params)
{
    griddepcontrol_wait();
    const int64_t row = static_cast<int64_t>(blockIdx.x) * block_rows + threadIdx.x / warp_lanes;
    if (row >= row_count(params)) return;
    const bool exists =
        source_row(params.row_index, params.row_index_is_64, params.source_rows, row) >= 0;
    const row_context context = find_context(params, row, 0);
    if constexpr (has_candidates) gather_lists(params, row, context);
    if constexpr (writes_state) {
        const row_state state = exists ? merge_splits(params, row, context) : state_neutral();
        if (threadIdx.x % warp_lanes == 0) export_state(params, row, state, exists, context);
        if constexpr (has_candidates) export_list(params, row, exists, context);
        return;
    }
    row_result<int32_t> result = row_of_no_source<int32_t>();
    if (exists) {
        result = state_finish(merge_splits(params, row, context), context);
        flag_inputs(result, params, row, context);
    }
    if (threadIdx.x % warp_lanes == 0) write_row(params, row, params.vocab_offset, result);
    if constexpr (has_candidates) write_list(params, row, result.flags, context);
}
