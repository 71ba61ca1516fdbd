/*
 * candidates.h - the choices worth measuring for a problem: every family's space, cut by legality
 */
#ifndef DLLM_CANDIDATES_H
#define DLLM_CANDIDATES_H

#include "families.h"

typedef struct dllm_candidate {
    dllm_choice choice;
    double estimate_us;
} dllm_candidate;

enum { DLLM_CANDIDATES_MAX = 512 };

/**
 * Lists the rule of thumb's choice first, then the other legal choices by estimated time, none twice.
 * Left out is what the estimate calls hopeless: several times slower than the best.
 * out      DLLM_CANDIDATES_MAX of them.
 * device   has_cublas says whether chunks are among them.
 * Status   DLLM_UNSUPPORTED when no family can do the problem
 */
dllm_status dllm__candidates(dllm_candidate *out, int *count, const dllm_problem *problem,
                             const dllm_device *device);

#endif
