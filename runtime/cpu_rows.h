/*
 * cpu_rows.h - what head and sampler do with rows on the CPU: find, fold, merge, finish, write
 *
 * A call is worked off in passes of at most DLLM_CPU_PASS_ROWS rows, so that its workspace is bounded
 * whatever rows_max is. In a pass each range of the vocabulary leaves one state a row and, if
 * candidates are asked for, each worker one list a row.
 */
#ifndef DLLM_CPU_ROWS_H
#define DLLM_CPU_ROWS_H

#include "cpu_fold.h"
#include "cpu_pool.h"

enum { DLLM_CPU_PASS_ROWS = 256 };

/** The rows of one pass and their states. */
typedef struct dllm_cpu_pass {
    const dllm_problem *problem;
    const dllm_row_call *call;
    dllm_cpu_transform transform;
    uint32_t statistics;
    int64_t first; /* row of the call */
    int rows;      /* 1 .. DLLM_CPU_PASS_ROWS */
    int threads;
    int range_columns;           /* the last range may have fewer */
    int64_t ranges;              /* parts of the vocabulary */
    dllm_state *states;          /* [ranges][rows] */
    dllm_state_candidate *lists; /* [threads][rows][candidates], NULL: none are asked for */
} dllm_cpu_pass;

/** Bytes of the states and lists of the largest pass. */
size_t dllm__cpu_rows_workspace(const dllm_problem *problem, int range_columns, int threads);

/**
 * The passes over a call, before the first: dllm__cpu_rows_next moves on.
 * workspace  dllm__cpu_rows_workspace bytes, aligned
 */
dllm_cpu_pass dllm__cpu_rows_open(const dllm_problem *problem, const dllm_row_call *call,
                                  int range_columns, char *workspace);

/** Moves on to the next rows of the call and empties their lists; false if there are none. */
bool dllm__cpu_rows_next(dllm_cpu_pool *pool, dllm_cpu_pass *pass);

/** Rows of the largest pass of a problem. */
int dllm__cpu_pass_rows(const dllm_problem *problem);

/** `bytes` rounded up so that what follows it is aligned. */
size_t dllm__cpu_aligned(size_t bytes);

/** Row `row` of a pass. */
dllm_cpu_row dllm__cpu_rows_at(const dllm_cpu_pass *pass, int64_t row);

/** Columns of a range. */
int dllm__cpu_rows_columns(const dllm_cpu_pass *pass, int64_t range);

/** Folds the logits of a range of a row that exists, and with guidance those of its unconditional
 * row, else NULL; both are changed. */
void dllm__cpu_rows_fold(const dllm_cpu_pass *pass, const dllm_cpu_row *row, int64_t range,
                         float *logits, float *unconditional, int worker);

/** Merges each row's states in ascending order and writes what was asked for. */
void dllm__cpu_rows_finish(dllm_cpu_pool *pool, const dllm_cpu_pass *pass);

#endif
