/*
 * bench_work.c - places operands, runs a plan on them, checks what it wrote
 */
#include "bench_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_exit.h"
#include "element_type.h"

enum { OUTPUTS = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE, COPIES_MAX = 256 };
enum {
    STATISTICS = DLLM_OUT_ENTROPY | DLLM_OUT_SECOND | DLLM_OUT_SECOND_ID | DLLM_OUT_TARGET_LOGPROB
};
enum { ENTROPY, SECOND, SECOND_ID, TARGET_LOGPROB, TARGET, GUMBEL_ID = ENTROPY }; /* work.more[] */
static const int64_t rotated_bytes = (int64_t)256 << 20; /* above twice the L2 of any GPU so far */
static const double logit_deviation = 2.0; /* confidences from 1e-4 up, as models give */

static void *allocate(device_memory *memory, int64_t bytes)
{
    void *pointer = device_allocate(memory, (size_t)bytes);
    if (!pointer)
        bench_fatal(BENCH_FAILED, "%lld bytes of device memory: %s", (long long)bytes,
                    memory->message);
    return pointer;
}

static void *allocate_host(int64_t bytes)
{
    void *pointer = malloc((size_t)bytes);
    if (!pointer) bench_fatal(BENCH_FAILED, "no host memory for %lld bytes", (long long)bytes);
    return pointer;
}

/* Device memory of that many elements, filled with the pattern again and again. */
static char *place(device_memory *memory, const bench_pattern *pattern, int64_t elements)
{
    const int64_t size = (int64_t)element_bytes(pattern->type);
    char *operand = allocate(memory, elements * size);
    const int64_t first = elements < BENCH_PERIOD ? elements : BENCH_PERIOD;
    bool placed = device_write(memory, operand, pattern->elements, (size_t)(first * size));
    /* twice as much each time, within the device: gigabytes would take seconds to send */
    for (int64_t done = first; placed && done < elements;) {
        const int64_t whole = done / BENCH_PERIOD * BENCH_PERIOD;
        const int64_t left = elements - done;
        const int64_t count = left < whole ? left : whole;
        placed = device_copy(memory, operand + done * size, operand, (size_t)(count * size));
        done += count;
    }
    if (!placed) bench_fatal(BENCH_FAILED, "filling an operand: %s", memory->message);
    return operand;
}

/* How many times `bytes` must be held to exceed the cache. */
static int64_t copies_beyond_cache(int64_t bytes)
{
    const int64_t copies = (rotated_bytes + bytes - 1) / bytes;
    return copies < COPIES_MAX ? copies : COPIES_MAX;
}

static void place_operands(bench_work *work)
{
    const bench_shape *shape = &work->shape;
    const int64_t size = (int64_t)element_bytes(shape->type);
    work->source_rows = shape->rows_most;
    if (shape->depth > 0) {
        bench_pattern_create(&work->hidden_pattern, shape->type, 1.0, 1);
        bench_pattern_create(&work->weight_pattern, shape->type,
                             logit_deviation / sqrt((double)shape->depth), 2);
        work->copies = copies_beyond_cache(shape->vocab * shape->depth * size);
        work->hidden = place(work->memory, &work->hidden_pattern, work->source_rows * shape->depth);
        work->weight =
            place(work->memory, &work->weight_pattern, work->copies * shape->vocab * shape->depth);
        return;
    }
    bench_pattern_create(&work->hidden_pattern, shape->type, logit_deviation, 3);
    const int64_t enough = (rotated_bytes + shape->vocab * size - 1) / (shape->vocab * size);
    if (enough > work->source_rows) work->source_rows = enough;
    work->hidden = place(work->memory, &work->hidden_pattern, work->source_rows * shape->vocab);
}

static void place_more(bench_work *work)
{
    static const uint64_t seed = 1;
    const size_t bytes = (size_t)work->shape.rows_most * 4;
    bool placed = true;
    work->seed = allocate(work->memory, sizeof seed);
    placed = device_write(work->memory, work->seed, &seed, sizeof seed);
    for (int i = 0; i < BENCH_MORE_ARRAYS; i++) {
        work->more[i] = allocate(work->memory, (int64_t)bytes);
        placed = placed && device_fill(work->memory, work->more[i], 0, bytes);
    }
    if (!placed) bench_fatal(BENCH_FAILED, "filling targets: %s", work->memory->message);
}

void bench_work_open(bench_work *out, device_memory *memory, dllm_context *context,
                     const bench_shape *shape, const int64_t *rows, int row_count)
{
    *out = (bench_work){.memory = memory, .context = context, .shape = *shape};
    place_operands(out);
    out->argmax = allocate(memory, shape->rows_most * 4);
    out->lse = allocate(memory, shape->rows_most * 4);
    out->confidence = allocate(memory, shape->rows_most * 4);
    place_more(out);
    out->outputs.argmax = allocate_host(shape->rows_most * 4);
    out->outputs.lse = allocate_host(shape->rows_most * 4);
    out->outputs.confidence = allocate_host(shape->rows_most * 4);
    out->reference.vocab = shape->vocab;
    out->reference.depth = shape->depth;
    bench_reference_add_row(&out->reference, 0);
    for (int i = 0; i < row_count; i++) {
        bench_reference_add_row(&out->reference, rows[i] / 2);
        bench_reference_add_row(&out->reference, rows[i] - 1);
    }
    bench_reference_compute(&out->reference, &out->hidden_pattern,
                            shape->depth > 0 ? &out->weight_pattern : NULL);
}

void bench_work_close(bench_work *work)
{
    device_free(work->memory, work->hidden);
    device_free(work->memory, work->weight);
    device_free(work->memory, work->argmax);
    device_free(work->memory, work->lse);
    device_free(work->memory, work->confidence);
    device_free(work->memory, work->seed);
    for (int i = 0; i < BENCH_MORE_ARRAYS; i++)
        device_free(work->memory, work->more[i]);
    free(work->outputs.argmax);
    free(work->outputs.lse);
    free(work->outputs.confidence);
    bench_reference_release(&work->reference);
    bench_pattern_release(&work->hidden_pattern);
    bench_pattern_release(&work->weight_pattern);
}

const void *bench_work_weight(const bench_work *work, int64_t turn)
{
    const int64_t elements = work->shape.vocab * work->shape.depth;
    return work->weight + turn % work->copies * elements * (int64_t)element_bytes(work->shape.type);
}

const void *bench_work_hidden(const bench_work *work, int64_t rows, int64_t turn)
{
    if (work->weight) return work->hidden;
    const int64_t starts = work->source_rows / rows; /* disjoint blocks of rows */
    return work->hidden +
           turn % starts * rows * work->shape.vocab * (int64_t)element_bytes(work->shape.type);
}

static uint32_t outputs_of(unsigned more)
{
    return OUTPUTS | (more & BENCH_MORE_STATISTICS ? STATISTICS : 0) |
           (more & BENCH_MORE_GUMBEL ? DLLM_OUT_GUMBEL_ID : 0);
}

static dllm_status prepare(bench_runner *runner, const char *family)
{
    const bench_work *work = runner->work;
    if (work->shape.depth > 0 && !runner->logits) {
        dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
        options.vocab = work->shape.vocab;
        options.depth = work->shape.depth;
        options.rows_max = runner->rows;
        options.hidden_type = options.weight_type = work->shape.type;
        options.outputs = outputs_of(runner->more);
        options.inputs = runner->more & BENCH_MORE_STATISTICS ? DLLM_IN_TARGET : 0;
        options.temperature = runner->more & BENCH_MORE_GUMBEL ? 1.0f : 0.0f;
        options.family = family;
        return dllm_head_prepare(&runner->plan, work->context, &options);
    }
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    options.vocab = work->shape.vocab;
    options.rows_max = runner->rows;
    options.logits_type = work->shape.type;
    options.outputs = outputs_of(runner->more);
    options.inputs = runner->more & BENCH_MORE_STATISTICS ? DLLM_IN_TARGET : 0;
    options.temperature = runner->more & BENCH_MORE_GUMBEL ? 1.0f : 0.0f;
    options.family = family;
    return dllm_sampler_prepare(&runner->plan, work->context, &options);
}

dllm_status bench_runner_open(bench_runner *runner, const char *family)
{
    const dllm_status status = prepare(runner, family);
    if (status != DLLM_OK) return status;
    runner->workspace_bytes = dllm_plan_workspace_bytes(runner->plan);
    runner->workspace = device_allocate(runner->work->memory, runner->workspace_bytes);
    if (runner->workspace) return DLLM_OK;
    bench_runner_close(runner);
    return DLLM_OUT_OF_MEMORY;
}

void bench_runner_close(bench_runner *runner)
{
    if (!runner->work) return;
    device_free(runner->work->memory, runner->workspace);
    dllm_plan_destroy(runner->plan);
    *runner = (bench_runner){0};
}

/* Both operations name their outputs and inputs alike. */
#define FILL_BUFFERS(buffers, runner)                                                              \
    do {                                                                                           \
        const bench_work *held = (runner)->work;                                                   \
        (buffers)->rows = (runner)->rows;                                                          \
        (buffers)->workspace = (runner)->workspace;                                                \
        (buffers)->workspace_bytes = (runner)->workspace_bytes;                                    \
        (buffers)->argmax = held->argmax;                                                          \
        (buffers)->lse = held->lse;                                                                \
        (buffers)->confidence = held->confidence;                                                  \
        (buffers)->entropy = held->more[ENTROPY];                                                  \
        (buffers)->second = held->more[SECOND];                                                    \
        (buffers)->second_id = held->more[SECOND_ID];                                              \
        (buffers)->target_logprob = held->more[TARGET_LOGPROB];                                    \
        (buffers)->gumbel_id = held->more[GUMBEL_ID];                                              \
        if ((runner)->more & BENCH_MORE_STATISTICS) (buffers)->target = held->more[TARGET];        \
        if ((runner)->more & BENCH_MORE_GUMBEL) (buffers)->seed = held->seed;                      \
    } while (0)

dllm_status bench_runner_run(const bench_runner *runner, int64_t turn)
{
    const bench_work *work = runner->work;
    if (work->shape.depth > 0 && !runner->logits) {
        dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
        FILL_BUFFERS(&buffers, runner);
        buffers.hidden = bench_work_hidden(work, runner->rows, turn);
        buffers.weight = bench_work_weight(work, turn);
        return dllm_head_run(runner->plan, &buffers, NULL);
    }
    dllm_sampler_buffers buffers = DLLM_SAMPLER_BUFFERS_INIT;
    FILL_BUFFERS(&buffers, runner);
    buffers.logits = runner->logits ? runner->logits : bench_work_hidden(work, runner->rows, turn);
    return dllm_sampler_run(runner->plan, &buffers, NULL);
}

int bench_work_check(bench_work *work, bench_variant *variant, int64_t rows, double rounding,
                     char *why, size_t why_bytes)
{
    const size_t bytes = (size_t)rows * 4;
    device_memory *memory = work->memory;
    /* all ones is no id and not a number, so an output that is not written is noticed */
    const bool poisoned = device_fill(memory, work->argmax, 0xff, bytes) &&
                          device_fill(memory, work->lse, 0xff, bytes) &&
                          device_fill(memory, work->confidence, 0xff, bytes) &&
                          device_wait(memory, NULL);
    if (poisoned && !variant->run(variant, 0)) {
        (void)snprintf(why, why_bytes, "%s", variant->why);
        return 1;
    }
    work->outputs.rows = rows;
    work->outputs.rounding = rounding;
    if (!poisoned || !device_wait(memory, NULL) ||
        !device_read(memory, work->outputs.argmax, work->argmax, bytes) ||
        !device_read(memory, work->outputs.lse, work->lse, bytes) ||
        !device_read(memory, work->outputs.confidence, work->confidence, bytes)) {
        (void)snprintf(why, why_bytes, "%s", memory->message);
        return 1;
    }
    return bench_reference_check(&work->reference, &work->outputs, why, why_bytes);
}
