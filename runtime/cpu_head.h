/*
 * cpu_head.h - the operations on the CPU
 *
 * The vocabulary is cut into ranges of fixed size, whatever the number of threads, so a row's bits do
 * not depend on it: each range gives a partial state, and states are merged in ascending order. Nor
 * do they depend on other rows: every product is summed in the same order in every tile.
 */
#ifndef DLLM_CPU_HEAD_H
#define DLLM_CPU_HEAD_H

#include "cpu_pool.h"
#include "cpu_vector.h"
#include "problem.h"

/** Bytes of workspace for rows_max rows on `threads` threads, at 64-byte alignment. */
size_t dllm__cpu_head_workspace(const dllm_problem *problem, int threads);
size_t dllm__cpu_sampler_workspace(const dllm_problem *problem, int threads);

/** Computes a checked call; the workspace is 64-byte aligned. Returns when it is done. */
void dllm__cpu_head_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                        const dllm_row_call *call);
void dllm__cpu_sampler_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                           const dllm_row_call *call);
void dllm__cpu_merge_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                         const dllm_row_call *call);

/** The same with the inner loops of a given instruction set. */
void dllm__cpu_head_run_with(dllm_cpu_pool *pool, const dllm_cpu_vector *vector,
                             const dllm_problem *problem, const dllm_row_call *call);
void dllm__cpu_sampler_run_with(dllm_cpu_pool *pool, const dllm_cpu_vector *vector,
                                const dllm_problem *problem, const dllm_row_call *call);

#endif
