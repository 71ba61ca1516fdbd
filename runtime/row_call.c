/*
 * row_call.c - every rule of the public header about the buffers of a run
 *
 * Sampler buffers are first laid out as head buffers (the logits in the place of the hidden
 * states), so each rule is written once.
 */
#include "problem.h"

#include "argument.h"
#include "status.h"

#include <string.h>

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

/* Elements of an array that are ids or indices have the size that was asked for. */
enum { ID_BYTES = 0, INDEX_BYTES = -1 };

/* An array of a run: its bit, its size of an element, where its pointer stands. */
typedef struct array_rule {
    const char *name;
    uint32_t bit;
    int element_bytes;
    size_t place;
} array_rule;

#define ARRAY(name, bit, bytes)                                                                    \
    {                                                                                              \
#name, bit, bytes, offsetof(dllm_row_call, name)                                           \
    }

static const array_rule output_rules[] = {
    ARRAY(argmax, DLLM_OUT_ARGMAX, ID_BYTES),
    ARRAY(max, DLLM_OUT_MAX, 4),
    ARRAY(lse, DLLM_OUT_LSE, 4),
    ARRAY(confidence, DLLM_OUT_CONFIDENCE, 4),
    ARRAY(entropy, DLLM_OUT_ENTROPY, 4),
    ARRAY(second, DLLM_OUT_SECOND, 4),
    ARRAY(second_id, DLLM_OUT_SECOND_ID, ID_BYTES),
    ARRAY(margin, DLLM_OUT_MARGIN, 4),
    ARRAY(target_logprob, DLLM_OUT_TARGET_LOGPROB, 4),
    ARRAY(gumbel_id, DLLM_OUT_GUMBEL_ID, ID_BYTES),
    ARRAY(gumbel_logprob, DLLM_OUT_GUMBEL_LOGPROB, 4),
    ARRAY(flags, DLLM_OUT_FLAGS, 4),
    ARRAY(candidate_values, DLLM_OUT_CANDIDATES, 4),
    ARRAY(candidate_ids, DLLM_OUT_CANDIDATES, ID_BYTES),
    {0},
};

static const array_rule state_rules[] = {ARRAY(state, 0, 8), {0}};

static const array_rule input_rules[] = {
    ARRAY(row_index, DLLM_IN_ROW_INDEX, INDEX_BYTES),
    ARRAY(rows_device, DLLM_IN_ROWS_DEVICE, 8),
    ARRAY(target, DLLM_IN_TARGET, ID_BYTES),
    ARRAY(temperature, DLLM_IN_TEMPERATURE, 4),
    ARRAY(bias, DLLM_IN_BIAS, 4),
    ARRAY(suppress, DLLM_IN_SUPPRESS, 8),
    ARRAY(penalty_id, DLLM_IN_PENALTY, ID_BYTES),
    ARRAY(penalty, DLLM_IN_PENALTY, 4),
    ARRAY(row_key, DLLM_IN_ROW_KEY, 8),
    ARRAY(noise, DLLM_IN_NOISE, 4),
    ARRAY(cfg_scale, DLLM_IN_CFG_SCALE, 4),
    {0},
};

static const array_rule draw_rules[] = {ARRAY(seed, 0, 8), ARRAY(draw, 0, 4), {0}};

static const void *array_of(const dllm_row_call *call, const array_rule *rule)
{
    const void *pointer;
    memcpy(&pointer, (const char *)call + rule->place, sizeof pointer);
    return pointer;
}

static dllm_status check_array(const dllm_problem *problem, const dllm_row_call *call,
                               const array_rule *rule)
{
    const void *pointer = array_of(call, rule);
    const dllm_id_type type =
        rule->element_bytes == INDEX_BYTES ? problem->index_type : problem->id_type;
    const int id_bytes = type == DLLM_INT64 ? 8 : 4;
    const int bytes = rule->element_bytes > 0 ? rule->element_bytes : id_bytes;
    if ((uintptr_t)pointer % (unsigned)bytes)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s at %p is not aligned to its %d-byte elements",
                          rule->name, pointer, bytes);
    return DLLM_OK;
}

static dllm_status check_outputs(const dllm_problem *problem, const dllm_row_call *call)
{
    const bool exported = problem->behaviour & DLLM_PARTIAL_STATE;
    for (const array_rule *rule = exported ? state_rules : output_rules; rule->name; rule++) {
        if (rule->bit && !(problem->outputs & rule->bit)) continue;
        if (!array_of(call, rule))
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s was asked for and is NULL", rule->name);
        DLLM_TRY(check_array(problem, call, rule));
    }
    return DLLM_OK;
}

/* An array that the plan was not prepared for would be dropped in silence. */
static dllm_status check_given(const array_rule *rule, const dllm_row_call *call, bool prepared)
{
    if (array_of(call, rule) && !prepared)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "%s is given, but the plan was not prepared for that input", rule->name);
    return DLLM_OK;
}

static dllm_status check_draw(const dllm_problem *problem, const dllm_row_call *call)
{
    const bool asked = problem->outputs & (DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB);
    for (const array_rule *rule = draw_rules; rule->name; rule++) {
        DLLM_TRY(check_given(rule, call, asked));
        DLLM_TRY(check_array(problem, call, rule));
    }
    const bool drawn = dllm__statistics(problem) & DLLM_STATISTIC_GUMBEL &&
                       problem->operation != DLLM_OPERATION_MERGE;
    if (drawn && !call->seed && !(problem->inputs & DLLM_IN_NOISE))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "seed is NULL, and a draw needs it");
    return DLLM_OK;
}

/* What may be left out of a run although the plan was prepared for it. */
static bool is_optional(const array_rule *rule, const dllm_row_call *call)
{
    return rule->bit == DLLM_IN_ROW_INDEX || rule->bit == DLLM_IN_ROWS_DEVICE ||
           (rule->bit == DLLM_IN_SUPPRESS && call->suppress_count == 0);
}

static dllm_status check_inputs(const dllm_problem *problem, const dllm_row_call *call)
{
    DLLM_TRY(dllm__check_range("suppress_count", call->suppress_count, 0, problem->suppress_max));
    for (const array_rule *rule = input_rules; rule->name; rule++) {
        const bool prepared = problem->inputs & rule->bit;
        DLLM_TRY(check_given(rule, call, prepared));
        if (prepared && !array_of(call, rule) && !is_optional(rule, call))
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL, and the plan was prepared for it",
                              rule->name);
        DLLM_TRY(check_array(problem, call, rule));
    }
    DLLM_TRY(check_draw(problem, call));
    return dllm__check_range("source_rows", call->source_rows, 0,
                             INT64_MAX / dllm__copies(problem));
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

#define FROM_BUFFERS(field) .field = buffers->field,

static dllm_status make_call(dllm_row_call *out, const dllm_problem *problem,
                             size_t workspace_bytes, const dllm_head_buffers *buffers)
{
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    *out = (dllm_row_call){.rows = buffers->rows,
                           .hidden = buffers->hidden,
                           .weight = buffers->weight,
                           .hidden_stride = buffers->hidden_stride,
                           .weight_stride = buffers->weight_stride,
                           .source_rows = buffers->row_index ? buffers->source_rows : buffers->rows,
                           .workspace = buffers->workspace,
                           DLLM_OUTPUT_BUFFERS(FROM_BUFFERS) DLLM_INPUT_BUFFERS(FROM_BUFFERS)};
    DLLM_TRY(dllm__check_range("rows", buffers->rows, 0, problem->rows_max));
    if (buffers->rows == 0) return DLLM_OK;
    DLLM_TRY(check_inputs(problem, out));
    const matrix_rule hidden = {head ? "hidden" : "logits",
                                out->hidden,
                                &out->hidden_stride,
                                head ? problem->depth : problem->vocab,
                                out->source_rows * dllm__copies(problem),
                                dllm__type_bytes(problem->hidden_type),
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
    DLLM_TRY(check_outputs(problem, out));
    return check_workspace(buffers, workspace_bytes);
}

dllm_status dllm__head_call(dllm_row_call *out, const dllm_problem *problem, size_t workspace_bytes,
                            const dllm_head_buffers *buffers)
{
    dllm_head_buffers copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, buffers, "buffers"));
    return make_call(out, problem, workspace_bytes, &copy);
}

#define FROM_COPY(field) .field = copy.field,

dllm_status dllm__sampler_call(dllm_row_call *out, const dllm_problem *problem,
                               size_t workspace_bytes, const dllm_sampler_buffers *buffers)
{
    dllm_sampler_buffers copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, buffers, "buffers"));
    const dllm_head_buffers view = {.struct_size = sizeof view,
                                    .rows = copy.rows,
                                    .hidden = copy.logits,
                                    .hidden_stride = copy.logits_stride,
                                    .source_rows = copy.source_rows,
                                    .workspace = copy.workspace,
                                    .workspace_bytes = copy.workspace_bytes,
                                    DLLM_OUTPUT_BUFFERS(FROM_COPY) DLLM_INPUT_BUFFERS(FROM_COPY)};
    return make_call(out, problem, workspace_bytes, &view);
}

/* States of a merge: pointer, stride and their alignment. Fills the default stride. */
static dllm_status check_states(const dllm_problem *problem, dllm_row_call *call)
{
    const int64_t shard_bytes = call->rows * (int64_t)dllm__state_bytes(problem);
    const int64_t alignment = sizeof(int64_t);
    int64_t bytes;
    if (!call->states) return dllm__fail(DLLM_INVALID_ARGUMENT, "states is NULL");
    if ((uintptr_t)call->states % (unsigned)alignment || call->shard_stride_bytes % alignment)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "states at %p with a shard stride of %lld bytes are not aligned to %lld",
                          (const void *)call->states, (long long)call->shard_stride_bytes,
                          (long long)alignment);
    if (call->shard_stride_bytes == 0) call->shard_stride_bytes = shard_bytes;
    if (call->shard_stride_bytes < shard_bytes && call->shards > 1)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "shard_stride_bytes %lld is below the %lld bytes of a shard's states",
                          (long long)call->shard_stride_bytes, (long long)shard_bytes);
    if (__builtin_mul_overflow(call->shard_stride_bytes, call->shards, &bytes))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "shard_stride_bytes %lld x %lld shards overflows 64 bits",
                          (long long)call->shard_stride_bytes, (long long)call->shards);
    return DLLM_OK;
}

dllm_status dllm__merge_call(dllm_row_call *out, const dllm_problem *problem,
                             const dllm_merge_buffers *buffers)
{
    dllm_merge_buffers copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, buffers, "buffers"));
    *out = (dllm_row_call){.rows = copy.rows,
                           .temperature = copy.temperature,
                           .states = copy.states,
                           .shards = copy.shards,
                           .shard_stride_bytes = copy.shard_stride_bytes,
                           DLLM_OUTPUT_BUFFERS(FROM_COPY)};
    DLLM_TRY(dllm__check_range("rows", out->rows, 0, problem->rows_max));
    if (out->rows == 0) return DLLM_OK;
    DLLM_TRY(dllm__check_range("shards", out->shards, 1, problem->shards_max));
    DLLM_TRY(check_inputs(problem, out));
    DLLM_TRY(check_states(problem, out));
    return check_outputs(problem, out);
}
