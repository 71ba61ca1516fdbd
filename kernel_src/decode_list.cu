/*
 * decode_list.cu - the rows that a decode step reads, of all sequences together
 *
 * params   dllm_decode_params: records and rules of the sequences, canvas, rows of the step
 * Grid     a block of 128 threads a sequence; the block is the team of decode_step.h.
 * Shared   the sequence's rules and record; what the team exchanges.
 * Source   decode.md 7
 */
#define DLLM_TEAM 128

#include "decode_near.cuh"
#include "decode_step.h"

extern "C" __global__ void __launch_bounds__(block_threads, 1)
    decode_list(const __grid_constant__ dllm_decode_params params)
{
    __shared__ near_sequence near;
    dllm_step step = dllm_step_of(&params, static_cast<int32_t>(blockIdx.x));
    dllm_sequence_record *record = step.record;
    const uint32_t brought = bring_near(near, step);
    step.rules = &near.rules;
    step.record = &near.record;
    dllm_step_list(&step);
    put_back(record, near, brought);
}
