/*
 * row_draws.h - does the draw follow softmax(z / T)?
 */
#ifndef ROW_DRAWS_H
#define ROW_DRAWS_H

#include "row_run.h"

enum { ROW_DRAWS_VOCAB = 126464 };

/**
 * Draws `draws` times from one row of ROW_DRAWS_VOCAB logits through the sampler and compares how
 * often each of 1,024 ranges of ids and each of the row's logits was drawn with their probabilities,
 * by chi-square. Every draw has its own key, so that all of them are rows that gather the one.
 */
row_outcome row_draws_check(device_memory *memory, dllm_context *context, const char *family,
                            int64_t draws, dllm_message *why);

#endif
