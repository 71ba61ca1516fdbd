/*
 * decode_list.cu - the rows that a decode step reads, of all sequences together
 *
 * params   dllm_decode_params: records and rules of the sequences, canvas, rows of the step
 * Grid     a block of 128 threads a sequence; the block is the team of decode_step.h.
 * Shared   16 bytes, of the team.
 * Source   decode.md 7
 */
#define DLLM_TEAM 128

#include "decode_step.h"

extern "C" __global__ void __launch_bounds__(block_threads, 1)
    decode_list(const __grid_constant__ dllm_decode_params params)
{
    const dllm_step step = dllm_step_of(&params, static_cast<int32_t>(blockIdx.x));
    dllm_step_list(&step);
}
