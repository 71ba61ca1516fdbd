/*
 * trunk.h - the transformer below the head, on the CPU in fp32: token ids to hidden states
 *
 * LLaDA's layout: every block is h = x + attn_out(attention(RoPE(q), RoPE(k), v)) with q, k, v from
 * RMSNorm(x), then h + ff_out(silu(ff_proj(n)) * up_proj(n)) with n = RMSNorm(h). Attention sees
 * all positions in both directions. The hidden states are those after the final norm.
 */
#ifndef DLLM_TOOL_TRUNK_H
#define DLLM_TOOL_TRUNK_H

#include "message.h"
#include "model.h"

#include <stdint.h>

/** Buffers for a forward of one sequence; one forward at a time. */
typedef struct dllm_trunk dllm_trunk;

/**
 * Makes room for sequences of up to length_max ids.
 * model    stays the caller's and must outlive the trunk
 * threads  1 .. DLLM_PARALLEL_THREADS_MAX; the result does not depend on it
 * False with a message when memory runs out.
 * Owner    release with dllm_trunk_destroy.
 */
bool dllm_trunk_create(dllm_trunk **out, const dllm_model *model, int64_t length_max, int threads,
                       dllm_message *message);

/** Releases the buffers; takes NULL. */
void dllm_trunk_destroy(dllm_trunk *trunk);

/**
 * Computes the hidden states of a sequence.
 * ids      (length) each from 0 to vocab - 1; length <= length_max
 * returns  (length, hidden) row-major, contiguous; the trunk's own, valid until its next forward
 */
const float *dllm_trunk_forward(dllm_trunk *trunk, const int32_t *ids, int64_t length);

#endif
