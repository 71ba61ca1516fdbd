/*
 * operands.h - device memory for measured runs of one problem, and whether their answers are right
 *
 * Rows of hidden states (sampler: of logits) repeat after a few, so that every row of a candidate's
 * answer can be held against a reference of those few. What a run streams through is held several
 * times, until it is twice the L2, and turns rotate through the copies. Outputs and workspace lie
 * between guard bytes.
 */
#ifndef DLLM_OPERANDS_H
#define DLLM_OPERANDS_H

#include "plan.h"

enum { DLLM_OPERANDS_OUTPUTS = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE };

/** Answers on the host. */
typedef struct dllm_answers {
    int64_t rows;
    int32_t *argmax;
    float *lse;
    float *confidence;
} dllm_answers;

typedef struct dllm_operands {
    dllm_context *context;
    dllm_problem problem; /* plain: DLLM_OPERANDS_OUTPUTS, 32-bit ids, no inputs */
    dllm_cu_pointer hidden;
    dllm_cu_pointer weight; /* sampler: 0 */
    dllm_cu_pointer outputs;
    dllm_cu_pointer workspace;
    size_t workspace_bytes;
    int64_t distinct_rows;  /* row r equals row r modulo this */
    int64_t copies;         /* of the weight (sampler: of the logits) */
    dllm_answers reference; /* of the distinct rows */
    dllm_answers answers;   /* of the last check */
} dllm_operands;

/**
 * Places operands and computes the reference: a head's by the family naive, a sampler's on the CPU.
 * The context is current.
 * workspace_bytes  the most that any plan to be run needs.
 */
dllm_status dllm__operands_create(dllm_operands *out, dllm_context *context,
                                  const dllm_problem *problem, size_t workspace_bytes);

/** Takes one that was not created, zeroed. */
void dllm__operands_release(dllm_operands *operands);

/** The buffers of a turn's run. */
dllm_row_call dllm__operands_call(const dllm_operands *operands, int64_t turn);

/**
 * Runs a plan once on poisoned outputs and holds its answers against the reference.
 * Status   DLLM_DRIVER_FAILED with what is wrong: an answer, or a guard that was written
 */
dllm_status dllm__operands_check(dllm_operands *operands, const dllm_plan *plan);

#endif
