/* pattern.c - whole numbers of a bell shape, written exactly in bf16, fp16 and fp32 */
#include "pattern.h"

#include <math.h>
#include <string.h>

/* -240 .. 247: the sum of four dice of 16 faces, and three bits below it. */
static int whole_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const unsigned bits = (unsigned)(*state >> 40);
    const int dice = (int)((bits & 15) + (bits >> 4 & 15) + (bits >> 8 & 15) + (bits >> 12 & 15));
    return 8 * (dice - 30) + (int)(bits >> 16 & 7);
}

static const double deviation = 74.0; /* of the whole numbers */

int dllm__pattern_hidden_exponent(int64_t depth)
{
    static const double logit_deviation = 2.5;
    const double sum = deviation * deviation * sqrt((double)depth) / logit_deviation;
    return -(int)lround(log2(sum)) - DLLM_PATTERN_WEIGHT_EXPONENT;
}

static uint16_t half_bits(int number, int exponent)
{
    const unsigned sign = number < 0 ? 0x8000u : 0u;
    const unsigned magnitude = (unsigned)(number < 0 ? -number : number);
    if (magnitude == 0) return 0;
    int top = 0;
    while (magnitude >> (top + 1))
        top++;
    const int power = top + exponent;
    if (power < -14) return (uint16_t)(sign | magnitude << (exponent + 24)); /* subnormal */
    return (uint16_t)(sign | (unsigned)(power + 15) << 10 | (magnitude << (10 - top) & 0x3ffu));
}

void dllm__pattern_fill(void *out, dllm_type type, int64_t count, int exponent, uint64_t seed)
{
    uint64_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        const int number = whole_number(&state);
        const float value = ldexpf((float)number, exponent);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (type == DLLM_FP32)
            ((float *)out)[i] = value;
        else
            ((uint16_t *)out)[i] =
                type == DLLM_BF16 ? (uint16_t)(bits >> 16) : half_bits(number, exponent);
    }
}
