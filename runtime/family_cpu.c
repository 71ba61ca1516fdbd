/* family_cpu.c - the CPU backend as families: no kernel, no launch */
#include "family_list.h"

#include "cpu_head.h"

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    (void)problem;
    (void)device;
    (void)choice;
    return DLLM_OK;
}

/* The workspace depends on the number of threads, which the choice carries as its splits: the
   vocabulary is cut the same way for any number. */
static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    (void)problem;
    choice->stages = 1;
    choice->splits = device->multiprocessors;
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    (void)problem;
    (void)choice;
    (void)out;
    return 0;
}

static size_t no_workspace(const dllm_problem *problem, const dllm_choice *choice)
{
    (void)problem;
    (void)choice;
    return 0;
}

static size_t head_workspace(const dllm_problem *problem, const dllm_choice *choice)
{
    return dllm__cpu_head_workspace(problem, choice->splits);
}

static size_t sampler_workspace(const dllm_problem *problem, const dllm_choice *choice)
{
    return dllm__cpu_sampler_workspace(problem, choice->splits);
}

/* The call with the rows that rows_device names, as the kernels read it. */
static dllm_row_call counted(const dllm_row_call *call)
{
    dllm_row_call out = *call;
    if (call->rows_device && *call->rows_device < out.rows)
        out.rows = *call->rows_device < 0 ? 0 : *call->rows_device;
    return out;
}

static dllm_status head_run(const dllm_plan *plan, const dllm_plan_entry *entry,
                            const dllm_row_call *call, dllm_stream stream)
{
    (void)entry;
    (void)stream;
    const dllm_row_call rows = counted(call);
    dllm__cpu_head_run(plan->context->pool, &plan->problem, &rows);
    return DLLM_OK;
}

static dllm_status sampler_run(const dllm_plan *plan, const dllm_plan_entry *entry,
                               const dllm_row_call *call, dllm_stream stream)
{
    (void)entry;
    (void)stream;
    const dllm_row_call rows = counted(call);
    dllm__cpu_sampler_run(plan->context->pool, &plan->problem, &rows);
    return DLLM_OK;
}

static dllm_status merge_run(const dllm_plan *plan, const dllm_plan_entry *entry,
                             const dllm_row_call *call, dllm_stream stream)
{
    (void)entry;
    (void)stream;
    dllm__cpu_merge_run(plan->context->pool, &plan->problem, call);
    return DLLM_OK;
}

const dllm_family dllm__family_cpu_head = {
    .name = "cpu",
    .operation = DLLM_OPERATION_HEAD,
    .is_cpu = true,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .workspace_bytes = head_workspace,
    .run = head_run,
};

const dllm_family dllm__family_cpu_sampler = {
    .name = "cpu",
    .operation = DLLM_OPERATION_SAMPLER,
    .is_cpu = true,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .workspace_bytes = sampler_workspace,
    .run = sampler_run,
};

const dllm_family dllm__family_cpu_merge = {
    .name = "cpu",
    .operation = DLLM_OPERATION_MERGE,
    .is_cpu = true,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .workspace_bytes = no_workspace,
    .run = merge_run,
};
