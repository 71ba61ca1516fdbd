/* decode_cpu.c - what kernels do in a decode step, on the CPU: one sequence after the other */
#include "decode_cpu.h"

#include "decode_step.h"

void dllm__decode_cpu_start(const dllm_step_params *params)
{
    for (int32_t s = 0; s < params->sequences; s++) {
        const dllm_step step = dllm_step_of(params, s);
        dllm_step_start(&step);
    }
}

void dllm__decode_cpu_list(const dllm_step_params *params)
{
    for (int32_t s = 0; s < params->sequences; s++) {
        const dllm_step step = dllm_step_of(params, s);
        dllm_step_list(&step);
    }
}

void dllm__decode_cpu_select(const dllm_step_params *params)
{
    for (int32_t s = 0; s < params->sequences; s++) {
        const dllm_step step = dllm_step_of(params, s);
        dllm_step_select(&step);
    }
}
