/*
 * bench_bursts.c - method B: each variant alone for a burst, bursts interleaved
 */
#include "bench_measure.h"

#include <math.h>

enum { ROUNDS_MIN = 3, RUNS_MAX = 1 << 20, PROBE_RUNS = 4 };

typedef struct session {
    device_memory *memory;
    const bench_timing *timing;
    device_event pair[2];
    int64_t turn;
} session;

/* That many runs in a row: ms of one, negative on failure. The clock is read while they last. */
static double run_burst(session *all, bench_variant *variant, int runs, bench_clock_state *seen)
{
    device_memory *memory = all->memory;
    if (!device_event_record(memory, &all->pair[0], NULL)) return -1;
    for (int i = 0; i < runs; i++) {
        if (!variant->run(variant, all->turn++)) return -1;
    }
    if (!device_event_record(memory, &all->pair[1], NULL)) return -1;
    *seen = bench_clock_read(all->timing->clock);
    return device_elapsed_ms(memory, &all->pair[0], &all->pair[1]) / runs;
}

/* The first run loads and warms, the next few tell how many make a burst. */
static bool plan_burst(session *all, bench_variant *variant)
{
    bench_clock_state seen = {0};
    variant->why[0] = '\0';
    variant->samples = 0;
    variant->seen = (bench_clock_state){0};
    if (run_burst(all, variant, 1, &seen) < 0) return false;
    const double ms = run_burst(all, variant, PROBE_RUNS, &seen);
    if (ms < 0) return false;
    variant->batch = (int)fmin(RUNS_MAX, fmax(1.0, ceil(all->timing->burst_ms / fmax(ms, 1e-4))));
    return true;
}

static bool take_burst(session *all, bench_variant *variant)
{
    bench_clock_state seen = {0};
    const double ms = run_burst(all, variant, variant->batch, &seen);
    if (ms < 0) return false;
    const int before = variant->samples++;
    variant->ms[before] = ms;
    /* the mean over the bursts */
    variant->seen.sm_mhz += (seen.sm_mhz - variant->seen.sm_mhz) / variant->samples;
    variant->seen.watts += (seen.watts - variant->seen.watts) / variant->samples;
    return true;
}

bool bench_measure_bursts(bench_variant *const *variants, int count, device_memory *memory,
                          const bench_timing *timing, char *why, size_t why_bytes)
{
    session all = {.memory = memory, .timing = timing};
    const int rounds = timing->samples < ROUNDS_MIN ? ROUNDS_MIN : timing->samples;
    memory->message[0] = '\0';
    bool done =
        device_event_create(memory, &all.pair[0]) && device_event_create(memory, &all.pair[1]);
    for (int v = 0; done && v < count; v++)
        done = plan_burst(&all, variants[v]);
    for (int i = 0; done && i < rounds * count; i++)
        done = take_burst(&all, variants[i % count]);
    if (!done) bench_measure_explain(variants, count, memory, why, why_bytes);
    device_event_destroy(memory, &all.pair[0]);
    device_event_destroy(memory, &all.pair[1]);
    return done;
}
