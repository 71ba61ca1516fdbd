/* header_c.c - dllm.h is clean as C99, and every _INIT macro fills its struct */
#include "dllm.h"

int header_c_sizes(void);

int header_c_sizes(void)
{
    const dllm_context_options context = DLLM_CONTEXT_OPTIONS_INIT;
    const dllm_statistics statistics = DLLM_STATISTICS_INIT;
    const dllm_device_info device = DLLM_DEVICE_INFO_INIT;
    const dllm_plan_information plan = DLLM_PLAN_INFORMATION_INIT;
    const dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    const dllm_head_buffers head_buffers = DLLM_HEAD_BUFFERS_INIT;
    const dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    const dllm_sampler_buffers sampler_buffers = DLLM_SAMPLER_BUFFERS_INIT;
    const dllm_merge_options merge = DLLM_MERGE_OPTIONS_INIT;
    const dllm_merge_buffers merge_buffers = DLLM_MERGE_BUFFERS_INIT;
    return context.struct_size == sizeof context && statistics.struct_size == sizeof statistics &&
           device.struct_size == sizeof device && plan.struct_size == sizeof plan &&
           head.struct_size == sizeof head && head_buffers.struct_size == sizeof head_buffers &&
           sampler.struct_size == sizeof sampler &&
           sampler_buffers.struct_size == sizeof sampler_buffers &&
           merge.struct_size == sizeof merge && merge_buffers.struct_size == sizeof merge_buffers;
}
