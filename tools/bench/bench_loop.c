/*
 * bench_loop.c - see bench_loop.h
 */
#include "bench_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(bench_loop *loop, const char *reason)
{
    (void)snprintf(loop->why, sizeof loop->why, "%s", reason);
    return false;
}

static bool call(bench_loop *loop, dllm_status status)
{
    return status == DLLM_OK || fail(loop, dllm_last_error());
}

static bool device(bench_loop *loop, bool done)
{
    return done || fail(loop, loop->memory->message);
}

/* The rows are there already; the loop tells where it counts them. */
static int forward(void *user, dllm_trunk_call *given)
{
    bench_loop *loop = user;
    loop->rows_device = given->rows;
    return 0;
}

/* ---- open --------------------------------------------------------------------------------- */

static void set_sequences(bench_loop *loop, const dllm_sequence *like)
{
    const bench_loop_shape *shape = &loop->shape;
    for (int64_t s = 0; s < shape->canvases; s++) {
        dllm_sequence *sequence = &loop->sequences[s];
        *sequence = *like;
        sequence->canvas_offset = s * shape->length;
        sequence->prompt = shape->block;
        sequence->generate = shape->length - shape->block;
        sequence->block_length = shape->block;
        if (sequence->steps || sequence->steps_per_block)
            sequence->steps_per_block = (int32_t)shape->block;
        sequence->steps = 0;
        sequence->eos = &loop->eos;
        sequence->eos_count = 1;
    }
    for (int64_t i = 0; i < shape->canvases * shape->length; i++)
        loop->ids[i] = i % shape->length < shape->block ? i % 7 : loop->options.mask_id;
}

static bool set_options(bench_loop *loop, dllm_sequence *sequence)
{
    const bench_loop_shape *shape = &loop->shape;
    dllm_decode_options *options = &loop->options;
    if (!call(loop, dllm_decode_preset(options, sequence, shape->preset))) return false;
    if (options->draws || options->penalises)
        return fail(loop, "the head alone is not measured with draws and penalties");
    if (strcmp(shape->preset, "dream") == 0) {
        options->key = DLLM_KEY_NEG_ENTROPY;
        sequence->selection.name = DLLM_SELECTION_TOP_K;
    }
    options->head.vocab = shape->vocab;
    options->head.depth = loop->work->shape.depth;
    options->head.hidden_type = options->head.weight_type = loop->work->shape.type;
    options->mask_id = shape->vocab - 1;
    options->sequences_max = shape->canvases;
    options->length_max = shape->length;
    options->block_length_max = shape->block;
    options->id_type = DLLM_INT64;
    options->layout = options->shifted ? DLLM_HIDDEN_BLOCK_AND_BEFORE : DLLM_HIDDEN_BLOCK;
    options->trunk = forward;
    options->trunk_user = loop;
    loop->eos = shape->vocab - 2;
    return true;
}

static bool allocate(bench_loop *loop)
{
    const size_t ids = (size_t)(loop->shape.canvases * loop->shape.length);
    loop->ids = calloc(ids, sizeof *loop->ids);
    loop->sequences = calloc((size_t)loop->shape.canvases, sizeof *loop->sequences);
    if (!loop->ids || !loop->sequences) return fail(loop, "no host memory for the canvases");
    loop->canvas = device_allocate(loop->memory, ids * sizeof *loop->ids);
    loop->workspace = device_allocate(loop->memory, dllm_decode_workspace_bytes(loop->decode));
    return device(loop, loop->canvas && loop->workspace &&
                            device_stream_create(loop->memory, &loop->stream));
}

/* ---- rounds ------------------------------------------------------------------------------- */

bool bench_loop_begin(bench_loop *loop)
{
    const size_t ids = (size_t)(loop->shape.canvases * loop->shape.length);
    dllm_decode_buffers buffers = DLLM_DECODE_BUFFERS_INIT;
    buffers.canvas = loop->canvas;
    buffers.hidden = bench_work_hidden(loop->work, loop->work->shape.rows_most, 0);
    buffers.weight = bench_work_weight(loop->work, 0);
    buffers.workspace = loop->workspace;
    buffers.workspace_bytes = dllm_decode_workspace_bytes(loop->decode);
    return device(loop, device_wait(loop->memory, loop->stream) &&
                            device_write(loop->memory, loop->canvas, loop->ids,
                                         ids * sizeof *loop->ids)) &&
           call(loop, dllm_decode_begin(loop->decode, &buffers, loop->sequences,
                                        loop->shape.canvases, loop->stream));
}

bool bench_loop_replay(bench_loop *loop)
{
    if (!loop->graph) return call(loop, dllm_decode_step(loop->decode, loop->stream));
    return device(loop, device_graph_launch(loop->memory, loop->graph, loop->stream));
}

/* Is a sequence still in its first block? */
static bool is_inside(bench_loop *loop, bool *inside)
{
    dllm_sequence_status *status = calloc((size_t)loop->shape.canvases, sizeof *status);
    *inside = false;
    const bool read =
        status ? call(loop, dllm_decode_read(loop->decode, NULL, status, loop->shape.canvases))
               : fail(loop, "no host memory for the sequences");
    for (int64_t s = 0; read && s < loop->shape.canvases; s++)
        *inside |= status[s].state == DLLM_DECODE_RUNNING && status[s].block == 0;
    free(status);
    return read;
}

/* A round by single calls: how many steps, and the rows of each. */
static bool learn_round(bench_loop *loop)
{
    bool inside = true;
    if (!bench_loop_begin(loop)) return false;
    for (loop->steps = 0; inside; loop->steps++) {
        if (loop->steps == BENCH_LOOP_STEPS_MAX)
            return fail(loop, "a block takes too many steps to be measured");
        if (!call(loop, dllm_decode_step(loop->decode, loop->stream)) || !is_inside(loop, &inside))
            return false;
        if (!device(loop, device_read(loop->memory, &loop->rows[loop->steps], loop->rows_device,
                                      sizeof loop->rows[0])))
            return false;
    }
    return true;
}

static bool read_canvas(bench_loop *loop, int64_t *ids, size_t bytes)
{
    return device(loop, device_wait(loop->memory, loop->stream) &&
                            device_read(loop->memory, ids, loop->canvas, bytes));
}

static bool capture(bench_loop *loop)
{
    if (loop->memory->device == DLLM_DEVICE_CPU) return true;
    if (!bench_loop_begin(loop) || !device(loop, device_capture_begin(loop->memory, loop->stream)))
        return false;
    const bool taken = call(loop, dllm_decode_step(loop->decode, loop->stream));
    return device(loop, device_capture_end(loop->memory, loop->stream, &loop->graph)) && taken;
}

/* The round again, by replaying: the canvas must be the same. */
static bool check_replay(bench_loop *loop)
{
    const size_t bytes = (size_t)(loop->shape.canvases * loop->shape.length) * sizeof *loop->ids;
    int64_t *called = malloc(bytes), *replayed = malloc(bytes);
    bool same = called && replayed ? read_canvas(loop, called, bytes)
                                   : fail(loop, "no host memory for the canvases");
    same = same && capture(loop) && bench_loop_begin(loop);
    for (int i = 0; same && i < loop->steps; i++)
        same = bench_loop_replay(loop);
    same = same && read_canvas(loop, replayed, bytes);
    if (same && memcmp(called, replayed, bytes) != 0)
        same = fail(loop, "replayed steps leave another canvas than called ones");
    free(called);
    free(replayed);
    return same;
}

bool bench_loop_open(bench_loop *out, const bench_work *work, const bench_loop_shape *shape)
{
    dllm_sequence sequence;
    *out = (bench_loop){.work = work, .shape = *shape, .memory = work->memory};
    if (!set_options(out, &sequence) ||
        !call(out, dllm_decode_prepare(&out->decode, work->context, &out->options)) ||
        !allocate(out))
        return false;
    set_sequences(out, &sequence);
    return learn_round(out) && check_replay(out);
}

void bench_loop_close(bench_loop *loop)
{
    if (loop->stream) (void)device_wait(loop->memory, loop->stream);
    device_graph_destroy(loop->memory, loop->graph);
    device_stream_destroy(loop->memory, loop->stream);
    device_free(loop->memory, loop->canvas);
    device_free(loop->memory, loop->workspace);
    dllm_decode_destroy(loop->decode);
    free(loop->ids);
    free(loop->sequences);
}
