/*
 * exact_split.c - see exact_split.h
 */
#include "exact_split.h"

#include <stdbool.h>
#include <string.h>

/** Takes the upper 16 bits off a value: they are returned, the rest stays in *value. */
static uint16_t take_addend(float *value)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    /* A NaN whose payload lies in the lower half must not turn into infinity. */
    const bool nan = !finite && (bits & 0x007fffffu) != 0;
    const uint32_t upper = (bits & 0xffff0000u) | (nan ? 0x00400000u : 0u);
    float addend;
    memcpy(&addend, &upper, sizeof addend);
    *value = finite ? *value - addend : 0.0f;
    return (uint16_t)(upper >> 16);
}

void dllm_split_hidden(uint16_t *out, const float *row, int64_t width, int64_t groups)
{
    for (int64_t i = 0; i < width; i++) {
        float rest = row[i];
        for (int64_t addend = 0; addend < DLLM_SPLIT_HIDDEN; addend++)
            out[addend * width + i] = take_addend(&rest);
    }
    const int64_t group = DLLM_SPLIT_HIDDEN * width;
    for (int64_t copy = 1; copy < groups; copy++)
        memcpy(out + copy * group, out, (size_t)group * sizeof *out);
}

void dllm_split_weight(uint16_t *out, const float *row, int64_t width, int64_t addends)
{
    for (int64_t i = 0; i < width; i++) {
        float rest = row[i];
        for (int64_t group = 0; group < addends; group++) {
            const uint16_t addend = take_addend(&rest);
            for (int64_t copy = 0; copy < DLLM_SPLIT_HIDDEN; copy++)
                out[(group * DLLM_SPLIT_HIDDEN + copy) * width + i] = addend;
        }
    }
}
