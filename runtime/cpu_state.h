/*
 * cpu_state.h - the statistics of a row: init, fold a logit, fold a block, merge, finish
 *
 * The rules of ties, NaN and infinities of the CPU backend stand here and in
 * cpu_vector_fold.h. Order of entries: larger z first, then the lower column.
 */
#ifndef DLLM_CPU_STATE_H
#define DLLM_CPU_STATE_H

#include "cpu_vector.h"
#include "row_params.h"

/** What a finished row is worth; the caller writes the outputs that were asked for. */
typedef struct dllm_row_values {
    int64_t argmax;
    float max;
    float lse;
    float confidence;
    uint32_t flags;
} dllm_row_values;

/** The neutral state: merging it changes nothing. */
dllm_row_state dllm__cpu_state_init(void);

void dllm__cpu_state_fold_logit(dllm_row_state *state, float z, int32_t column);

/**
 * Folds `count` logits, the first of column `column`; count <= DLLM_CPU_FOLD_COLUMNS.
 * logits   padded with -inf up to a multiple of 16 floats by this call: the room must be there.
 */
void dllm__cpu_state_fold_block(const dllm_cpu_vector *vector, dllm_row_state *state, float *logits,
                                int count, int32_t column);

/** Adds `other` to `state`; the same bits whichever of two states is which. */
void dllm__cpu_state_merge(dllm_row_state *state, const dllm_row_state *other);

/** The values of a row whose columns begin at global id `vocab_offset`. */
dllm_row_values dllm__cpu_state_finish(const dllm_row_state *state, int64_t vocab_offset);

/** The values of a row whose source row does not exist. */
dllm_row_values dllm__cpu_state_no_row(void);

#endif
