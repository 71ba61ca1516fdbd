/* family_merge.c - statistics of rows from the states of vocabulary shards: merge.cu */
#include "family_list.h"
#include "family_parts.h"

enum { MERGE_THREADS = 128, MERGE_ROWS = 4 }; /* a warp a row */

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    (void)problem;
    (void)device;
    (void)choice;
    return DLLM_OK;
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    (void)problem;
    (void)device;
    choice->tile_rows = MERGE_ROWS;
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    (void)choice;
    dllm__finish_spec(&out[0], "merge", problem);
    out[0].file = "merge.cu";
    return 1;
}

static size_t workspace_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    (void)problem;
    (void)choice;
    return 0;
}

static dllm_status run(const dllm_plan *plan, const dllm_plan_entry *entry,
                       const dllm_row_call *call, dllm_stream stream)
{
    dllm_merge_params params = {
        .states = call->states,
        .shard_stride_bytes = call->shard_stride_bytes,
        .argmax = call->argmax,
        .max = call->max,
        .lse = call->lse,
        .confidence = call->confidence,
        .flags = call->flags,
        .rows = call->rows,
        .shards = call->shards,
        .further = dllm__row_outputs(plan, call, &entry->choice),
    };
    const dllm_grid grid = {(call->rows + MERGE_ROWS - 1) / MERGE_ROWS, MERGE_THREADS, 0, false};
    return dllm__launch(plan, entry->kernels[0], &grid, &params, stream);
}

const dllm_family dllm__family_merge = {
    .name = "merge",
    .operation = DLLM_OPERATION_MERGE,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .workspace_bytes = workspace_bytes,
    .run = run,
};
