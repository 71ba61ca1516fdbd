/*
 * tune_workers.h - compiles a list of kernels into the cache folder by worker processes
 *
 * Processes, because the compiler's front end holds a lock for the whole process. A worker takes
 * the next kernel from a counter in shared memory and answers through a pipe; one that dies costs
 * the kernel it had in hand and no other.
 */
#ifndef TUNE_WORKERS_H
#define TUNE_WORKERS_H

#include <stdbool.h>

#include "kernel_spec.h"
#include "log.h"

/** What became of one kernel. */
typedef struct tune_outcome {
    int index; /* in the list */
    dllm_status status;
    bool compiled; /* false with DLLM_OK: it was cached */
    bool stored;
    double compile_ms;
    char message[512]; /* "" on success */
} tune_outcome;

typedef struct tune_work {
    const dllm_kernel_spec *specs;
    int count;
    int jobs;
    dllm_log log;
    /* Called in this process for each outcome, in the order in which they come, and with NULL about
       twice a second. False: take up no further kernel. */
    bool (*visit)(void *user, const tune_outcome *outcome);
    void *user;
} tune_work;

typedef enum tune_end {
    TUNE_END_DONE,        /* every worker ended by itself; a kernel without an outcome was lost */
    TUNE_END_INTERRUPTED, /* SIGINT or SIGTERM: kernels in hand were finished, the rest left */
    TUNE_END_FAILED       /* no worker could be started */
} tune_end;

/**
 * Runs until all is done. A second SIGINT kills the workers at once. A second SIGTERM does not: what
 * sends one to a job often sends it to its process and to its group.
 */
tune_end tune_workers_run(const tune_work *work);

#endif
