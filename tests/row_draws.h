/*
 * row_draws.h - does the draw follow softmax(z / T)?
 */
#ifndef ROW_DRAWS_H
#define ROW_DRAWS_H

#include "row_run.h"

enum { ROW_DRAWS_VOCAB = 126464 };

typedef struct row_draws_setup {
    const char *family;
    bool is_head; /* of the head, else of the sampler */
    int64_t draws;
} row_draws_setup;

/**
 * Draws from a row of ROW_DRAWS_VOCAB logits of many sizes, a quarter as often again from one in which
 * a single id loses to large noise alone, and compares with their probabilities, by chi-square, how
 * often each size of logits, each of 1,024 ranges of ids and each range of winning scores, far into both
 * tails, was drawn. Every draw has its own key, so that all of them are rows that gather the one.
 */
row_outcome row_draws_check(device_memory *memory, dllm_context *context,
                            const row_draws_setup *setup, dllm_message *why);

#endif
