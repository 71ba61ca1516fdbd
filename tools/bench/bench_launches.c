/*
 * bench_launches.c - method L: variants interleaved launch by launch
 *
 * Work is queued ahead of the first timed launch, so that the host is never waited for.
 */
#include "bench_measure.h"

#include <math.h>
#include <stdlib.h>

enum { BACKLOG_ROUNDS_MAX = 64, BATCH_MAX = 32, SAMPLES_MIN = 3 };
static const double backlog_ms =
    4.0; /* more than the host needs to enqueue all samples of a variant */
static const double batch_ms = 0.1; /* a shorter run drowns in the cost of two timestamps */

/* What one measurement holds: two events a sample and variant. */
typedef struct session {
    bench_variant *const *variants;
    int count;
    device_memory *memory;
    const bench_timing *timing;
    int64_t turn;
    device_event *events; /* [variant][sample][2] */
    int samples_most;
} session;

static device_event *event_of(const session *all, int variant, int sample)
{
    return &all->events[2 * ((size_t)variant * (size_t)all->samples_most + (size_t)sample)];
}

static bool create_events(session *all)
{
    const size_t events = 2 * (size_t)all->count * (size_t)all->samples_most;
    all->events = calloc(events, sizeof *all->events);
    for (size_t i = 0; all->events && i < events; i++) {
        if (!device_event_create(all->memory, &all->events[i])) return false;
    }
    return all->events != NULL;
}

static void destroy_events(session *all)
{
    const size_t events = 2 * (size_t)all->count * (size_t)all->samples_most;
    for (size_t i = 0; all->events && i < events; i++)
        device_event_destroy(all->memory, &all->events[i]);
    free(all->events);
}

static bool run_batch(session *all, bench_variant *variant)
{
    for (int i = 0; i < variant->batch; i++) {
        if (!variant->run(variant, all->turn++)) return false;
    }
    return true;
}

static bool sample(session *all, int which, int round)
{
    bench_variant *variant = all->variants[which];
    device_event *pair = event_of(all, which, round);
    return device_event_record(all->memory, &pair[0], NULL) && run_batch(all, variant) &&
           device_event_record(all->memory, &pair[1], NULL);
}

static double elapsed(const session *all, int which, int round)
{
    const device_event *pair = event_of(all, which, round);
    return device_elapsed_ms(all->memory, &pair[0], &pair[1]) / all->variants[which]->batch;
}

/* Once to load and warm everything, once to learn how long a run takes; then plans the samples. */
static bool plan_samples(session *all, int which)
{
    const bench_timing *timing = all->timing;
    bench_variant *variant = all->variants[which];
    variant->batch = 1;
    if (!run_batch(all, variant) || !sample(all, which, 0)) return false;
    const double ms = elapsed(all, which, 0);
    if (ms < 0.0) return false;
    variant->batch = (int)fmin(BATCH_MAX, fmax(1.0, ceil(batch_ms / fmax(ms, 1e-4))));
    const double affordable = timing->limit_ms / fmax(ms * variant->batch, 1e-4);
    variant->samples = (int)fmax(SAMPLES_MIN, fmin(timing->samples, affordable));
    variant->ms[0] = ms;
    return true;
}

/* Untimed rounds before the timed ones; slow variants need none. */
static bool queue_backlog(session *all)
{
    double round_ms = 0.0;
    for (int v = 0; v < all->count; v++)
        round_ms += all->variants[v]->ms[0] * all->variants[v]->batch;
    const double wanted = fmin(BACKLOG_ROUNDS_MAX, ceil(backlog_ms / fmax(round_ms, 1e-4)));
    for (int round = 0; round < (int)wanted; round++) {
        for (int v = 0; v < all->count; v++) {
            if (!run_batch(all, all->variants[v])) return false;
        }
    }
    return true;
}

static bool take_samples(session *all)
{
    for (int round = 0; round < all->samples_most; round++) {
        for (int v = 0; v < all->count; v++) {
            if (round < all->variants[v]->samples && !sample(all, v, round)) return false;
        }
    }
    const bench_clock_state seen = bench_clock_read(all->timing->clock); /* still at work */
    if (!device_wait(all->memory, NULL)) return false;
    for (int v = 0; v < all->count; v++) {
        all->variants[v]->seen = seen;
        for (int round = 0; round < all->variants[v]->samples; round++) {
            all->variants[v]->ms[round] = elapsed(all, v, round);
            if (all->variants[v]->ms[round] < 0.0) return false;
        }
    }
    return true;
}

bool bench_measure_launches(bench_variant *const *variants, int count, device_memory *memory,
                            const bench_timing *timing, char *why, size_t why_bytes)
{
    session all = {variants, count, memory, timing, 0, NULL, 0};
    all.samples_most = timing->samples < SAMPLES_MIN ? SAMPLES_MIN : timing->samples;
    memory->message[0] = '\0';
    bool done = create_events(&all);
    for (int v = 0; done && v < count; v++) {
        variants[v]->why[0] = '\0';
        done = plan_samples(&all, v);
    }
    done = done && queue_backlog(&all) && take_samples(&all);
    if (!done) bench_measure_explain(variants, count, memory, why, why_bytes);
    destroy_events(&all);
    return done;
}
