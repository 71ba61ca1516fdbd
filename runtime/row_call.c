/*
 * row_call.c - every rule of the public header about the buffers of a run
 *
 * Sampler buffers are first laid out as head buffers (the logits in the place of the hidden
 * states), so each rule is written once.
 */
#include "problem.h"

#include "argument.h"
#include "status.h"

/* One matrix of a run: pointer, stride and their alignment. Fills the default stride. */
typedef struct matrix_rule {
    const char *name;
    const void *pointer;
    int64_t *stride;
    int64_t width; /* elements of a row, the least stride */
    int64_t rows;
    int element_bytes;
    int alignment_bytes;
} matrix_rule;

static dllm_status check_matrix(const matrix_rule *rule)
{
    const int wanted =
        rule->alignment_bytes > rule->element_bytes ? rule->alignment_bytes : rule->element_bytes;
    int64_t bytes;
    if (!rule->pointer) return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", rule->name);
    if (*rule->stride == 0) *rule->stride = rule->width;
    /* no second row: what stands there need keep nothing, and the kernels get one that does */
    const int64_t unit = wanted / rule->element_bytes;
    if (rule->rows <= 1 && *rule->stride >= rule->width)
        *rule->stride = (rule->width + unit - 1) / unit * unit;
    if (*rule->stride < rule->width)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s stride %lld is below the row's %lld elements",
                          rule->name, (long long)*rule->stride, (long long)rule->width);
    if (__builtin_mul_overflow(*rule->stride, rule->element_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, rule->rows, &bytes))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s stride %lld x %lld rows overflows 64 bits",
                          rule->name, (long long)*rule->stride, (long long)rule->rows);
    if ((uintptr_t)rule->pointer % (unsigned)wanted)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "%s at %p is not aligned to the %d bytes the plan was prepared for",
                          rule->name, rule->pointer, wanted);
    if (rule->rows > 1 && *rule->stride * rule->element_bytes % wanted)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "%s stride of %lld elements does not keep the %d bytes of alignment the "
                          "plan was prepared for",
                          rule->name, (long long)*rule->stride, wanted);
    return DLLM_OK;
}

static dllm_status check_outputs(const dllm_problem *problem, const dllm_head_buffers *buffers)
{
    const unsigned id_bytes = problem->id_type == DLLM_INT64 ? 8 : 4;
    const struct {
        const char *name;
        const void *pointer;
        uint32_t bit;
        unsigned bytes;
    } outputs[] = {
        {"argmax", buffers->argmax, DLLM_OUT_ARGMAX, id_bytes},
        {"max", buffers->max, DLLM_OUT_MAX, 4},
        {"lse", buffers->lse, DLLM_OUT_LSE, 4},
        {"confidence", buffers->confidence, DLLM_OUT_CONFIDENCE, 4},
        {"flags", buffers->flags, DLLM_OUT_FLAGS, 4},
    };
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        if (!(problem->outputs & outputs[i].bit)) continue;
        if (!outputs[i].pointer)
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s was asked for and is NULL",
                              outputs[i].name);
        if ((uintptr_t)outputs[i].pointer % outputs[i].bytes)
            return dllm__fail(DLLM_INVALID_ARGUMENT,
                              "%s at %p is not aligned to its %u-byte elements", outputs[i].name,
                              outputs[i].pointer, outputs[i].bytes);
    }
    return DLLM_OK;
}

/* An array that the plan was not prepared for would be dropped in silence. */
static dllm_status check_inputs(const dllm_problem *problem, const dllm_head_buffers *buffers)
{
    const struct {
        uint32_t bit;
        const void *pointer;
        const char *name;
    } inputs[] = {
        {DLLM_IN_ROW_INDEX, buffers->row_index, "row_index"},
        {DLLM_IN_ROWS_DEVICE, buffers->rows_device, "rows_device"},
        {DLLM_IN_TARGET, buffers->target, "target"},
        {DLLM_IN_TEMPERATURE, buffers->temperature, "temperature"},
        {DLLM_IN_BIAS, buffers->bias, "bias"},
        {DLLM_IN_SUPPRESS, buffers->suppress, "suppress"},
        {DLLM_IN_PENALTY, buffers->penalty, "penalty"},
        {DLLM_IN_PENALTY, buffers->penalty_id, "penalty_id"},
        {DLLM_IN_ROW_KEY, buffers->row_key, "row_key"},
        {DLLM_IN_NOISE, buffers->noise, "noise"},
        {0, buffers->seed, "seed"}, /* of the draw, which is not implemented */
        {0, buffers->draw, "draw"},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        if (inputs[i].pointer && !(problem->inputs & inputs[i].bit))
            return dllm__fail(DLLM_INVALID_ARGUMENT,
                              "%s is given, but the plan was not prepared for that input",
                              inputs[i].name);
    if ((uintptr_t)buffers->rows_device % sizeof *buffers->rows_device)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "rows_device at %p is not aligned to its 8-byte element",
                          (const void *)buffers->rows_device);
    if (!buffers->row_index) return DLLM_OK;
    const unsigned index_bytes = problem->index_type == DLLM_INT64 ? 8 : 4;
    if ((uintptr_t)buffers->row_index % index_bytes)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "row_index at %p is not aligned to its %u-byte elements",
                          buffers->row_index, index_bytes);
    return dllm__check_range("source_rows", buffers->source_rows, 0, INT64_MAX);
}

static dllm_status check_workspace(const dllm_head_buffers *buffers, size_t wanted)
{
    if (wanted && !buffers->workspace)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "workspace is NULL, the plan needs %zu bytes",
                          wanted);
    if (buffers->workspace_bytes < wanted)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "workspace_bytes %zu is below the plan's %zu",
                          buffers->workspace_bytes, wanted);
    return DLLM_OK;
}

static dllm_status make_call(dllm_row_call *out, const dllm_problem *problem,
                             size_t workspace_bytes, const dllm_head_buffers *buffers)
{
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    *out = (dllm_row_call){
        .rows = buffers->rows,
        .hidden = buffers->hidden,
        .weight = buffers->weight,
        .hidden_stride = buffers->hidden_stride,
        .weight_stride = buffers->weight_stride,
        .row_index = buffers->row_index,
        .source_rows = buffers->row_index ? buffers->source_rows : buffers->rows,
        .rows_device = buffers->rows_device,
        .workspace = buffers->workspace,
        .argmax = buffers->argmax,
        .max = buffers->max,
        .lse = buffers->lse,
        .confidence = buffers->confidence,
        .flags = buffers->flags,
    };
    DLLM_TRY(dllm__check_range("rows", buffers->rows, 0, problem->rows_max));
    if (buffers->rows == 0) return DLLM_OK;
    DLLM_TRY(check_inputs(problem, buffers));
    const matrix_rule hidden = {head ? "hidden" : "logits", out->hidden,
                                &out->hidden_stride,        head ? problem->depth : problem->vocab,
                                out->source_rows,           dllm__type_bytes(problem->hidden_type),
                                problem->alignment_bytes};
    DLLM_TRY(check_matrix(&hidden));
    if (head) {
        const matrix_rule weight = {"weight",
                                    out->weight,
                                    &out->weight_stride,
                                    problem->depth,
                                    problem->vocab,
                                    dllm__type_bytes(problem->weight_type),
                                    problem->alignment_bytes};
        DLLM_TRY(check_matrix(&weight));
    }
    DLLM_TRY(check_outputs(problem, buffers));
    return check_workspace(buffers, workspace_bytes);
}

dllm_status dllm__head_call(dllm_row_call *out, const dllm_problem *problem, size_t workspace_bytes,
                            const dllm_head_buffers *buffers)
{
    dllm_head_buffers copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, buffers, "buffers"));
    return make_call(out, problem, workspace_bytes, &copy);
}

dllm_status dllm__sampler_call(dllm_row_call *out, const dllm_problem *problem,
                               size_t workspace_bytes, const dllm_sampler_buffers *buffers)
{
    dllm_sampler_buffers copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, buffers, "buffers"));
    const dllm_head_buffers view = {
        .struct_size = sizeof view,
        .rows = copy.rows,
        .hidden = copy.logits,
        .hidden_stride = copy.logits_stride,
        .row_index = copy.row_index,
        .source_rows = copy.source_rows,
        .workspace = copy.workspace,
        .workspace_bytes = copy.workspace_bytes,
        .argmax = copy.argmax,
        .max = copy.max,
        .lse = copy.lse,
        .confidence = copy.confidence,
        .flags = copy.flags,
        .rows_device = copy.rows_device,
        .target = copy.target,
        .temperature = copy.temperature,
        .bias = copy.bias,
        .suppress = copy.suppress,
        .penalty_id = copy.penalty_id,
        .penalty = copy.penalty,
        .row_key = copy.row_key,
        .seed = copy.seed,
        .draw = copy.draw,
        .noise = copy.noise,
    };
    return make_call(out, problem, workspace_bytes, &view);
}
