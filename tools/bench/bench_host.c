/*
 * bench_host.c - method H: what the calling thread spends on enqueueing one run
 *
 * Calls come in groups with a wait between them, since a full queue would make the host wait for
 * the device inside a call. The first calls of a group find an idle device and are timed all the
 * same: the median does not see them.
 */
#include "bench_measure.h"

#include <math.h>
#include <time.h>

/* A group's launches fit in the driver's queue (1,024 launches): a run is up to 16 of them. */
enum { GROUP_CALLS = 48 };

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool time_group(bench_variant *variant, device_memory *memory)
{
    for (int i = 0; i < GROUP_CALLS; i++) {
        const double begin = now_ms();
        if (!variant->run(variant, variant->samples)) return false;
        variant->ms[variant->samples++] = now_ms() - begin;
    }
    return device_wait(memory, NULL);
}

/* Groups until there are samples enough, or the device has worked for the limit. */
static bool time_calls(bench_variant *variant, device_memory *memory, const bench_timing *timing)
{
    variant->why[0] = '\0';
    variant->samples = 0;
    variant->batch = 1;
    if (!time_group(variant, memory)) return false; /* loads and warms */
    variant->samples = 0;
    const double begin = now_ms();
    do {
        if (!time_group(variant, memory)) return false;
    } while (variant->samples < timing->samples &&
             variant->samples + GROUP_CALLS <= BENCH_SAMPLES_MAX &&
             now_ms() - begin < timing->limit_ms);
    return true;
}

bool bench_measure_host(bench_variant *const *variants, int count, device_memory *memory,
                        const bench_timing *timing, char *why, size_t why_bytes)
{
    bool done = true;
    memory->message[0] = '\0';
    for (int v = 0; done && v < count; v++) {
        done = time_calls(variants[v], memory, timing);
        variants[v]->seen = bench_clock_read(timing->clock);
    }
    if (!done) bench_measure_explain(variants, count, memory, why, why_bytes);
    return done;
}
