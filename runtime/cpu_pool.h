/*
 * cpu_pool.h - worker threads of a CPU context
 *
 * The caller's thread works too, and a run never waits for a worker that has not begun: workers that
 * are late, or that a fork has left behind in the parent, cost speed and nothing else.
 */
#ifndef DLLM_CPU_POOL_H
#define DLLM_CPU_POOL_H

#include "dllm.h"

enum { DLLM_CPU_THREADS_MAX = 1024 };

typedef struct dllm_cpu_pool dllm_cpu_pool;

/** One unit of work: `index` is 0 .. count - 1, `worker` 0 .. threads - 1 (for scratch space). */
typedef void (*dllm_cpu_task)(void *user, int64_t index, int worker);

/**
 * threads  0 = as many as the affinity mask allows; the caller's thread counts as one of them.
 * Status   DLLM_INVALID_ARGUMENT  threads below 0 or above DLLM_CPU_THREADS_MAX
 *          DLLM_OUT_OF_MEMORY     no memory, or the system refuses a thread
 */
dllm_status dllm__cpu_pool_create(dllm_cpu_pool **out, int threads);

/** Joins the workers; takes NULL. No run may be under way. */
void dllm__cpu_pool_destroy(dllm_cpu_pool *pool);

int dllm__cpu_pool_threads(const dllm_cpu_pool *pool);

/**
 * Runs task(user, i, worker) for i = 0 .. count - 1 and returns when all are done. Allocates nothing.
 * Several callers at once: one has the workers, the others run their tasks in their own thread
 * (worker 0), so nobody waits for another's work.
 */
void dllm__cpu_pool_run(dllm_cpu_pool *pool, dllm_cpu_task task, void *user, int64_t count);

#endif
