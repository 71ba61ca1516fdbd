/* cpu_noise.c - Gumbel noise of an id from a seed and a row key */
#include "cpu_noise.h"

#include <math.h>

float dllm__cpu_gumbel(uint32_t high, uint32_t low)
{
    const uint64_t one = (uint64_t)1 << 53;
    const uint64_t u = (((uint64_t)high << 32 | low) >> 12) * 2 + 1; /* of 2^53 */
    /* near 1 the logarithm comes from 1 - u, which the integer has exactly */
    const float e =
        u < one / 2 ? -logf((float)u * 0x1p-53f) : -log1pf(-((float)(one - u) * 0x1p-53f));
    return -logf(e);
}
