/*
 * pattern.h - operands whose products are exact in fp32, whatever the order of the sum
 *
 * Numbers of 8 significant bits, spread like a bell, as real operands look to the multipliers. All
 * logits are multiples of one power of two and small enough for 24 bits, so that every kernel must
 * find the same maximum and the same id, and the statistics are those of a real model.
 */
#ifndef DLLM_PATTERN_H
#define DLLM_PATTERN_H

#include "dllm.h"

/** Exponents of the two operands for logits with a deviation of a few units. */
int dllm__pattern_hidden_exponent(int64_t depth);
enum { DLLM_PATTERN_WEIGHT_EXPONENT = -8, DLLM_PATTERN_LOGIT_EXPONENT = -6 };

/** Fills host memory with `count` elements of a type: whole numbers times 2^exponent. */
void dllm__pattern_fill(void *out, dllm_type type, int64_t count, int exponent, uint64_t seed);

#endif
