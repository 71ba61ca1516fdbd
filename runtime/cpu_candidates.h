/*
 * cpu_candidates.h - the K best entries of a row, in order
 *
 * A list is full from the start: entries that are not there are {-inf, -1}, behind all others. What
 * it holds follows from the entries offered, not from their order.
 */
#ifndef DLLM_CPU_CANDIDATES_H
#define DLLM_CPU_CANDIDATES_H

#include "dllm.h"

enum { DLLM_CPU_CANDIDATES_MAX = 256 };

void dllm__cpu_candidates_init(dllm_state_candidate *list, int count);

/** Offers logits of consecutive ids; NaN is no entry. */
void dllm__cpu_candidates_offer(dllm_state_candidate *list, int count, const float *logits,
                                int logit_count, int64_t id);

/** Offers the entries of another list. */
void dllm__cpu_candidates_merge(dllm_state_candidate *list, int count,
                                const dllm_state_candidate *other);

#endif
