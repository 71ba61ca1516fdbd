/*
 * bench_reference.h - statistics of a sample of rows in double, to check a family before timing it
 *
 * Tolerances are those of the numeric contract (section 15): they follow from the depth, the type
 * and the row's own values.
 */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include "bench_pattern.h"

enum { BENCH_REFERENCE_ROWS = 32 };

typedef struct bench_reference_row {
    int64_t row;
    double *logits; /* (vocab) */
    double largest; /* largest partial sum or product met on the way to the row's logits */
    double max;
    double magnitude; /* of its largest logit */
    double lse;
    double confidence;
    double delta; /* tolerance of a logit */
    double lse_tolerance;
    double confidence_tolerance; /* relative */
} bench_reference_row;

typedef struct bench_reference {
    int64_t vocab;
    int64_t depth; /* 0: the logits are given */
    int count;
    bench_reference_row rows[BENCH_REFERENCE_ROWS];
} bench_reference;

/** Outputs of a run on the host, (rows) each. */
typedef struct bench_outputs {
    int64_t rows;
    double rounding; /* relative error that logits took on the way; 0 = none */
    int32_t *argmax;
    float *lse;
    float *confidence;
} bench_outputs;

/** Adds a row to the sample unless it is there or the sample is full. */
void bench_reference_add_row(bench_reference *reference, int64_t row);

/** Computes the sampled rows, on all cores: of the head, or with `weight` NULL of rows of logits.
 */
void bench_reference_compute(bench_reference *reference, const bench_pattern *hidden,
                             const bench_pattern *weight);

/**
 * Compares the outputs with the sampled rows below outputs->rows, and every id with its range.
 * Returns 0 if all agree; else `why` names the first row, value and limit.
 */
int bench_reference_check(const bench_reference *reference, const bench_outputs *outputs, char *why,
                          size_t why_bytes);

void bench_reference_release(bench_reference *reference);

#endif
