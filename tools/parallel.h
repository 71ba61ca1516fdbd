/*
 * parallel.h - shares a range of independent work among threads
 *
 * Threads are started for each call: the parts are whole matrix products, against which the start
 * is nothing, and no pool has to be kept.
 */
#ifndef DLLM_TOOL_PARALLEL_H
#define DLLM_TOOL_PARALLEL_H

#include <stdint.h>

#define DLLM_PARALLEL_THREADS_MAX 256

/** Does [first, last) of the range; `thread` is below the number of threads and chooses scratch. */
typedef void (*dllm_parallel_function)(void *work, int64_t first, int64_t last, int thread);

/** Processors that this process may run on. */
int dllm_parallel_processors(void);

/**
 * Calls the function with [0, count) cut into at most `threads` parts, 1 <= threads <=
 * DLLM_PARALLEL_THREADS_MAX, and returns when all are done. A part whose thread cannot be started
 * is done by the caller.
 */
void dllm_parallel_for(int threads, int64_t count, dllm_parallel_function function, void *work);

#endif
