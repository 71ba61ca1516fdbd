/*
 * exact_split.h - fp32 rows as sums of bf16 rows, for kernels that multiply one 2-byte type
 *
 * Rounding hidden states to bf16 moves logits by parts in a thousand, enough to change tokens. But
 * an fp32 number is the exact sum of three bf16 numbers: its sign and upper 8 bits, the next 8, the
 * last 8, each cut off and not rounded, so that what is left is exact too. (bf16 has the exponents
 * of fp32; only of numbers below 2^-110 something is lost, under 2^-133.) A weight needs 1 such
 * addend if it was bf16, 2 if it was fp16, 3 in fp32. With the addends side by side
 *     hidden row   [h0 h1 h2 | h0 h1 h2 | ...]      a group for each addend of the weight
 *     weight row   [w0 w0 w0 | w1 w1 w1 | ...]
 * the product of depth 3 * addends * H is the sum over all pairs of addends: the product of the
 * fp32 rows again. A product of two addends has 16 bits and is exact in fp32; sums are in fp32.
 */
#ifndef DLLM_TOOL_EXACT_SPLIT_H
#define DLLM_TOOL_EXACT_SPLIT_H

#include <stdint.h>

/* addends of a hidden value */
#define DLLM_SPLIT_HIDDEN INT64_C(3)

/** Writes a hidden row of `width` values as `groups` equal groups; out: 3 * groups * width. */
void dllm_split_hidden(uint16_t *out, const float *row, int64_t width, int64_t groups);

/** Writes a weight row of `width` values in `addends` groups; out: 3 * addends * width. */
void dllm_split_weight(uint16_t *out, const float *row, int64_t width, int64_t addends);

#endif
