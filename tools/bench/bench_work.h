/*
 * bench_work.h - one operation with its operands in place: prepare, run, check
 *
 * A weight or a block of logits that fits in the L2 cache is held several times, and turns rotate
 * through the copies, so that each run reads from memory. Turn 0 is the one that is checked.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "bench_measure.h"
#include "bench_pattern.h"
#include "bench_reference.h"
#include "device_memory.h"

/** Outputs beyond the three, in bundles as bits. */
enum {
    BENCH_MORE_STATISTICS = 1, /* entropy, the second entry, a target's log-probability */
    BENCH_MORE_GUMBEL = 2,     /* a draw at temperature 1 */
    BENCH_MORE_ARRAYS = 5
};

typedef struct bench_shape {
    int64_t vocab;
    int64_t depth; /* 0: rows of logits are given, the operation is the sampler */
    dllm_type type;
    int64_t rows_most;
} bench_shape;

typedef struct bench_work {
    device_memory *memory;
    dllm_context *context;
    bench_shape shape;
    bench_pattern hidden_pattern; /* sampler: of the logits */
    bench_pattern weight_pattern;
    bench_reference reference;
    char *hidden;        /* (source_rows, width) */
    int64_t source_rows; /* at least rows_most */
    char *weight;        /* (copies, vocab, depth); NULL for the sampler */
    int64_t copies;
    void *argmax; /* outputs on the device, int32 and float, (rows_most) each */
    void *lse;
    void *confidence;
    void *more[BENCH_MORE_ARRAYS]; /* further outputs, 4 bytes a row each, and targets, all zero */
    void *seed;
    bench_outputs outputs; /* argmax, lse and confidence on the host */
} bench_work;

/** Places operands and computes the reference of a sample of the rows in `rows`. */
void bench_work_open(bench_work *out, device_memory *memory, dllm_context *context,
                     const bench_shape *shape, const int64_t *rows, int row_count);
void bench_work_close(bench_work *work);

/** The weight of a turn, and the first row of its hidden states or logits. */
const void *bench_work_weight(const bench_work *work, int64_t turn);
const void *bench_work_hidden(const bench_work *work, int64_t rows, int64_t turn);

/** A prepared plan with the workspace that it was given. */
typedef struct bench_runner {
    const bench_work *work;
    const void *logits; /* NULL: the work's operation; else the sampler on these (rows, vocab) */
    int64_t rows;
    unsigned more; /* BENCH_MORE_ bits: what is asked for beside the three outputs */
    dllm_plan *plan;
    void *workspace;
    size_t workspace_bytes;
} bench_runner;

/** Prepares a plan for the runner's work and rows with all three outputs, and its workspace; a
 * family of NULL is the library's choice. DLLM_OUT_OF_MEMORY leaves its reason in the memory. */
dllm_status bench_runner_open(bench_runner *runner, const char *family);
void bench_runner_close(bench_runner *runner);

/** Enqueues one run on the default stream. */
dllm_status bench_runner_run(const bench_runner *runner, int64_t turn);

/** Runs turn 0 of a variant and compares its outputs; 0 if they are right, else `why` says what is
 * not. rounding: as in bench_outputs. */
int bench_work_check(bench_work *work, bench_variant *variant, int64_t rows, double rounding,
                     char *why, size_t why_bytes);

#endif
