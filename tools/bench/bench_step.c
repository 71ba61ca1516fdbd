/*
 * bench_step.c - see bench_step.h
 *
 * A sample is a round of steps, from masks everywhere to the end of the first block, and the head alone
 * once at the row count of each. Rounds and heads take turns, so that both see the same clock; what a
 * step does beyond the head is the difference of the two, pair by pair.
 */
#include "bench_step.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench_alone.h"
#include "bench_exit.h"

enum { SAMPLES = 30, LEAD_RUNS = 4 };

typedef struct step_samples {
    bench_loop loop;
    bench_alone alone;
    device_event pair[2];
    bench_clock_state seen;
    int count;
    double step_ms[BENCH_SAMPLES_MAX]; /* of one step */
    double head_ms[BENCH_SAMPLES_MAX];
    double own_ms[BENCH_SAMPLES_MAX];
} step_samples;

static bool replay_step(step_samples *all, int step)
{
    (void)step;
    return bench_loop_replay(&all->loop);
}

static bool replay_head(step_samples *all, int step)
{
    return bench_alone_replay(&all->alone, step);
}

/* Heads in front of the first timestamp, so that the device does not wait for the host behind it. */
static bool lead(step_samples *all)
{
    bool enqueued = true;
    for (int i = 0; enqueued && all->loop.graph && i < LEAD_RUNS; i++)
        enqueued = bench_alone_replay(&all->alone, 0);
    return enqueued;
}

static bool time_round(step_samples *all, bool (*replay)(step_samples *all, int step), double *ms)
{
    bench_loop *loop = &all->loop;
    bool done = lead(all) && device_event_record(loop->memory, &all->pair[0], loop->stream);
    for (int i = 0; done && i < loop->steps; i++)
        done = replay(all, i);
    done = done && device_event_record(loop->memory, &all->pair[1], loop->stream);
    *ms = done ? device_elapsed_ms(loop->memory, &all->pair[0], &all->pair[1]) / loop->steps : -1;
    if (*ms < 0 && !loop->why[0])
        (void)snprintf(loop->why, sizeof loop->why, "%s", loop->memory->message);
    return *ms >= 0;
}

static bool take_samples(step_samples *all, const bench_session *bench)
{
    double warm;
    const int asked = bench->options.samples ? bench->options.samples : SAMPLES;
    bool done = device_event_create(all->loop.memory, &all->pair[0]) &&
                device_event_create(all->loop.memory, &all->pair[1]) &&
                time_round(all, replay_head, &warm);
    for (all->count = 0; done && all->count < asked; all->count++) {
        const int i = all->count;
        done = bench_loop_begin(&all->loop) && time_round(all, replay_step, &all->step_ms[i]) &&
               time_round(all, replay_head, &all->head_ms[i]);
        all->own_ms[i] = all->step_ms[i] - all->head_ms[i];
    }
    all->seen = bench_clock_read(&bench->clock);
    return done;
}

static void report(bench_session *bench, const step_samples *all, bench_result *result,
                   const char *suffix, const double *ms)
{
    (void)snprintf(result->what, sizeof result->what, "%s%s", all->loop.shape.preset, suffix);
    result->ms = bench_median(ms, all->count);
    result->min_ms = bench_least(ms, all->count);
    bench_report_add(&bench->report, result);
}

static void report_all(bench_session *bench, const step_samples *all, bench_result result)
{
    double ratios[BENCH_SAMPLES_MAX];
    for (int i = 0; i < all->count; i++)
        ratios[i] = all->step_ms[i] / all->head_ms[i];
    result.samples = all->count;
    result.sm_mhz = all->seen.sm_mhz;
    result.watts = all->seen.watts;
    result.workspace_bytes = dllm_decode_workspace_bytes(all->loop.decode);
    result.ratio = bench_median(ratios, all->count);
    report(bench, all, &result, "", all->step_ms);
    result.ratio = 0;
    result.workspace_bytes = 0;
    report(bench, all, &result, " head", all->head_ms);
    report(bench, all, &result, " own", all->own_ms);
}

static void measure_preset(bench_session *bench, const bench_work *work, const char *set,
                           const bench_loop_shape *shape)
{
    const bench_result result = {.op = "step",
                                 .set = shape->vocab == work->shape.vocab ? set : "",
                                 .method = 'L',
                                 .vocab = shape->vocab,
                                 .depth = work->shape.depth,
                                 .rows = shape->canvases * shape->block,
                                 .type = work->shape.type};
    step_samples *all = calloc(1, sizeof *all);
    if (!all) bench_fatal(BENCH_FAILED, "no host memory for the samples");
    bool done = bench_loop_open(&all->loop, work, shape);
    if (done) {
        done = bench_alone_open(&all->alone, &all->loop) && take_samples(all, bench);
        if (done) report_all(bench, all, result);
        device_event_destroy(work->memory, &all->pair[0]);
        device_event_destroy(work->memory, &all->pair[1]);
        bench_alone_close(&all->alone);
    }
    if (!done) {
        bench_result skipped = result;
        (void)snprintf(skipped.what, sizeof skipped.what, "%s", shape->preset);
        bench_report_skip(&skipped, all->loop.why);
        bench->failures++;
    }
    bench_loop_close(&all->loop);
    free(all);
}

void bench_step_measure(bench_session *bench, const bench_head *head, dllm_type type)
{
    static const int64_t one_row[] = {1};
    const bench_options *options = &bench->options;
    const bench_shape operands = {.vocab = head->vocab,
                                  .depth = head->depth,
                                  .type = type,
                                  .rows_most = options->canvases * (options->block + 1)};
    bench_loop_shape shape = {
        .canvases = options->canvases, .length = options->length, .block = options->block};
    bench_work work;
    (void)printf(
        "# step: %lld canvases of %lld in blocks of %lld; own: list, gather, select and commit, "
        "what a step\n# takes beyond the head alone at the same rows\n",
        (long long)shape.canvases, (long long)shape.length, (long long)shape.block);
    bench_work_open(&work, &bench->memory, bench->context, &operands, one_row, 1);
    for (int small = 0; small < 2; small++) {
        shape.vocab = small ? BENCH_STEP_VOCAB : head->vocab;
        if (small && head->vocab <= BENCH_STEP_VOCAB) break;
        for (int i = 0; i < options->preset_count; i++) {
            shape.preset = options->presets[i];
            measure_preset(bench, &work, head->set, &shape);
        }
    }
    bench_work_close(&work);
}
