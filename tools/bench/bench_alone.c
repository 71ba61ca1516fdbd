/*
 * bench_alone.c - see bench_alone.h
 */
#include "bench_alone.h"

#include <stdio.h>

enum { ARGMAX, CONFIDENCE, FLAGS, ENTROPY, MARGIN };

static bool call(bench_alone *alone, dllm_status status)
{
    if (status == DLLM_OK) return true;
    (void)snprintf(alone->loop->why, sizeof alone->loop->why, "the head alone: %s",
                   dllm_last_error());
    return false;
}

static bool device(bench_alone *alone, bool done)
{
    if (done) return true;
    (void)snprintf(alone->loop->why, sizeof alone->loop->why, "the head alone: %s",
                   alone->loop->memory->message);
    return false;
}

/* What the loop asks of its head, but for the row index. */
static dllm_head_options options_of(const bench_loop *loop)
{
    dllm_head_options options = loop->options.head;
    const dllm_key_name key = loop->options.key;
    options.rows_max = loop->shape.canvases * loop->shape.block;
    options.id_type = options.index_type = DLLM_INT64;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
    if (key == DLLM_KEY_ENTROPY || key == DLLM_KEY_NEG_ENTROPY) options.outputs |= DLLM_OUT_ENTROPY;
    if (key == DLLM_KEY_MARGIN) options.outputs |= DLLM_OUT_MARGIN;
    options.inputs = DLLM_IN_ROWS_DEVICE | DLLM_IN_SUPPRESS;
    options.behaviour |= loop->options.tempered ? DLLM_TEMPERED : 0U;
    options.suppress_max = 1;
    return options;
}

static bool run(bench_alone *alone, int step)
{
    const bench_loop *loop = alone->loop;
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = loop->shape.canvases * loop->shape.block;
    buffers.hidden = bench_work_hidden(loop->work, loop->work->shape.rows_most, 0);
    buffers.weight = bench_work_weight(loop->work, 0);
    buffers.workspace = alone->workspace;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(alone->plan);
    buffers.argmax = alone->outputs[ARGMAX];
    buffers.confidence = alone->outputs[CONFIDENCE];
    buffers.flags = alone->outputs[FLAGS];
    buffers.entropy = alone->outputs[ENTROPY];
    buffers.margin = alone->outputs[MARGIN];
    buffers.rows_device = alone->rows + step;
    buffers.suppress = alone->suppress;
    buffers.suppress_count = 1;
    return call(alone, dllm_head_run(alone->plan, &buffers, loop->stream));
}

static bool allocate(bench_alone *alone)
{
    const bench_loop *loop = alone->loop;
    const size_t rows = (size_t)(loop->shape.canvases * loop->shape.block);
    const size_t row_bytes = (size_t)loop->steps * sizeof loop->rows[0];
    bool there = true;
    for (int i = 0; i < BENCH_ALONE_OUTPUTS; i++) {
        alone->outputs[i] = device_allocate(loop->memory, rows * sizeof(int64_t));
        there = there && alone->outputs[i];
    }
    alone->workspace = device_allocate(loop->memory, dllm_plan_workspace_bytes(alone->plan));
    alone->suppress = device_allocate(loop->memory, sizeof loop->options.mask_id);
    alone->rows = device_allocate(loop->memory, row_bytes);
    there = there && alone->workspace && alone->suppress && alone->rows &&
            device_write(loop->memory, alone->suppress, &loop->options.mask_id,
                         sizeof loop->options.mask_id) &&
            device_write(loop->memory, alone->rows, loop->rows, row_bytes);
    return device(alone, there);
}

static bool capture(bench_alone *alone, int step)
{
    const bench_loop *loop = alone->loop;
    if (!device(alone, device_capture_begin(loop->memory, loop->stream))) return false;
    const bool taken = run(alone, step);
    return device(alone, device_capture_end(loop->memory, loop->stream, &alone->graphs[step])) &&
           taken;
}

bool bench_alone_open(bench_alone *out, bench_loop *loop)
{
    const dllm_head_options options = options_of(loop);
    *out = (bench_alone){.loop = loop};
    if (!call(out, dllm_head_prepare(&out->plan, loop->work->context, &options)) || !allocate(out))
        return false;
    bool captured = run(out, 0); /* what is loaded at a first launch is loaded now */
    for (int i = 0; captured && loop->graph && i < loop->steps; i++)
        captured = capture(out, i);
    return captured;
}

void bench_alone_close(bench_alone *alone)
{
    device_memory *memory = alone->loop->memory;
    for (int i = 0; i < alone->loop->steps; i++)
        device_graph_destroy(memory, alone->graphs[i]);
    for (int i = 0; i < BENCH_ALONE_OUTPUTS; i++)
        device_free(memory, alone->outputs[i]);
    device_free(memory, alone->workspace);
    device_free(memory, alone->suppress);
    device_free(memory, alone->rows);
    dllm_plan_destroy(alone->plan);
}

bool bench_alone_replay(bench_alone *alone, int step)
{
    bench_loop *loop = alone->loop;
    if (!loop->graph) return run(alone, step);
    return device(alone, device_graph_launch(loop->memory, alone->graphs[step], loop->stream));
}
