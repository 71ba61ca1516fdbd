/*
 * decode_start.cu - puts sequences at their first block, or cancelled ones back to work
 *
 * params   dllm_decode_params: records and rules of the sequences, canvas, rows of the step
 * Grid     a block of 128 threads a sequence; the block is the team of decode_step.h.
 * Shared   what the team exchanges.
 * Source   decode.md 7, 10
 */
#define DLLM_TEAM 128

#include "decode_step.h"

extern "C" __global__ void __launch_bounds__(block_threads, 1)
    decode_start(const __grid_constant__ dllm_decode_params params)
{
    const dllm_step step = dllm_step_of(&params, static_cast<int32_t>(blockIdx.x));
    dllm_step_start(&step);
}
