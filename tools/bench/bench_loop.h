/*
 * bench_loop.h - a decode loop whose trunk does nothing, step by step as it would be replayed
 *
 * Hidden rows lie ready, so a step is the loop's own work and the head. On a GPU it is captured once and
 * replayed; on the CPU, which captures nothing, it is called. A round is the steps from the loop's
 * begin until every sequence has left its first block: in each of them masks are left.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include "bench_work.h"

enum { BENCH_LOOP_STEPS_MAX = 512 };

typedef struct bench_loop_shape {
    const char *preset; /* its name; dream by entropy, as its model card runs it */
    int64_t canvases;
    int64_t length; /* of a canvas, whole blocks: one of prompt, the others masks */
    int64_t block;
    int64_t vocab; /* at most the work's */
} bench_loop_shape;

typedef struct bench_loop {
    const bench_work *work;
    bench_loop_shape shape;
    device_memory *memory;
    dllm_stream stream;
    dllm_decode_options options;
    dllm_sequence *sequences; /* (canvases) */
    dllm_decode *decode;
    int64_t *ids; /* (canvases, length) as a round begins, on the host */
    void *canvas;
    void *workspace;
    void *graph;                /* of a step; NULL on the CPU */
    const int64_t *rows_device; /* where a step keeps its row count */
    int64_t eos;
    int steps;                          /* of a round */
    int64_t rows[BENCH_LOOP_STEPS_MAX]; /* that each of them reads */
    char why[512];                      /* of the call that failed */
} bench_loop;

/**
 * Prepares the loop, takes a round step by step and another by replaying, and compares the two.
 * work     operands of (rows of all blocks and one more each, vocab, depth)
 */
bool bench_loop_open(bench_loop *out, const bench_work *work, const bench_loop_shape *shape);
void bench_loop_close(bench_loop *loop);

/** Puts every canvas back to its masks and begins; then a round may be replayed. */
bool bench_loop_begin(bench_loop *loop);

/** Enqueues one step. */
bool bench_loop_replay(bench_loop *loop);

#endif
