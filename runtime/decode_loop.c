/*
 * decode_loop.c - the public calls of the decode loop: prepare, begin, steps, what came of them
 */
#include "decode.h"

#include "argument.h"
#include "decode_cpu.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(dllm_sequence_status) == sizeof(dllm_sequence_record) &&
                   offsetof(dllm_sequence_status, end) == offsetof(dllm_sequence_record, end) &&
                   offsetof(dllm_sequence_status, error_step) ==
                       offsetof(dllm_sequence_record, error_step) &&
                   offsetof(dllm_sequence_status, reads) == offsetof(dllm_sequence_record, reads),
               "a record is a public status");
_Static_assert((int)DLLM_DECODE_INACTIVE == (int)DLLM_RECORD_INACTIVE &&
                   (int)DLLM_PHASE_PERSIST == (int)DLLM_FORWARD_PERSIST,
               "one numbering of states and phases");
_Static_assert(sizeof(dllm_trace_record) == sizeof(dllm_change) &&
                   offsetof(dllm_trace_record, key) == offsetof(dllm_change, key) &&
                   (int)DLLM_TRACE_STEP == (int)DLLM_CHANGE_STEP,
               "a change is a public trace record");

/* ---- prepare ------------------------------------------------------------------------------ */

static dllm_status check_decode(const dllm_decode *decode)
{
    dllm__clear_error();
    return decode ? DLLM_OK : dllm__fail(DLLM_INVALID_ARGUMENT, "decode is NULL");
}

static dllm_status check_begun(const dllm_decode *decode)
{
    DLLM_TRY(check_decode(decode));
    return decode->has_begun ? DLLM_OK
                             : dllm__fail(DLLM_INVALID_ARGUMENT, "decode has not begun a run");
}

dllm_status dllm_decode_prepare(dllm_decode **out, dllm_context *context,
                                const dllm_decode_options *options)
{
    dllm__clear_error();
    if (!out || !context)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", out ? "context" : "out");
    if (!context->pool)
        return dllm__fail(DLLM_UNSUPPORTED, "decode on a GPU is not implemented in version %s",
                          dllm_version());
    dllm_decode *decode = calloc(1, sizeof *decode);
    if (!decode) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a decode loop");
    decode->context = context;
    dllm_status status = dllm__decode_take_options(decode, options);
    if (status != DLLM_OK) goto done;
    status = dllm_head_prepare(&decode->plan, context, &decode->head);
    if (status != DLLM_OK) goto done;
    decode->workspace_bytes = dllm__decode_memory_bytes(decode);
    *out = decode;
    decode = NULL;
done:
    dllm_decode_destroy(decode);
    return status;
}

void dllm_decode_destroy(dllm_decode *decode)
{
    if (!decode) return;
    dllm_plan_destroy(decode->plan);
    free(decode);
}

size_t dllm_decode_workspace_bytes(const dllm_decode *decode)
{
    return decode ? decode->workspace_bytes : 0;
}

/* ---- begin -------------------------------------------------------------------------------- */

static dllm_status check_buffers(const dllm_decode *decode, const dllm_decode_buffers *buffers)
{
    const bool has_noise = decode->head.inputs & DLLM_IN_NOISE;
    const struct {
        const char *name;
        const void *pointer;
        bool wanted;
    } pointers[] = {
        {"canvas", buffers->canvas, true},
        {"weight", buffers->weight, true},
        {"bias", buffers->bias, decode->head.inputs & DLLM_IN_BIAS},
        {"suppress", buffers->suppress, buffers->suppress_count > 0},
        {"noise", buffers->noise, has_noise},
        {"position_noise", buffers->position_noise, has_noise},
        {"workspace", buffers->workspace, true},
    };
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++)
        if (pointers[i].wanted && !pointers[i].pointer)
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", pointers[i].name);
    if (!has_noise && (buffers->noise || buffers->position_noise))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "noise is given, but the loop was not prepared "
                                                 "for that input");
    DLLM_TRY(dllm__check_range("suppress_count", buffers->suppress_count, 0,
                               decode->options.head.suppress_max));
    if (buffers->workspace_bytes < decode->workspace_bytes)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "workspace_bytes %zu is below the loop's %zu",
                          buffers->workspace_bytes, decode->workspace_bytes);
    return DLLM_OK;
}

/* Rules and records of the sequences, on the host; *unfinished counts. */
static dllm_status take_sequences(dllm_decode *decode, dllm_sequence_rules *rules,
                                  dllm_sequence_record *records, const dllm_sequence *sequences,
                                  dllm_batch_record *batch)
{
    for (int32_t s = 0; s < decode->count; s++) {
        DLLM_TRY(dllm__decode_take_sequence(&rules[s], decode, &sequences[s], s));
        records[s] = (dllm_sequence_record){.block = -1, .error_position = -1, .error_step = -1};
        if (sequences[s].inactive) records[s].state = DLLM_RECORD_INACTIVE;
        batch->unfinished += !sequences[s].inactive;
    }
    return DLLM_OK;
}

/* The caller's suppressed ids, and the mask. */
static void take_suppressed(dllm_decode *decode, int64_t *place, const dllm_decode_buffers *buffers)
{
    const size_t count = (size_t)buffers->suppress_count;
    if (count > 0) memcpy(place, buffers->suppress, count * sizeof *place);
    decode->buffers.suppress_count = buffers->suppress_count;
    if (decode->options.mask_rule != DLLM_MASK_SUPPRESS) return;
    place[count] = decode->manner.mask_id;
    decode->buffers.suppress_count++;
}

dllm_status dllm_decode_begin(dllm_decode *decode, const dllm_decode_buffers *buffers,
                              const dllm_sequence *sequences, int64_t count, dllm_stream stream)
{
    dllm_decode_buffers given;
    DLLM_TRY(check_decode(decode));
    DLLM_TRY(dllm__take_struct(&given, sizeof given, buffers, "buffers"));
    DLLM_TRY(check_buffers(decode, &given));
    DLLM_TRY(dllm__check_range("count", count, 1, decode->sizes.sequences_max));
    if (!sequences) return dllm__fail(DLLM_INVALID_ARGUMENT, "sequences is NULL");
    (void)stream;
    decode->has_begun = false;
    decode->count = (int32_t)count;
    decode->trunk_code = 0;
    atomic_store(&decode->cancel, 0);
    dllm__decode_lay_out(decode, &given);
    dllm_step_params *params = &decode->params;
    params->cancel = &decode->cancel_seen;
    decode->buffers.hidden = given.hidden;
    *params->batch = (dllm_batch_record){0};
    DLLM_TRY(take_sequences(decode, (dllm_sequence_rules *)params->rules, params->records,
                            sequences, params->batch));
    take_suppressed(decode, (int64_t *)decode->buffers.suppress, &given);
    dllm__decode_cpu_start(params);
    decode->has_begun = true;
    return DLLM_OK;
}

/* ---- steps -------------------------------------------------------------------------------- */

static dllm_status call_trunk(dllm_decode *decode, dllm_stream stream)
{
    const dllm_step_params *params = &decode->params;
    dllm_trunk_call call = {
        .struct_size = sizeof call,
        .canvas = params->canvas,
        .sequences = decode->count,
        .status = (const dllm_sequence_status *)(const void *)params->records,
        .rows = &params->batch->rows,
        .row_position = params->rows.position,
        .rows_max = decode->sizes.rows_max,
        .hidden = decode->buffers.hidden,
        .stream = stream,
    };
    decode->trunk_code = decode->options.trunk(decode->options.trunk_user, &call);
    decode->buffers.hidden = call.hidden;
    if (decode->trunk_code == 0) return DLLM_OK;
    return dllm__fail(DLLM_INCOMPLETE, "the trunk returned %d", decode->trunk_code);
}

static dllm_status take_step(dllm_decode *decode, dllm_stream stream)
{
    dllm_row_call call;
    decode->cancel_seen = atomic_load(&decode->cancel);
    dllm__decode_cpu_list(&decode->params);
    if (decode->params.batch->unfinished == 0) return DLLM_OK;
    DLLM_TRY(call_trunk(decode, stream));
    DLLM_TRY(dllm__head_call(&call, &decode->plan->problem, decode->plan->workspace_bytes,
                             &decode->buffers));
    DLLM_TRY(dllm__plan_run(decode->plan, &call, stream));
    dllm__decode_cpu_select(&decode->params);
    return DLLM_OK;
}

dllm_status dllm_decode_step(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    return take_step(decode, stream);
}

/* Has every sequence ended as it should? */
static dllm_status judge_run(const dllm_decode *decode)
{
    static const char *const states[] = {
        "running",          "done",         "done at an end of sequence",
        "without progress", "unusable row", "not covered",
        "bad row",          "cancelled"};
    for (int32_t s = 0; s < decode->count; s++) {
        const dllm_sequence_record *record = &decode->params.records[s];
        if (record->state <= DLLM_RECORD_DONE_EOS || record->state == DLLM_RECORD_INACTIVE)
            continue;
        return dllm__fail(DLLM_INCOMPLETE, "sequence %d: %s at position %d in forward %d", s,
                          states[record->state], record->error_position, record->error_step);
    }
    return DLLM_OK;
}

dllm_status dllm_decode_run(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    while (decode->params.batch->unfinished > 0)
        DLLM_TRY(take_step(decode, stream));
    return judge_run(decode);
}

/* Sequences that are still in a block of the list. */
static bool is_inside(const dllm_decode *decode, const int32_t *blocks)
{
    for (int32_t s = 0; s < decode->count; s++) {
        const dllm_sequence_record *record = &decode->params.records[s];
        if (record->state == DLLM_RECORD_RUNNING && record->block == blocks[s]) return true;
    }
    return false;
}

dllm_status dllm_decode_block(dllm_decode *decode, dllm_stream stream)
{
    dllm_status status = DLLM_OK;
    DLLM_TRY(check_begun(decode));
    int32_t *blocks = calloc((size_t)decode->count, sizeof *blocks);
    if (!blocks) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the blocks' numbers");
    for (int32_t s = 0; s < decode->count; s++)
        blocks[s] = decode->params.records[s].block;
    while (status == DLLM_OK && is_inside(decode, blocks))
        status = take_step(decode, stream);
    free(blocks);
    return status == DLLM_OK ? judge_run(decode) : status;
}

void dllm_decode_cancel(dllm_decode *decode)
{
    if (decode) atomic_store(&decode->cancel, 1);
}

dllm_status dllm_decode_resume(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    (void)stream;
    atomic_store(&decode->cancel, 0);
    dllm__decode_cpu_start(&decode->params);
    return DLLM_OK;
}

/* ---- what came of it ---------------------------------------------------------------------- */

dllm_status dllm_decode_read(dllm_decode *decode, dllm_batch_status *batch,
                             dllm_sequence_status *sequences, int64_t count)
{
    DLLM_TRY(check_begun(decode));
    DLLM_TRY(dllm__check_range("count", count, 0, decode->count));
    const dllm_batch_record *record = decode->params.batch;
    const dllm_batch_status status = {.struct_size = sizeof status,
                                      .unfinished = record->unfinished,
                                      .forwards = record->forwards,
                                      .idle_forwards = record->idle_forwards,
                                      .trunk_code = decode->trunk_code,
                                      .traced = record->traced};
    if (batch) DLLM_TRY(dllm__give_struct(batch, &status, sizeof status));
    if (sequences && count > 0)
        memcpy(sequences, decode->params.records, (size_t)count * sizeof *sequences);
    return DLLM_OK;
}

dllm_status dllm_decode_trace(dllm_decode *decode, dllm_trace_record *records, int64_t from,
                              int64_t count)
{
    DLLM_TRY(check_begun(decode));
    const int64_t traced = decode->params.batch->traced, most = decode->sizes.trace_max;
    const int64_t kept = traced < most ? traced : most;
    DLLM_TRY(dllm__check_range("from", from, 0, kept));
    DLLM_TRY(dllm__check_range("count", count, 0, kept - from));
    if (count == 0) return DLLM_OK;
    if (!records) return dllm__fail(DLLM_INVALID_ARGUMENT, "records is NULL");
    memcpy(records, decode->params.trace + from, (size_t)count * sizeof *records);
    return DLLM_OK;
}
