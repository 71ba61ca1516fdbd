/* cpu_noise.c - Gumbel noise of an id from a seed and a row key */
#include "cpu_noise.h"

#include <math.h>

enum { ROUNDS = 10 };

void dllm__cpu_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t p0 = 0xd2511f53ULL * c0;
        const uint64_t p1 = 0xcd9e8d57ULL * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9U;
        k1 += 0xbb67ae85U;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void dllm__cpu_noise_words(uint32_t out[4], const dllm_cpu_stream *stream, uint64_t pair)
{
    const uint32_t counter[4] = {(uint32_t)pair, stream->draw, (uint32_t)stream->row_key,
                                 (uint32_t)(stream->row_key >> 32)};
    const uint32_t key[2] = {(uint32_t)stream->seed, (uint32_t)(stream->seed >> 32)};
    dllm__cpu_philox(out, counter, key);
}

/* 2 w + 1, of 53 bits: u * 2^53 */
static uint64_t numerator(uint32_t high, uint32_t low)
{
    return (((uint64_t)high << 32 | low) >> 12) * 2 + 1;
}

static const uint64_t one = (uint64_t)1 << 53; /* u = 1 */

float dllm__cpu_gumbel(uint32_t high, uint32_t low)
{
    const uint64_t u = numerator(high, low);
    /* near 1 the logarithm comes from 1 - u, which the integer has exactly */
    const float e =
        u < one / 2 ? -logf((float)u * 0x1p-53f) : -log1pf(-((float)(one - u) * 0x1p-53f));
    return -logf(e);
}

/* -ln u >= 1 - u >= 2^-n with n leading zeros of 1 - u counted from the point, so G <= n ln 2, and
   G <= -ln(ln 2) = 0.36651 below the half; the last term is above every rounding of dllm__cpu_gumbel. */
float dllm__cpu_gumbel_bound(uint32_t high, uint32_t low)
{
    const int zeros = __builtin_clzll(one - numerator(high, low)) - 10;
    return fmaxf((float)zeros * 0.693148f, 0.36652f) + 0x1p-10f;
}
