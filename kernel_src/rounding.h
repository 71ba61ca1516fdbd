/* rounding.h - to the nearest bf16 and fp16, ties to even, for gcc and NVRTC */
#ifndef DLLM_ROUNDING_H
#define DLLM_ROUNDING_H

#ifdef __CUDACC_RTC__
#include "base.cuh"
#else
#include <math.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
#define DLLM_ROUNDING static __device__ __forceinline__
#else
#define DLLM_ROUNDING static inline
#endif

/** A float by its bits. */
typedef union dllm_float_bits {
    float number;
    uint32_t bits;
} dllm_float_bits;

/* Nearest even by adding just less than half of the last place that stays, and one more if it is odd;
   a carry runs into the exponent, up to infinity. */

/** NaN stays as it is. */
DLLM_ROUNDING float dllm_nearest_bf16(float value)
{
    dllm_float_bits view;
    view.number = value;
    view.bits = (view.bits + 0x7fffu + (view.bits >> 16 & 1u)) & 0xffff0000u;
    return value == value ? view.number : value;
}

/** NaN stays as it is; from 65,520 on infinite. */
DLLM_ROUNDING float dllm_nearest_fp16(float value)
{
    const float size = fabsf(value);
    dllm_float_bits view;
    view.number = size;
    view.bits = (view.bits + 0xfffu + (view.bits >> 13 & 1u)) & 0xffffe000u;
    if (size < 0x1p-14f)
        view.number = (size + 0.5f) - 0.5f;        /* fp16's smallest step is that of 0.5 */
    if (size >= 65520.0f) view.bits = 0x7f800000u; /* infinity */
    return value == value ? copysignf(view.number, value) : value;
}

#endif
