/*
 * llada.h - LLaDA's decoding of one sequence at temperature 0
 *
 * The canvas is the prompt and then gen_length masks. Blocks are filled from left to right. In each
 * step the still-masked positions of the active block get a token and its probability; the surest
 * of them are committed, the others stay masked (low-confidence remasking). How many are committed
 * is fixed when the block begins: with n masks and S steps, n / S each and one more in the first
 * n % S steps. A committed token is final.
 */
#ifndef DLLM_TOOL_LLADA_H
#define DLLM_TOOL_LLADA_H

#include "message.h"

#include <stdint.h>

typedef struct dllm_llada_options {
    int64_t gen_length;
    int64_t block_length; /* divides gen_length */
    int64_t steps;        /* of all blocks together; the number of blocks divides it */
    int32_t mask_id;
} dllm_llada_options;

/** What the head says of some rows, in their order: arrays of block_length entries. */
typedef struct dllm_row_scores {
    int32_t *token;
    float *confidence;
    uint32_t *flags; /* DLLM_FLAG_ bits */
} dllm_row_scores;

/** What the loop needs from outside. */
typedef struct dllm_llada_calls {
    void *user;
    /** Scores `count` positions, ascending, of the canvas as it stands; false with a message. */
    bool (*score)(void *user, const int32_t *canvas, int64_t length, const int64_t *positions,
                  int64_t count, const dllm_row_scores *out, dllm_message *message);
    /** Called before the first step and after each one; NULL for none. */
    void (*show)(void *user, const int32_t *canvas, int64_t length);
} dllm_llada_calls;

/** Checks the lengths against each other and the model; false with the value and the rule. */
bool dllm_llada_check(const dllm_llada_options *options, int64_t prompt_length,
                      int64_t max_sequence, dllm_message *message);

/** Positions to commit in step `step` of `steps` in a block that began with `masks` masks. */
int64_t dllm_llada_scheduled(int64_t masks, int64_t steps, int64_t step);

/**
 * Chooses up to `wanted` of `count` rows: larger confidence first, the lower row on equal ones.
 * Rows flagged NONFINITE, EMPTY or ROW are never chosen.
 * out_rows (count) receives the chosen rows, surest first
 * Returns  how many were chosen, -1 when memory runs out.
 */
int64_t dllm_llada_select(const dllm_row_scores *scores, int64_t count, int64_t wanted,
                          int64_t *out_rows);

/**
 * Decodes.
 * canvas   (prompt_length + gen_length) the prompt in front; the rest is written
 * out_steps  the number of forwards made, also on failure
 * False with a message: a score call failed, a row that is not finite can never be committed.
 */
bool dllm_llada_decode(const dllm_llada_options *options, const dllm_llada_calls *calls,
                       int32_t *canvas, int64_t prompt_length, int64_t *out_steps,
                       dllm_message *message);

#endif
