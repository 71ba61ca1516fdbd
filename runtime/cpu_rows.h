/*
 * cpu_rows.h - what both operations do with rows on the CPU: find, merge, finish, write
 *
 * A call is worked off in passes of at most DLLM_CPU_PASS_ROWS rows, so that its workspace is bounded
 * whatever rows_max is. In a pass each range of the vocabulary leaves one state a row.
 */
#ifndef DLLM_CPU_ROWS_H
#define DLLM_CPU_ROWS_H

#include "cpu_pool.h"
#include "problem.h"
#include "row_params.h"

enum { DLLM_CPU_PASS_ROWS = 256 };

/** The rows of one pass and their states. */
typedef struct dllm_cpu_pass {
    const dllm_problem *problem;
    const dllm_row_call *call;
    int64_t first;          /* row of the call */
    int rows;               /* 1 .. DLLM_CPU_PASS_ROWS */
    int64_t ranges;         /* parts of the vocabulary */
    dllm_row_state *states; /* [ranges][rows] */
} dllm_cpu_pass;

/** Rows of the largest pass of a problem. */
int dllm__cpu_pass_rows(const dllm_problem *problem);

/** `bytes` rounded up so that what follows it is aligned. */
size_t dllm__cpu_aligned(size_t bytes);

/** Where row `row` of a pass is read: its first element, NULL if the source row does not exist. */
const void *dllm__cpu_row(const dllm_cpu_pass *pass, int row);

/** Merges each row's states in ascending order and writes the outputs that were asked for. */
void dllm__cpu_rows_finish(dllm_cpu_pool *pool, const dllm_cpu_pass *pass);

#endif
