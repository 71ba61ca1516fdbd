/* packed_rows.c - sizes of the packed copy and its kernel */
#include "packed_rows.h"

#include "family_parts.h"

enum { GATHER_THREADS = 256, STRIDE_STEP = 16 };

int64_t dllm__packed_stride(const dllm_problem *problem)
{
    return (problem->depth + STRIDE_STEP - 1) / STRIDE_STEP * STRIDE_STEP;
}

static bool may_pack(const dllm_problem *problem)
{
    return problem->is_guided || problem->inputs & DLLM_IN_ROW_INDEX;
}

bool dllm__packs(const dllm_problem *problem, const dllm_row_call *call)
{
    return problem->is_guided || call->row_index;
}

size_t dllm__packed_bytes(const dllm_problem *problem)
{
    if (!may_pack(problem)) return 0;
    return dllm__round_256((size_t)dllm__lines(problem, problem->rows_max) *
                           (size_t)dllm__packed_stride(problem) *
                           (size_t)dllm__type_bytes(problem->hidden_type));
}

int dllm__packed_spec(dllm_kernel_spec *out, const dllm_problem *problem)
{
    if (!may_pack(problem)) return 0;
    *out = (dllm_kernel_spec){.file = "gather.cu", .entry = "gather"};
    dllm__kernel_define(out, "DLLM_ELEMENT_BYTES", dllm__type_bytes(problem->hidden_type));
    if (problem->is_guided) dllm__kernel_define(out, "DLLM_TRANSFORMS", DLLM_TRANSFORM_GUIDANCE);
    return 1;
}

dllm_status dllm__pack_rows(const dllm_plan *plan, dllm_cu_function function,
                            const dllm_row_call *call, void *packed, dllm_stream stream)
{
    dllm_gather_params params = {
        .source = call->hidden,
        .row_index = call->row_index,
        .rows_device = call->rows_device,
        .packed = packed,
        .source_stride = call->hidden_stride,
        .packed_stride = dllm__packed_stride(&plan->problem),
        .rows = call->rows,
        .source_rows = call->source_rows,
        .row_index_is_64 = plan->problem.index_type == DLLM_INT64,
        .depth = (int32_t)plan->problem.depth,
    };
    const dllm_grid grid = {dllm__lines(&plan->problem, call->rows), GATHER_THREADS, 0, false};
    return dllm__launch(plan, function, &grid, &params, stream);
}
