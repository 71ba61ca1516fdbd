/*
 * cpu_transform.c - what happens to a block of logits before it is folded
 *
 * A loop a transform: each is one rounding of its own, and loops that run over the first-level cache
 * cost next to nothing beside the fold.
 */
#include "cpu_transform.h"

#include "rounding.h"

#include <math.h>

void dllm__cpu_transform(const dllm_cpu_transform *with, float *logits, int count, int64_t column)
{
    const uint32_t transforms = with->transforms;
    for (int i = 0; transforms & DLLM_TRANSFORM_ROUND_BF16 && i < count; i++)
        logits[i] = dllm_nearest_bf16(logits[i]);
    for (int i = 0; transforms & DLLM_TRANSFORM_ROUND_FP16 && i < count; i++)
        logits[i] = dllm_nearest_fp16(logits[i]);
    for (int i = 0; transforms & DLLM_TRANSFORM_SCALE && i < count; i++)
        logits[i] *= with->scale;
    if (transforms & DLLM_TRANSFORM_SOFTCAP) with->vector->cap(logits, count, with->softcap);
    for (int i = 0; transforms & DLLM_TRANSFORM_BIAS && i < count; i++)
        logits[i] += with->bias[column + i];
}

void dllm__cpu_guide(const dllm_cpu_transform *with, float *logits, const float *unconditional,
                     int count, float scale)
{
    const bool in_bf16 = with->transforms & DLLM_TRANSFORM_GUIDANCE_BF16;
    const float factor = scale + 1.0f;
    for (int i = 0; scale > 0 && !in_bf16 && i < count; i++) {
        const float drawn = factor * (logits[i] - unconditional[i]);
        logits[i] = unconditional[i] + drawn;
    }
    for (int i = 0; scale > 0 && in_bf16 && i < count; i++) {
        const float apart = dllm_nearest_bf16(logits[i] - unconditional[i]);
        const float drawn = dllm_nearest_bf16(factor * apart);
        logits[i] = dllm_nearest_bf16(unconditional[i] + drawn);
    }
}

/* Where in the block a suppressed id stands, -1 outside. The difference of two ids may overflow, so
   the block's first id is not formed from it. */
static int64_t place_of(const dllm_cpu_transform *with, int64_t id, int count, int64_t column)
{
    if (id < with->vocab_offset) return -1;
    const int64_t place = id - with->vocab_offset - column;
    return place < count ? place : -1;
}

int64_t dllm__cpu_suppressed(const dllm_cpu_transform *with, int count, int64_t column)
{
    int64_t found = 0;
    if (!(with->transforms & DLLM_TRANSFORM_SUPPRESS)) return 0;
    for (int64_t i = 0; i < with->suppress_count; i++)
        found += place_of(with, with->suppress[i], count, column) >= 0;
    return found;
}

void dllm__cpu_suppress(const dllm_cpu_transform *with, float *logits, int count, int64_t column,
                        float value)
{
    for (int64_t i = 0; i < with->suppress_count; i++) {
        const int64_t place = place_of(with, with->suppress[i], count, column);
        if (place >= 0) logits[place] = value;
    }
}
