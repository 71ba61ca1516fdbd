/*
 * bench_measure.h - variants of one piece of work, and the three ways to time them
 *
 * L: every round runs each variant once, so that all see the same clock: it compares cycles.
 * B: every round runs each variant for a burst of its own: where power limits, it compares energy.
 * H: what the calling thread spends on enqueueing a run.
 * In all three a round's times are paired.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench_clock.h"
#include "device_memory.h"

enum { BENCH_VARIANTS_MAX = 20, BENCH_SAMPLES_MAX = 4000 };

typedef struct bench_variant {
    const char *name;
    /* Enqueues the work; `turn` counts up and chooses the copy of the operands. False on failure,
       with the reason in bench_variant.why. */
    bool (*run)(struct bench_variant *variant, int64_t turn);
    void *user;
    char why[512];
    int samples;            /* taken; fewer than asked for where the work is slow */
    int batch;              /* runs between two timestamps */
    bench_clock_state seen; /* while the samples were taken */
    double ms[BENCH_SAMPLES_MAX];
} bench_variant;

typedef struct bench_timing {
    int samples;              /* of a fast variant */
    double limit_ms;          /* of all samples of a variant, at least 3 are taken */
    double burst_ms;          /* B: length of a burst, at least one run */
    const bench_clock *clock; /* NULL: not looked at */
} bench_timing;

/** Fills samples and ms of each; false with the failing variant's or the device's reason. */
typedef bool bench_method(bench_variant *const *variants, int count, device_memory *memory,
                          const bench_timing *timing, char *why, size_t why_bytes);

bench_method bench_measure_launches; /* L */
bench_method bench_measure_bursts;   /* B */
bench_method bench_measure_host;     /* H */

/** A method as options name it. */
typedef struct bench_way {
    char letter;
    int samples; /* of a variant, unless asked for otherwise */
    bench_method *measure;
} bench_way;

/** The way of a letter, NULL if there is none. */
const bench_way *bench_way_find(char letter);

/** `why` from the variant that failed, else from the device. */
void bench_measure_explain(bench_variant *const *variants, int count, const device_memory *memory,
                           char *why, size_t why_bytes);

/** Median and least of the samples. */
double bench_median(const double *values, int count);
double bench_least(const double *values, int count);

/** Median over the rounds that both took of variant / baseline. */
double bench_ratio(const bench_variant *variant, const bench_variant *baseline);

#endif
