/*
 * decode_looping.c - the kind `loop` of a decode case: a whole decode, forward by forward
 *
 * The trunk gives a lane's table, the weight is the identity. What a forward read comes from the
 * trunk's call, what it changed from the canvas before and after.
 */
#include "decode_looping.h"

#include "decode_lanes.h"

#include <stdlib.h>
#include <string.h>

enum { FORWARDS_MAX = 32 };

/* What a forward did to a lane. */
typedef struct lane_forward {
    field_list read, committed, edited, canvas;
} lane_forward;

typedef struct looping {
    decode_checker *checker;
    decode_lanes lanes;
    dllm_decode *decode;
    int forward;
    /* on the device */
    int64_t *canvas;
    float *hidden;
    float *weight;
    uint32_t *noise, *positions;
    void *workspace;
    lane_forward did[LANES_MAX][FORWARDS_MAX];
    field_list unconditional; /* canvas of the first sequence, before its first forward */
    dllm_message trunk_message;
} looping;

static bool refuse(dllm_message *why)
{
    return DLLM_REFUSE(why, "%s", dllm_last_error());
}

/* ---- trunk -------------------------------------------------------------------------------- */

static bool note_reads(looping *work, const dllm_trunk_call *call)
{
    device_memory *memory = &work->checker->memory;
    const int shifted = work->lanes.options.shifted;
    dllm_sequence_status status[LANES_MAX];
    int32_t position[LANES_MAX * FIELD_LIST_MAX];
    int64_t rows = 0;
    int next = 0;
    if (!device_wait(memory, call->stream) ||
        !device_read(memory, &rows, call->rows, sizeof rows) ||
        !device_read(memory, status, call->status, (size_t)call->sequences * sizeof *status) ||
        !device_read(memory, position, call->row_position, (size_t)rows * sizeof *position))
        return DLLM_REFUSE(&work->trunk_message, "%s", memory->message);
    for (int s = 0; s < work->lanes.count; s++) {
        field_list *read = &work->did[s][work->forward].read;
        for (int i = 0; i < status[s].reads; i++) {
            const int q = position[next++];
            read->values[read->count++] = shifted && q > 0 ? q - 1 : q;
        }
    }
    return true;
}

/* Canvases of each sequence: guidance has two. */
static int copies_of(const looping *work)
{
    return work->lanes.options.guides ? 2 : 1;
}

static bool write_hidden(looping *work)
{
    const int length = work->lanes.length, vocab = work->lanes.vocab;
    const int canvases = work->lanes.count * copies_of(work);
    const size_t elements = (size_t)canvases * (size_t)length * (size_t)vocab;
    float *rows = calloc(elements, sizeof *rows);
    if (!rows) return DLLM_REFUSE(&work->trunk_message, "out of memory for hidden rows");
    for (int c = 0; c < canvases; c++)
        for (int q = 0; q < length; q++)
            for (int v = 0; v < vocab; v++) {
                const decode_lane *lane = &work->lanes.lanes[c % work->lanes.count];
                const json_t *row = decode_lane_row(lane, work->forward, c / work->lanes.count, q);
                rows[((size_t)c * (size_t)length + (size_t)q) * (size_t)vocab + (size_t)v] =
                    (float)field_value(json_array_get(row, (size_t)v), 0);
            }
    const bool done =
        device_write(&work->checker->memory, work->hidden, rows, elements * sizeof *rows);
    free(rows);
    return done || DLLM_REFUSE(&work->trunk_message, "%s", work->checker->memory.message);
}

/* The second canvas of the first forward, of a run that has one sequence. */
static bool note_unconditional(looping *work, const dllm_trunk_call *call)
{
    device_memory *memory = &work->checker->memory;
    const int count = work->lanes.lanes[0].canvas.count;
    int64_t ids[FIELD_LIST_MAX];
    if (call->copies != copies_of(work))
        return DLLM_REFUSE(&work->trunk_message, "copies are %d", call->copies);
    if (call->copies == 1 || work->forward > 0) return true;
    if (!device_read(memory, ids, call->unconditional, (size_t)count * sizeof *ids))
        return DLLM_REFUSE(&work->trunk_message, "%s", memory->message);
    work->unconditional.count = count;
    for (int q = 0; q < count; q++)
        work->unconditional.values[q] = (double)ids[q];
    return true;
}

static int forward(void *user, dllm_trunk_call *call)
{
    looping *work = user;
    return note_reads(work, call) && note_unconditional(work, call) && write_hidden(work) ? 0 : 1;
}

/* ---- noise -------------------------------------------------------------------------------- */

/* The words of this forward, of a run that has one sequence. */
static bool write_noise(looping *work, const json_t *run, dllm_message *why)
{
    const size_t length = (size_t)work->lanes.length, vocab = (size_t)work->lanes.vocab;
    const json_t *ids = json_array_get(json_object_get(run, "uniforms"), (size_t)work->forward);
    const json_t *order =
        json_array_get(json_object_get(run, "order_uniforms"), (size_t)work->forward);
    const double denominator = field_number(run, "uniform_den", 1);
    static uint32_t words[FIELD_LIST_MAX * FIELD_LIST_MAX * 2], own[FIELD_LIST_MAX * 2];
    if (!work->noise) return true;
    for (size_t q = 0; q < length; q++) {
        own[2 * q] = field_noise_word(json_array_get(order, q), denominator);
        for (size_t v = 0; v < vocab; v++)
            words[2 * (q * vocab + v)] =
                field_noise_word(json_array_get(json_array_get(ids, q), v), denominator);
    }
    device_memory *memory = &work->checker->memory;
    return (device_write(memory, work->noise, words, length * vocab * 8) &&
            device_write(memory, work->positions, own, length * 8)) ||
           DLLM_REFUSE(why, "%s", memory->message);
}

/* ---- steps -------------------------------------------------------------------------------- */

static void note_changes(looping *work, const int64_t *before, const int64_t *after)
{
    const int length = work->lanes.length;
    for (int s = 0; s < work->lanes.count; s++) {
        lane_forward *did = &work->did[s][work->forward];
        did->canvas.count = work->lanes.lanes[s].canvas.count;
        for (int q = 0; q < did->canvas.count; q++) {
            const int64_t was = before[s * length + q], is = after[s * length + q];
            field_list *list = was == work->lanes.options.mask_id ? &did->committed : &did->edited;
            did->canvas.values[q] = (double)is;
            if (was != is) list->values[list->count++] = q;
        }
    }
}

/* Takes a step; false as well when the run is over: *left is 0 then. */
static bool take_step(looping *work, const json_t *run, int *left, dllm_message *why)
{
    int64_t before[LANES_MAX * FIELD_LIST_MAX], after[LANES_MAX * FIELD_LIST_MAX];
    device_memory *memory = &work->checker->memory;
    const size_t bytes = (size_t)(work->lanes.count * work->lanes.length) * sizeof *before;
    dllm_batch_status batch = {.struct_size = sizeof batch};
    if (work->forward == FORWARDS_MAX) return DLLM_REFUSE(why, "no end after %d", FORWARDS_MAX);
    if (!write_noise(work, run, why)) return false;
    if (!device_read(memory, before, work->canvas, bytes))
        return DLLM_REFUSE(why, "%s", memory->message);
    if (dllm_decode_step(work->decode, NULL) != DLLM_OK ||
        dllm_decode_read(work->decode, &batch, NULL, 0) != DLLM_OK)
        return refuse(why);
    if (!device_read(memory, after, work->canvas, bytes))
        return DLLM_REFUSE(why, "%s", memory->message);
    note_changes(work, before, after);
    work->forward++;
    *left = batch.unfinished;
    return true;
}

/* ---- set-up ------------------------------------------------------------------------------- */

static void *place(looping *work, size_t bytes, bool *done)
{
    void *pointer = device_allocate(&work->checker->memory, bytes);
    *done = *done && pointer && device_fill(&work->checker->memory, pointer, 0, bytes);
    return pointer;
}

static bool write_constants(looping *work)
{
    const int vocab = work->lanes.vocab, length = work->lanes.length;
    float identity[FIELD_LIST_MAX * FIELD_LIST_MAX] = {0};
    int64_t ids[LANES_MAX * FIELD_LIST_MAX] = {0};
    for (int v = 0; v < vocab; v++)
        identity[v * vocab + v] = 1;
    for (int s = 0; s < work->lanes.count; s++)
        for (int q = 0; q < work->lanes.lanes[s].canvas.count; q++)
            ids[s * length + q] = field_whole(work->lanes.lanes[s].canvas.values[q]);
    return device_write(&work->checker->memory, work->weight, identity,
                        (size_t)(vocab * vocab) * sizeof *identity) &&
           device_write(&work->checker->memory, work->canvas, ids,
                        (size_t)(work->lanes.count * length) * sizeof *ids);
}

static bool make_memory(looping *work, dllm_message *why)
{
    const size_t rows = (size_t)work->lanes.count * (size_t)work->lanes.length;
    const size_t vocab = (size_t)work->lanes.vocab;
    bool done = true;
    work->canvas = place(work, rows * sizeof *work->canvas, &done);
    work->hidden =
        place(work, (size_t)copies_of(work) * rows * vocab * sizeof *work->hidden, &done);
    work->weight = place(work, vocab * vocab * sizeof *work->weight, &done);
    work->workspace = place(work, dllm_decode_workspace_bytes(work->decode), &done);
    if (work->lanes.options.head.inputs & DLLM_IN_NOISE) {
        work->noise = place(work, rows * vocab * 8, &done);
        work->positions = place(work, rows * 8, &done);
    }
    return (done && write_constants(work)) || DLLM_REFUSE(why, "%s", work->checker->memory.message);
}

static bool begin(looping *work, dllm_message *why)
{
    dllm_decode_options *options = &work->lanes.options;
    dllm_decode_buffers buffers = DLLM_DECODE_BUFFERS_INIT;
    dllm_sequence sequences[LANES_MAX];
    options->trunk = forward;
    options->trunk_user = work;
    options->id_type = DLLM_INT64;
    if (dllm_decode_prepare(&work->decode, work->checker->context, options) != DLLM_OK)
        return refuse(why);
    if (!make_memory(work, why)) return false;
    buffers.canvas = work->canvas;
    buffers.hidden = work->hidden;
    buffers.weight = work->weight;
    buffers.noise = work->noise;
    buffers.position_noise = work->positions;
    buffers.workspace = work->workspace;
    buffers.workspace_bytes = dllm_decode_workspace_bytes(work->decode);
    for (int s = 0; s < work->lanes.count; s++)
        sequences[s] = work->lanes.lanes[s].sequence;
    return dllm_decode_begin(work->decode, &buffers, sequences, work->lanes.count, NULL) ==
               DLLM_OK ||
           refuse(why);
}

static void release(looping *work)
{
    void *const blocks[] = {work->canvas, work->hidden,    work->weight,
                            work->noise,  work->positions, work->workspace};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        device_free(&work->checker->memory, blocks[i]);
    dllm_decode_destroy(work->decode);
    decode_lanes_release(&work->lanes);
    free(work);
}

/* ---- comparison --------------------------------------------------------------------------- */

/* Are lists of forwards by forward and lane, not of one lane? */
static bool is_by_lane(const looping *work, const json_t *expected)
{
    return work->lanes.count > 1 && !json_object_get(expected, "batch");
}

/* A list of forwards that is expected of lane s, or NULL. */
static const json_t *list_of(const json_t *expected, const char *name, int s)
{
    const json_t *batch = json_object_get(expected, "batch");
    return json_object_get(batch ? json_array_get(batch, (size_t)s) : expected, name);
}

/* Forward i of lane s in it. */
static const json_t *entry_of(const looping *work, const json_t *expected, const char *name, int s,
                              int i)
{
    const json_t *entry = json_array_get(list_of(expected, name, s), (size_t)i);
    return is_by_lane(work, expected) ? json_array_get(entry, (size_t)s) : entry;
}

/* Are the lanes of an answer those of the run? */
static bool same_lanes(const looping *work, const json_t *expected, dllm_message *why)
{
    static const char *const lists[] = {"batch", "batch_final"};
    static const char *const of_lanes[] = {"final", "selected", "mask_to_token", "token_to_token",
                                           "read",  "counts",   "batch_final",   "canvases"};
    const json_t *batch = json_object_get(expected, "batch");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *list = json_object_get(expected, lists[i]);
        if (list && json_array_size(list) != (size_t)work->lanes.count)
            return DLLM_REFUSE(why, "%s has %zu sequences, the run %d", lists[i],
                               json_array_size(list), work->lanes.count);
    }
    for (size_t i = 0; i < sizeof of_lanes / sizeof of_lanes[0]; i++)
        if (batch && json_object_get(expected, of_lanes[i]))
            return DLLM_REFUSE(why, "%s is expected beside batch, which has it", of_lanes[i]);
    for (size_t s = 0; s < json_array_size(batch); s++)
        if (json_object_size(json_array_get(batch, s)) == 0)
            return DLLM_REFUSE(why, "nothing is expected of sequence %zu", s);
    return true;
}

/* How many positions each forward commits. */
static bool same_counts(const looping *work, const json_t *expected, dllm_message *why)
{
    for (int s = 0; s < work->lanes.count; s++)
        for (int i = 0; list_of(expected, "counts", s) && i < FORWARDS_MAX; i++) {
            const double wanted = field_value(entry_of(work, expected, "counts", s, i), 0);
            if (work->did[s][i].committed.count != wanted)
                return DLLM_REFUSE(why, "sequence %d, forward %d: %d positions committed, not %g",
                                   s, i, work->did[s][i].committed.count, wanted);
        }
    return true;
}

/* What a forward leaves; behind the last canvas of the list nothing changes any more. */
static bool same_canvases(const looping *work, const json_t *expected, dllm_message *why)
{
    const int listed = (int)json_array_size(json_object_get(expected, "canvases"));
    if (!json_object_get(expected, "canvases")) return true;
    if (listed == 0 || listed > work->forward)
        return DLLM_REFUSE(why, "%d canvases are expected of %d forwards", listed, work->forward);
    for (int s = 0; s < work->lanes.count; s++)
        for (int i = 0; i < work->forward; i++) {
            const int place = i < listed ? i : listed - 1;
            json_t *wanted =
                json_pack("{s:O?}", "canvas", entry_of(work, expected, "canvases", s, place));
            dllm_message difference;
            const bool same = field_same(wanted, "canvas", &work->did[s][i].canvas, &difference);
            json_decref(wanted);
            if (!same)
                return DLLM_REFUSE(why, "sequence %d, forward %d: %.300s", s, i, difference.text);
        }
    return true;
}

/* Is an entry of lists by lane one of this run? */
static bool has_lanes(const looping *work, const json_t *expected, const char *name, int i)
{
    const json_t *entry = json_array_get(json_object_get(expected, name), (size_t)i);
    return !entry || !is_by_lane(work, expected) ||
           json_array_size(entry) == (size_t)work->lanes.count;
}

static bool same_lists(const looping *work, const json_t *expected, const char *name, size_t member,
                       dllm_message *why)
{
    for (int s = 0; s < work->lanes.count; s++)
        for (int i = 0; list_of(expected, name, s) && i < FORWARDS_MAX; i++) {
            const field_list *got =
                (const field_list *)(const void *)((const char *)&work->did[s][i] + member);
            const json_t *entry = entry_of(work, expected, name, s, i);
            json_t *wanted = json_pack("{s:O?}", name, entry);
            dllm_message difference;
            const bool same = entry ? field_same(wanted, name, got, &difference) : got->count == 0;
            json_decref(wanted);
            if (!has_lanes(work, expected, name, i))
                return DLLM_REFUSE(why, "forward %d: %s is not of %d sequences", i, name,
                                   work->lanes.count);
            if (!same)
                return DLLM_REFUSE(why, "sequence %d, forward %d: %.300s", s, i,
                                   entry ? difference.text : "more than wanted");
        }
    return true;
}

static bool same_ends(const looping *work, const json_t *expected, dllm_message *why)
{
    for (int s = 0; s < work->lanes.count; s++) {
        const json_t *finals = json_object_get(expected, "batch_final");
        const json_t *final =
            finals ? json_array_get(finals, (size_t)s) : list_of(expected, "final", s);
        json_t *wanted = json_pack("{s:O*}", "final", final);
        const field_list *last = work->forward > 0 ? &work->did[s][work->forward - 1].canvas
                                                   : &work->lanes.lanes[s].canvas;
        const bool same = field_same(wanted, "final", last, why);
        json_decref(wanted);
        if (!same) return false;
    }
    return true;
}

static bool compare(const looping *work, const json_t *expected, dllm_message *why)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    if (dllm_decode_read(work->decode, &batch, NULL, 0) != DLLM_OK) return refuse(why);
    return same_lanes(work, expected, why) && same_ends(work, expected, why) &&
           field_same(expected, "uncond_canvas_at_start", &work->unconditional, why) &&
           same_lists(work, expected, "selected", offsetof(lane_forward, committed), why) &&
           same_lists(work, expected, "mask_to_token", offsetof(lane_forward, committed), why) &&
           same_lists(work, expected, "token_to_token", offsetof(lane_forward, edited), why) &&
           same_lists(work, expected, "read", offsetof(lane_forward, read), why) &&
           same_counts(work, expected, why) && same_canvases(work, expected, why) &&
           field_near(expected, "forwards", batch.forwards, 0, why);
}

bool decode_looping_run(decode_checker *checker, const json_t *run, const json_t *expected,
                        dllm_message *why)
{
    looping *work = calloc(1, sizeof *work);
    int left = 1;
    if (!work) return DLLM_REFUSE(why, "out of memory for a loop");
    work->checker = checker;
    bool done = decode_lanes_read(&work->lanes, run, why) && begin(work, why);
    while (done && left > 0)
        done = take_step(work, run, &left, why);
    done = done && compare(work, expected, why);
    release(work);
    return done;
}
