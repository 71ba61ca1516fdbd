/*
 * cpu_transform.h - what happens to a block of logits before it is folded (docs/numerics.md 3)
 */
#ifndef DLLM_CPU_TRANSFORM_H
#define DLLM_CPU_TRANSFORM_H

#include "cpu_vector.h"
#include "problem.h"

/** The transforms of a call. */
typedef struct dllm_cpu_transform {
    const dllm_cpu_vector *vector;
    uint32_t transforms; /* DLLM_TRANSFORM_ bits */
    float scale;
    float softcap;
    const float *bias;       /* of column 0 */
    const int64_t *suppress; /* global ids */
    int64_t suppress_count;
    int64_t vocab_offset;
} dllm_cpu_transform;

/** Rounds, scales, caps and adds the bias: logits of columns `column` .. `column` + count - 1. */
void dllm__cpu_transform(const dllm_cpu_transform *with, float *logits, int count, int64_t column);

/**
 * Guidance: logits become u + (scale + 1) * (logits - u), of the row's own ones and of its
 * unconditional ones u, both transformed; a scale of 0 leaves them.
 */
void dllm__cpu_guide(const dllm_cpu_transform *with, float *logits, const float *unconditional,
                     int count, float scale);

/** The number of the block's columns that are suppressed, repeats counted. */
int64_t dllm__cpu_suppressed(const dllm_cpu_transform *with, int count, int64_t column);

/** Writes a value over the suppressed columns. */
void dllm__cpu_suppress(const dllm_cpu_transform *with, float *logits, int count, int64_t column,
                        float value);

#endif
