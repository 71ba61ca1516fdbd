/*
 * cpu_state.h - the statistics of a row: init, merge, finish
 *
 * The CPU backend keeps states as dllm.h exports them. The rules of ties, NaN and infinities stand
 * here and in cpu_vector_fold.h. Order of entries: larger z first, then the lower id.
 */
#ifndef DLLM_CPU_STATE_H
#define DLLM_CPU_STATE_H

#include "dllm.h"

#include <stdbool.h>

/** How states of a row are merged. */
typedef struct dllm_cpu_rule {
    uint32_t statistics; /* DLLM_STATISTIC_ bits; what is left out stays neutral */
    float temperature;   /* of the sums: 1 unless the row is tempered */
} dllm_cpu_rule;

/** What a finished row is worth; the caller writes the outputs that were asked for. */
typedef struct dllm_row_values {
    int64_t argmax;
    float max;
    float lse;
    float confidence;
    float entropy;
    float second;
    int64_t second_id;
    float margin;
    float target_logprob;
    int64_t gumbel_id;
    float gumbel_logprob;
    uint32_t flags;
} dllm_row_values;

/** True if the first entry comes before the second; the id of no entry is -1. */
bool dllm__cpu_comes_before(float z, int64_t id, float other_z, int64_t other_id);

/** The neutral state: merging it changes nothing. */
dllm_state dllm__cpu_state_init(void);

/** Adds `other` to `state`; the same bits whichever of two states is which. */
void dllm__cpu_state_merge(dllm_state *state, const dllm_state *other, const dllm_cpu_rule *rule);

/**
 * Merges `count` >= 1 states that lie stride_bytes apart, as a balanced tree: one after the other,
 * thousands would each round the same sum. The tree follows from the count alone.
 */
dllm_state dllm__cpu_state_merge_all(const char *states, int64_t stride_bytes, int64_t count,
                                     const dllm_cpu_rule *rule);

/** The values of a row; temperature is that of its sums. */
dllm_row_values dllm__cpu_state_finish(const dllm_state *state, float temperature);

#endif
