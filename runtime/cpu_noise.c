/* cpu_noise.c - Gumbel noise of an id from its words */
#include "cpu_noise.h"

#include "noise.h"

float dllm__cpu_gumbel(uint32_t high, uint32_t low)
{
    return dllm_gumbel(high, low);
}
