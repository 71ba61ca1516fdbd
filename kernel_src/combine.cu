/*
 * combine.cu - merges the states of the splits and writes the outputs of a row
 *
 *     argmax = vocab_offset + lowest column with z = m,  max = m,  lse = m + ln d,
 *     confidence = 1 / d,  flags; rows that are not finite as state_finish says
 *
 * states   [splits][state_stride] partial states, 1 <= splits < 2^16
 * outputs  (rows) each, those of DLLM_OUTPUTS alone; a row whose index is outside the source gets
 *          id 0, NaN and the flag ROW
 * Grid     ceil(rows / 4) blocks of 128 threads; warp w has row 4 * block + w. Lane l merges the
 *          splits l, l + 32, ... in ascending order, then the lanes merge: an order that depends on
 *          the number of splits alone.
 * Shared   none. Barriers none: a warp whose row does not exist leaves.
 * Source   numerics.md 2, 6, 7, 13
 */
#include "base.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "state.cuh"

/* Outputs to write, a sum of the DLLM_OUT_ bits of dllm.h: 1 argmax, 2 max, 4 lse, 8 confidence,
   2048 flags. */
#ifndef DLLM_OUTPUTS
#define DLLM_OUTPUTS (1 + 2 + 4 + 8 + 2048)
#endif
/* Width of an id: 4 or 8. */
#ifndef DLLM_ID_BYTES
#define DLLM_ID_BYTES 4
#endif

constexpr uint32_t outputs = DLLM_OUTPUTS;
constexpr int id_bytes = DLLM_ID_BYTES;
constexpr int block_rows = 4;
constexpr int block_threads = block_rows * warp_lanes;

static_assert((outputs & ~(1u | 2u | 4u | 8u | 2048u)) == 0, "outputs that this kernel knows");
static_assert(id_bytes == 4 || id_bytes == 8, "ids are int32 or int64");

template <int BYTES> struct id_of;
template <> struct id_of<4> {
    using type = int32_t;
};
template <> struct id_of<8> {
    using type = int64_t;
};
using id_type = id_of<id_bytes>::type;

/* Four states are asked for before the first is merged: one wait for memory in place of four. */
DLLM_DEVICE dllm_row_state merge_splits(const dllm_combine_params &params, int64_t row)
{
    constexpr int ahead = 4;
    dllm_row_state state = state_neutral();
    for (int64_t first = threadIdx.x % warp_lanes; first < params.splits;
         first += ahead * warp_lanes) {
        dllm_row_state parts[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int64_t split = first + i * warp_lanes;
            parts[i] = split < params.splits ? params.states[split * params.state_stride + row]
                                             : state_neutral();
        }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            state = state_merge(state, parts[i]);
        }
    }
    return lanes_merge<warp_lanes>(state);
}

DLLM_DEVICE void write_row(const dllm_combine_params &params, int64_t row, int64_t id,
                           const row_result &result)
{
    if (outputs & 1) static_cast<id_type *>(params.argmax)[row] = static_cast<id_type>(id);
    if (outputs & 2) params.max[row] = result.max;
    if (outputs & 4) params.lse[row] = result.lse;
    if (outputs & 8) params.confidence[row] = result.confidence;
    if (outputs & 2048) params.flags[row] = result.flags;
}

extern "C" __global__ void __launch_bounds__(block_threads)
    combine(const __grid_constant__ dllm_combine_params params)
{
    griddepcontrol_wait();
    const int64_t row = static_cast<int64_t>(blockIdx.x) * block_rows + threadIdx.x / warp_lanes;
    if (row >= row_count(params)) return;
    const bool exists =
        source_row(params.row_index, params.row_index_is_64, params.source_rows, row) >= 0;
    row_result result = {DLLM_NO_COLUMN, quiet_nan(), quiet_nan(), quiet_nan(), flag_row};
    if (exists) result = state_finish(merge_splits(params, row));
    const int64_t id = result.column == DLLM_NO_COLUMN ? 0 : params.vocab_offset + result.column;
    if (threadIdx.x % warp_lanes == 0) write_row(params, row, id, result);
}
