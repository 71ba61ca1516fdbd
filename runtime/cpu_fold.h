/*
 * cpu_fold.h - a block of a row's logits becomes a state
 */
#ifndef DLLM_CPU_FOLD_H
#define DLLM_CPU_FOLD_H

#include "cpu_row.h"
#include "cpu_transform.h"

/** A block of the columns of a row: 1 .. DLLM_CPU_FOLD_COLUMNS, with room for a multiple of 16. */
typedef struct dllm_cpu_block {
    float *logits;        /* transformed in place */
    float *unconditional; /* of the row that guides it, likewise; NULL: none does */
    int count;
    int64_t column; /* of the first logit */
} dllm_cpu_block;

/**
 * The state of a block.
 * list     the row's candidates, which the block's logits are offered to; NULL: none are asked for
 */
dllm_state dllm__cpu_fold(const dllm_cpu_transform *with, const dllm_cpu_row *row,
                          const dllm_cpu_block *block, dllm_state_candidate *list, int list_count);

#endif
