/*
 * kernel_crew.h - fetches the kernels of many choices at once
 *
 * Each compile runs in a helper process of its own (compiler.h), so that threads which wait for
 * them are enough to keep all cores busy.
 */
#ifndef DLLM_KERNEL_CREW_H
#define DLLM_KERNEL_CREW_H

#include "candidates.h"

/**
 * Has the context load the kernels of all choices; one that fails is not an error here: whoever
 * asks for it again learns why.
 * step     called in this thread's stead by any of the threads, one at a time; may be NULL. False:
 *          take up no further kernel.
 */
void dllm__kernel_crew_run(dllm_context *context, const dllm_problem *problem,
                           const dllm_candidate *candidates, int count,
                           bool (*step)(void *user, int done, int total), void *user);

#endif
