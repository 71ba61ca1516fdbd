/*
 * head_naive.cu - the head with one warp a row and column range: the clearest kernel of the house
 *
 *     z[r, v] = sum over h of hidden[index(r), h] * weight[v, h], folded into a state a split, row
 *
 * hidden   (source_rows, depth) DLLM_HIDDEN_TYPE, row-major, hidden_stride elements apart
 * weight   (vocab, depth) DLLM_WEIGHT_TYPE, row-major, weight_stride elements apart
 * states   [splits][state_stride]; row r of split s is written when r < row_count, nothing else is
 * Grid     splits * ceil(rows / 4) blocks, block = split * row_tiles + row_tile, so that blocks
 *          that run together share a range of the weight. 128 threads; warp w has row
 *          4 * row_tile + w. A lane takes every 32nd run of the depth; after the sum over the warp
 *          lane l keeps the logit of column l of each group of 32, so that all lanes fold at once.
 *          With guidance the warp also multiplies hidden row index(r) + source_rows.
 * Shared   none. Barriers none: a warp whose row does not exist leaves.
 * Limits   split_columns a multiple of 32, at most 32,768 (1,024 folds a lane)
 * Source   numerics.md 2, 6, 11
 */
#include "base.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "state.cuh"

/* Element types: 1 bf16, 2 fp16, 3 fp32. */
#ifndef DLLM_HIDDEN_TYPE
#define DLLM_HIDDEN_TYPE 1
#endif
#ifndef DLLM_WEIGHT_TYPE
#define DLLM_WEIGHT_TYPE 1
#endif
/* Bytes that base pointers and row starts keep: 1, 2, 4, 8 or 16; an element's are a given. */
#ifndef DLLM_ALIGN_BYTES
#define DLLM_ALIGN_BYTES 16
#endif

using hidden_element = element<DLLM_HIDDEN_TYPE>::type;
using weight_element = element<DLLM_WEIGHT_TYPE>::type;
constexpr int align_bytes = DLLM_ALIGN_BYTES;
constexpr int block_rows = 4;
constexpr int block_threads = block_rows * warp_lanes;

static_assert(align_bytes > 0 && align_bytes <= 16 && (align_bytes & (align_bytes - 1)) == 0,
              "loads come in words of 2, 4, 8 and 16 bytes");

/* One word of the narrower operand; the wider one takes as many words as it needs. */
constexpr int narrow_bytes = sizeof(hidden_element) < sizeof(weight_element)
                                 ? sizeof(hidden_element)
                                 : sizeof(weight_element);
constexpr int run = align_bytes > narrow_bytes ? align_bytes / narrow_bytes : 1;

/* A lane's part of one product; the elements after the last whole run go to the first lanes. */
DLLM_DEVICE float lane_product(const hidden_element *hidden, const weight_element *weight,
                               int64_t depth, int lane)
{
    const int64_t whole = depth - depth % run;
    float sum = 0.0f;
    for (int64_t h = lane * run; h < whole; h += warp_lanes * run) {
        const element_run<hidden_element, run> x = load_run<run, align_bytes>(hidden + h);
        const element_run<weight_element, run> w = load_run<run, align_bytes>(weight + h);
#pragma unroll
        for (int i = 0; i < run; i++) {
            sum = fmaf(to_float(x.values[i]), to_float(w.values[i]), sum);
        }
    }
    const int64_t h = whole + lane;
    if (h < depth) sum = fmaf(to_float(hidden[h]), to_float(weight[h]), sum);
    return sum;
}

/* Folds the logits of `columns` weight rows; column `first` is that of `weight`. unconditional: the
 * hidden row that guides this one, not looked at without guidance. */
DLLM_DEVICE row_state fold_columns(const dllm_head_params &params, const hidden_element *hidden,
                                   const hidden_element *unconditional,
                                   const weight_element *weight, int32_t first, int32_t columns,
                                   const row_context &context)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    row_state state = state_neutral();
    for (int32_t group = 0; group < columns; group += warp_lanes) {
        const int members = smaller(columns - group, warp_lanes);
        float kept = 0.0f;
        float kept_unconditional = 0.0f;
        for (int member = 0; member < members; member++) {
            const float logit = warp_sum(lane_product(hidden, weight, params.depth, lane));
            if (lane == member) kept = logit;
            if constexpr (has_guidance) {
                const float other =
                    warp_sum(lane_product(unconditional, weight, params.depth, lane));
                if (lane == member) kept_unconditional = other;
            }
            weight += params.weight_stride;
        }
        if (lane < members) {
            state_fold_logit(state, kept, kept_unconditional, first + group + lane, context);
        }
        list_settle<warp_lanes, warp_lanes>(context);
    }
    return state;
}

/* Six blocks an SM: left to itself ptxas aims at more and spills a register or two. More statistics
 * want twice the registers. */
extern "C" __global__ void __launch_bounds__(block_threads, asks_further ? 3 : 6)
    head_naive(const __grid_constant__ dllm_head_params params)
{
    /* of the grid, which the host's count made; a 64-bit division would be a call */
    const uint32_t row_tiles = static_cast<uint32_t>(ceil_div<int64_t>(params.rows, block_rows));
    const int64_t split = blockIdx.x / row_tiles;
    const int64_t row_tile = blockIdx.x % row_tiles;
    const int64_t row = row_tile * block_rows + threadIdx.x / warp_lanes;
    if (row >= row_count(params)) return;
    const int64_t source =
        source_row(params.row_index, params.row_index_is_64, params.source_rows, row);

    const row_context context = find_context(params, row, split);
    list_begin(context);
    row_state state = state_neutral(); /* of a row outside the source: combine flags it */
    const int64_t begin = split * params.split_columns;
    const int64_t columns = smaller<int64_t>(params.valid_vocab - begin, params.split_columns);
    if (source >= 0) {
        const hidden_element *hidden =
            static_cast<const hidden_element *>(params.hidden) + source * params.hidden_stride;
        state = fold_columns(params, hidden, hidden + params.source_rows * params.hidden_stride,
                             static_cast<const weight_element *>(params.weight) +
                                 begin * params.weight_stride,
                             static_cast<int32_t>(begin), static_cast<int32_t>(columns), context);
    }
    griddepcontrol_launch_dependents();
    state = lanes_merge<warp_lanes>(state, context);
    if (threadIdx.x % warp_lanes == 0)
        store_state(params, split * params.state_stride + row, state);
}
