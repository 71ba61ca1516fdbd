/*
 * bench_measure.h - times variants of one piece of work, interleaved launch by launch
 *
 * Every round runs each variant once, so that all of them see the same clocks; a round's times are
 * paired. Work is queued ahead of the first timed launch, so that the host is never waited for.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "device_memory.h"

enum { BENCH_VARIANTS_MAX = 8, BENCH_SAMPLES_MAX = 1000 };

typedef struct bench_variant {
    const char *name;
    /* Enqueues the work; `turn` counts up and chooses the copy of the operands. False on failure,
       with the reason in bench_variant.why. */
    bool (*run)(struct bench_variant *variant, int64_t turn);
    void *user;
    char why[512];
    int samples; /* taken; fewer than asked for where the work is slow */
    int batch;   /* runs between two timestamps */
    double ms[BENCH_SAMPLES_MAX];
} bench_variant;

typedef struct bench_timing {
    int samples;     /* of a fast variant */
    double limit_ms; /* of all samples of a variant, at least 3 are taken */
} bench_timing;

/** Fills samples and ms of each; false with the failing variant's or the device's reason. */
bool bench_measure(bench_variant *variants, int count, device_memory *memory,
                   const bench_timing *timing, char *why, size_t why_bytes);

/** Median and least of the samples. */
double bench_median(const double *values, int count);
double bench_least(const double *values, int count);

/** Median over the rounds that both took of variant / baseline. */
double bench_ratio(const bench_variant *variant, const bench_variant *baseline);

#endif
