/*
 * decode_select.cu - chooses and commits a decode step, and moves its sequences on
 *
 * params   dllm_decode_params: records and rules of the sequences, canvas, rows of the step
 * Grid     a block of 128 threads a sequence; the block is the team of decode_step.h.
 * Shared   the sequence's rules and record; of small blocks all that is chosen from, so that rank 0
 *          and the order of keys wait for no other memory; larger ones take the workspace.
 * Source   decode.md 2, 3, 7, 8
 */
#define DLLM_TEAM 128

#include "decode_near.cuh"
#include "decode_step.h"

constexpr int small_positions = 512; /* the usual block has 32 */

/* A small block's arrays. */
struct small_block {
    uint64_t sorted[small_positions];
    int64_t token[small_positions];
    int32_t order[small_positions];
    float key[small_positions];
    float entropy[small_positions];
    uint8_t masked[small_positions];
    uint8_t usable[small_positions];
    uint8_t edited[small_positions];
    uint8_t chosen[small_positions];
};

extern "C" __global__ void __launch_bounds__(block_threads, 1)
    decode_select(const __grid_constant__ dllm_decode_params params)
{
    __shared__ small_block small;
    __shared__ near_sequence near;
    dllm_step step = dllm_step_of(&params, static_cast<int32_t>(blockIdx.x));
    dllm_sequence_record *record = step.record;
    const uint32_t brought = bring_near(near, step);
    step.rules = &near.rules;
    step.record = &near.record;
    if (params.sorted_max <= small_positions)
        step.block = {small.sorted, small.order,  small.token,  small.key,   small.entropy,
                      small.masked, small.usable, small.edited, small.chosen};
    dllm_step_select(&step);
    put_back(record, near, brought);
}
