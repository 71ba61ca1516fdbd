/*
 * bench_pattern.h - random numbers for gigabytes of operands, out of a block of a few megabytes
 *
 * Element i of an operand is element i mod BENCH_PERIOD of the block. The period is a prime, so no
 * two rows of an operand start at the same element, and the host can look at any element without
 * holding a copy of the operand.
 */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include "dllm.h"

enum { BENCH_PERIOD = 16777259 };

typedef struct bench_pattern {
    dllm_type type;
    void *elements; /* BENCH_PERIOD of them */
} bench_pattern;

/** Nearly normal numbers of that standard deviation, rounded to `type`. */
void bench_pattern_create(bench_pattern *out, dllm_type type, double deviation, uint64_t seed);
void bench_pattern_release(bench_pattern *pattern);

/** Elements first .. first + count - 1, as the exact numbers that the device reads. */
void bench_pattern_read(const bench_pattern *pattern, int64_t first, int64_t count, double *out);

#endif
