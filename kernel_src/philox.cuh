/*
 * philox.cuh - noise of a draw, as the folds of a kernel want it
 *
 * The words of an id follow from (id, row key, draw, seed) alone, so that tile, split, shard and
 * place in the batch do not enter (numerics.md 10).
 */
#ifndef DLLM_PHILOX_CUH
#define DLLM_PHILOX_CUH

#include "base.cuh"
#include "noise.h"

struct philox_words {
    uint32_t word[4];
};

DLLM_DEVICE philox_words philox4x32(philox_words counter, uint32_t key_low, uint32_t key_high)
{
    dllm_philox(counter.word, key_low, key_high);
    return counter;
}

DLLM_DEVICE float gumbel(uint32_t high, uint32_t low)
{
    return dllm_gumbel(high, low);
}

#endif
