/*
 * bench_alone.h - the head of a decode loop by itself, at the row counts of the loop's round
 *
 * It reads the same rows and the same weight, in order: copying gathered rows together, where a family
 * does, is the step's work and not the head's.
 */
#ifndef BENCH_ALONE_H
#define BENCH_ALONE_H

#include "bench_loop.h"

enum { BENCH_ALONE_OUTPUTS = 5 };

typedef struct bench_alone {
    bench_loop *loop; /* whose stream and reason of failure it shares */
    dllm_plan *plan;
    void *workspace;
    void *outputs[BENCH_ALONE_OUTPUTS];
    void *suppress;                     /* (1) the mask id */
    int64_t *rows;                      /* (steps) on the device */
    void *graphs[BENCH_LOOP_STEPS_MAX]; /* one a row count; NULL on the CPU */
} bench_alone;

bool bench_alone_open(bench_alone *out, bench_loop *loop);
void bench_alone_close(bench_alone *alone);

/** Enqueues the head at the row count of a step. */
bool bench_alone_replay(bench_alone *alone, int step);

#endif
