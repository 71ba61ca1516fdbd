/*
 * decode_loop.c - the public calls of the decode loop: prepare, begin, steps, what came of them
 */
#include "decode.h"

#include "argument.h"
#include "decode_stages.h"
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

/* Host copies of what begin writes and read fetches. */
static dllm_status make_host_arrays(dllm_decode *decode)
{
    const size_t sequences = (size_t)decode->sizes.sequences_max;
    decode->rules = calloc(sequences, sizeof *decode->rules);
    decode->records = calloc(sequences, sizeof *decode->records);
    decode->suppress =
        calloc((size_t)decode->sizes.suppress_max + DLLM_LATE_IDS_MAX, sizeof *decode->suppress);
    if (decode->rules && decode->records && decode->suppress) return DLLM_OK;
    return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for %zu sequences", sequences);
}

dllm_status dllm_decode_prepare(dllm_decode **out, dllm_context *context,
                                const dllm_decode_options *options)
{
    dllm__clear_error();
    if (!out || !context)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", out ? "context" : "out");
    dllm_decode *decode = calloc(1, sizeof *decode);
    if (!decode) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a decode loop");
    decode->context = context;
    dllm_status status = dllm__decode_take_options(decode, options);
    if (status != DLLM_OK) goto done;
    status = make_host_arrays(decode);
    if (status != DLLM_OK) goto done;
    status = dllm_head_prepare(&decode->plan, context, &decode->head);
    if (status == DLLM_OK && decode->manner.publishes)
        status = dllm_head_prepare(&decode->second_plan, context, &decode->second);
    if (status != DLLM_OK) goto done;
    decode->stages = context->pool ? &dllm__decode_cpu : &dllm__decode_device;
    status = decode->stages->open(decode);
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
    if (decode->stages) decode->stages->close(decode);
    dllm_plan_destroy(decode->plan);
    dllm_plan_destroy(decode->second_plan);
    free(decode->rules);
    free(decode->records);
    free(decode->suppress);
    free(decode);
}

size_t dllm_decode_workspace_bytes(const dllm_decode *decode)
{
    return decode ? decode->workspace_bytes : 0;
}

dllm_status dllm_decode_info(const dllm_decode *decode, dllm_plan_information *out)
{
    DLLM_TRY(check_decode(decode));
    return dllm_plan_info(decode->plan, out);
}

/* ---- begin -------------------------------------------------------------------------------- */

static dllm_status check_buffers(const dllm_decode *decode, const dllm_decode_buffers *buffers)
{
    const bool has_noise = decode->head.inputs & DLLM_IN_NOISE;
    const struct {
        const char *name;
        const void *pointer;
        unsigned element_bytes;
        bool wanted;
    } pointers[] = {
        {"canvas", buffers->canvas, decode->options.id_type == DLLM_INT64 ? 8 : 4, true},
        {"weight", buffers->weight, 1, true},
        {"bias", buffers->bias, 4, decode->head.inputs & DLLM_IN_BIAS},
        {"suppress", buffers->suppress, 8, buffers->suppress_count > 0},
        {"noise", buffers->noise, 4, has_noise},
        {"position_noise", buffers->position_noise, 4, has_noise},
        {"workspace", buffers->workspace, 1, true},
    };
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        if (!pointers[i].wanted) continue;
        if (!pointers[i].pointer)
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", pointers[i].name);
        if ((uintptr_t)pointers[i].pointer % pointers[i].element_bytes)
            return dllm__fail(DLLM_INVALID_ARGUMENT,
                              "%s at %p is not aligned to its elements of %u bytes",
                              pointers[i].name, pointers[i].pointer, pointers[i].element_bytes);
    }
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

static dllm_status make_call(dllm_row_call *out, const dllm_plan *plan,
                             const dllm_head_buffers *buffers)
{
    return dllm__head_call(out, &plan->problem, plan->workspace_bytes, buffers);
}

/* What a step would say of the head's buffers; without `hidden`, which the trunk may bring, nothing. */
static dllm_status check_head(const dllm_decode *decode)
{
    dllm_row_call call;
    if (!decode->buffers.hidden) return DLLM_OK;
    return make_call(&call, decode->plan, &decode->buffers);
}

/* Rules and records of the sequences, on the host; batch->unfinished counts them. */
static dllm_status take_sequences(dllm_decode *decode, dllm_batch_record *batch,
                                  const dllm_sequence *sequences)
{
    for (int32_t s = 0; s < decode->count; s++) {
        DLLM_TRY(dllm__decode_take_sequence(&decode->rules[s], decode, &sequences[s], s));
        decode->records[s] =
            (dllm_sequence_record){.block = -1, .error_position = -1, .error_step = -1};
        if (sequences[s].inactive) decode->records[s].state = DLLM_RECORD_INACTIVE;
        batch->unfinished += !sequences[s].inactive;
    }
    return DLLM_OK;
}

/* The caller's suppressed ids, and the mask; behind them what the second pass leaves out as well. */
static void take_suppressed(dllm_decode *decode, const dllm_decode_buffers *buffers)
{
    const size_t count = (size_t)buffers->suppress_count;
    if (count > 0) memcpy(decode->suppress, buffers->suppress, count * sizeof *decode->suppress);
    decode->buffers.suppress_count = buffers->suppress_count;
    if (decode->options.mask_rule == DLLM_MASK_SUPPRESS)
        decode->suppress[decode->buffers.suppress_count++] = decode->manner.mask_id;
    decode->second_buffers.suppress_count = decode->buffers.suppress_count;
    for (int32_t i = 0; i < decode->late_suppressed; i++)
        decode->suppress[decode->second_buffers.suppress_count++] = decode->manner.late[1 + i];
}

/* What the host has made of a run, to where its steps read it. */
static dllm_status write_run(dllm_decode *decode, const dllm_batch_record *batch,
                             dllm_stream stream)
{
    const size_t count = (size_t)decode->count;
    const size_t suppressed = (size_t)decode->second_buffers.suppress_count;
    const dllm_decode_params *params = &decode->params;
    const struct {
        void *to;
        const void *from;
        size_t bytes;
    } parts[] = {{params->rules, decode->rules, count * sizeof *decode->rules},
                 {params->records, decode->records, count * sizeof *decode->records},
                 {params->batch, batch, sizeof *batch},
                 {decode->suppress_place, decode->suppress, suppressed * sizeof *decode->suppress}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        DLLM_TRY(decode->stages->write(decode, parts[i].to, parts[i].from, parts[i].bytes, stream));
    return DLLM_OK;
}

dllm_status dllm_decode_begin(dllm_decode *decode, const dllm_decode_buffers *buffers,
                              const dllm_sequence *sequences, int64_t count, dllm_stream stream)
{
    dllm_decode_buffers given;
    dllm_batch_record batch = {0};
    DLLM_TRY(check_decode(decode));
    DLLM_TRY(dllm__take_struct(&given, sizeof given, buffers, "buffers"));
    DLLM_TRY(check_buffers(decode, &given));
    DLLM_TRY(dllm__check_range("count", count, 1, decode->sizes.sequences_max));
    if (!sequences) return dllm__fail(DLLM_INVALID_ARGUMENT, "sequences is NULL");
    decode->has_begun = false;
    decode->count = (int32_t)count;
    decode->trunk_code = 0;
    decode->stream = stream;
    atomic_store(&decode->view->cancel, 0);
    DLLM_TRY(take_sequences(decode, &batch, sequences));
    dllm__decode_lay_out(decode, &given);
    decode->buffers.hidden = given.hidden;
    take_suppressed(decode, &given);
    DLLM_TRY(check_head(decode));
    DLLM_TRY(write_run(decode, &batch, stream));
    DLLM_TRY(decode->stages->start(decode, stream));
    decode->has_begun = true;
    return DLLM_OK;
}

/* ---- steps -------------------------------------------------------------------------------- */

static dllm_status call_trunk(dllm_decode *decode, dllm_stream stream)
{
    const dllm_decode_params *params = &decode->params;
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
        .copies = decode->options.guides ? 2 : 1,
        .unconditional = params->unconditional,
        .unconditional_stride = decode->options.guides ? params->length_max : 0,
    };
    decode->trunk_code = decode->options.trunk(decode->options.trunk_user, &call);
    decode->buffers.hidden = call.hidden;
    if (decode->trunk_code == 0) return DLLM_OK;
    return dllm__fail(DLLM_INCOMPLETE, "the trunk returned %d", decode->trunk_code);
}

/* The head's pass over the rows of a step, and that of published confidences. */
static dllm_status run_head(dllm_decode *decode, dllm_stream stream)
{
    dllm_row_call call;
    DLLM_TRY(make_call(&call, decode->plan, &decode->buffers));
    DLLM_TRY(dllm__plan_run(decode->plan, &call, stream));
    if (!decode->second_plan) return DLLM_OK;
    decode->second_buffers.hidden = decode->buffers.hidden;
    DLLM_TRY(make_call(&call, decode->second_plan, &decode->second_buffers));
    return dllm__plan_run(decode->second_plan, &call, stream);
}

static dllm_status take_step(dllm_decode *decode, dllm_stream stream)
{
    decode->stream = stream;
    DLLM_TRY(decode->stages->list(decode, stream));
    if (decode->stages->is_over(decode)) return DLLM_OK;
    DLLM_TRY(call_trunk(decode, stream));
    DLLM_TRY(run_head(decode, stream));
    return decode->stages->select(decode, stream);
}

dllm_status dllm_decode_step(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    return take_step(decode, stream);
}

static dllm_status read_records(dllm_decode *decode, dllm_stream stream)
{
    return decode->stages->read(decode, decode->records, decode->params.records,
                                (size_t)decode->count * sizeof *decode->records, stream);
}

/* Has every sequence ended as it should? */
static dllm_status judge_run(dllm_decode *decode, dllm_stream stream)
{
    static const char *const states[] = {
        "running",     "done",   "done at an end of sequence", "without progress", "unusable row",
        "not covered", "bad row"};
    DLLM_TRY(read_records(decode, stream));
    for (int32_t s = 0; s < decode->count; s++) {
        const dllm_sequence_record *record = &decode->records[s];
        if (record->state <= DLLM_RECORD_DONE_EOS || record->state == DLLM_RECORD_INACTIVE)
            continue;
        if (record->state == DLLM_RECORD_CANCELLED)
            return dllm__fail(DLLM_INCOMPLETE, "sequence %d: cancelled after %d forwards", s,
                              record->forwards);
        return dllm__fail(DLLM_INCOMPLETE, "sequence %d: %s at position %d in forward %d", s,
                          states[record->state], record->error_position, record->error_step);
    }
    return DLLM_OK;
}

/* One step, and how it leaves the batch into the view. */
static dllm_status take_noted_step(dllm_decode *decode, int slot, dllm_stream stream)
{
    DLLM_TRY(take_step(decode, stream));
    return decode->stages->note(decode, slot, stream);
}

/* Steps, at most `ahead` of them beyond the last that was seen to leave something to do. */
static dllm_status run_ahead(dllm_decode *decode, int ahead, dllm_stream stream)
{
    const int slots = ahead + 1;
    dllm_status status = decode->stages->note(decode, 0, stream);
    for (int64_t step = 1; status == DLLM_OK; step++) {
        const int oldest = (int)(step % slots); /* its step is `ahead` before the last */
        if (step > ahead) status = decode->stages->see(decode, oldest);
        if (step > ahead && decode->view->batch[oldest].unfinished == 0) break;
        if (status == DLLM_OK) status = take_noted_step(decode, (int)(step % slots), stream);
    }
    return status;
}

dllm_status dllm_decode_run(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    /* the CPU has nothing to overlap */
    const int ahead = decode->context->pool ? 0 : decode->options.lookahead;
    DLLM_TRY(run_ahead(decode, ahead, stream));
    return judge_run(decode, stream);
}

/* Sequences that are still in a block of the list. */
static bool is_inside(const dllm_decode *decode, const int32_t *blocks)
{
    for (int32_t s = 0; s < decode->count; s++) {
        const dllm_sequence_record *record = &decode->records[s];
        if (record->state == DLLM_RECORD_RUNNING && record->block == blocks[s]) return true;
    }
    return false;
}

dllm_status dllm_decode_block(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    DLLM_TRY(read_records(decode, stream));
    dllm_status status = DLLM_OK;
    int32_t *blocks = calloc((size_t)decode->count, sizeof *blocks);
    if (!blocks) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the blocks' numbers");
    for (int32_t s = 0; s < decode->count; s++)
        blocks[s] = decode->records[s].block;
    while (status == DLLM_OK && is_inside(decode, blocks)) {
        status = take_step(decode, stream);
        if (status == DLLM_OK) status = read_records(decode, stream);
    }
    free(blocks);
    return status == DLLM_OK ? judge_run(decode, stream) : status;
}

void dllm_decode_cancel(dllm_decode *decode)
{
    if (decode) atomic_store(&decode->view->cancel, 1);
}

dllm_status dllm_decode_resume(dllm_decode *decode, dllm_stream stream)
{
    DLLM_TRY(check_begun(decode));
    atomic_store(&decode->view->cancel, 0);
    return decode->stages->start(decode, stream);
}

/* ---- what came of it ---------------------------------------------------------------------- */

dllm_status dllm_decode_read(dllm_decode *decode, dllm_batch_status *batch,
                             dllm_sequence_status *sequences, int64_t count)
{
    dllm_batch_record record;
    DLLM_TRY(check_begun(decode));
    DLLM_TRY(dllm__check_range("count", count, 0, decode->count));
    DLLM_TRY(
        decode->stages->read(decode, &record, decode->params.batch, sizeof record, decode->stream));
    const dllm_batch_status status = {.struct_size = sizeof status,
                                      .unfinished = record.unfinished,
                                      .forwards = record.forwards,
                                      .idle_forwards = record.idle_forwards,
                                      .trunk_code = decode->trunk_code,
                                      .traced = record.traced};
    if (batch) DLLM_TRY(dllm__give_struct(batch, &status, sizeof status));
    if (!sequences) return DLLM_OK;
    return decode->stages->read(decode, sequences, decode->params.records,
                                (size_t)count * sizeof *sequences, decode->stream);
}

dllm_status dllm_decode_trace(dllm_decode *decode, dllm_trace_record *records, int64_t from,
                              int64_t count)
{
    dllm_batch_record batch;
    DLLM_TRY(check_begun(decode));
    DLLM_TRY(
        decode->stages->read(decode, &batch, decode->params.batch, sizeof batch, decode->stream));
    const int64_t most = decode->sizes.trace_max;
    const int64_t kept = batch.traced < most ? batch.traced : most;
    DLLM_TRY(dllm__check_range("from", from, 0, kept));
    DLLM_TRY(dllm__check_range("count", count, 0, kept - from));
    if (count == 0) return DLLM_OK;
    if (!records) return dllm__fail(DLLM_INVALID_ARGUMENT, "records is NULL");
    return decode->stages->read(decode, records, decode->params.trace + from,
                                (size_t)count * sizeof *records, decode->stream);
}
