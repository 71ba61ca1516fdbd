/*
 * philox.cuh - noise of a draw: Philox4x32-10, and a Gumbel variable from two words
 *
 * The words of an id follow from (id, row key, draw, seed) alone, so that tile, split, shard and
 * place in the batch do not enter (numerics.md 10).
 */
#ifndef DLLM_PHILOX_CUH
#define DLLM_PHILOX_CUH

#include "base.cuh"

struct philox_words {
    uint32_t word[4];
};

/** Ten rounds over the counter (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1,
 * 2, 3", SC'11). */
DLLM_DEVICE philox_words philox4x32(philox_words counter, uint32_t key_low, uint32_t key_high)
{
    uint32_t(&c)[4] = counter.word;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const uint64_t left = static_cast<uint64_t>(0xd2511f53u) * c[0];
        const uint64_t right = static_cast<uint64_t>(0xcd9e8d57u) * c[2];
        c[0] = static_cast<uint32_t>(right >> 32) ^ c[1] ^ key_low;
        c[2] = static_cast<uint32_t>(left >> 32) ^ c[3] ^ key_high;
        c[1] = static_cast<uint32_t>(right);
        c[3] = static_cast<uint32_t>(left);
        key_low += 0x9e3779b9u;
        key_high += 0xbb67ae85u;
    }
    return counter;
}

/**
 * -ln(-ln u) for u = (2 w + 1) 2^-53 with the 52 bits w = (high 2^32 + low) >> 12. Near 1 the
 * logarithm is taken of the distance q = 1 - u, an integer as exact as w: u itself would have lost
 * the tail in rounding to 1.
 */
DLLM_DEVICE float gumbel(uint32_t high, uint32_t low)
{
    const uint64_t w = (static_cast<uint64_t>(high) << 32 | low) >> 12;
    const bool upper = w >> 51;
    const uint64_t distance = upper ? (1ull << 52) - 1 - w : w; /* from the nearer end */
    const float part = static_cast<float>(2 * distance + 1) * 0x1p-53f;
    return -logf(upper ? -log1pf(-part) : -logf(part));
}

#endif
