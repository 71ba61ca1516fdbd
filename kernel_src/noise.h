/*
 * noise.h - words of a random number, and a Gumbel variable from two of them (numerics.md 10)
 *
 * For gcc and NVRTC. The words of an id follow from (id, row key, draw, seed) alone.
 */
#ifndef DLLM_NOISE_H
#define DLLM_NOISE_H

#include "rounding.h"

#ifdef __cplusplus
#include "base.cuh"
#define DLLM_LOG2 log2_approx
#define DLLM_NOISE static __device__ __forceinline__
#define DLLM_UNROLL _Pragma("unroll")
#else
#include <math.h>
#include <stdint.h>
#define DLLM_LOG2 log2f
#define DLLM_NOISE static inline
#define DLLM_UNROLL
#endif

/** A double by its bits. */
typedef union dllm_double_bits {
    double number;
    uint64_t bits;
} dllm_double_bits;

/**
 * The upper half of a product, b odd and at least 2^31, by one fma in double. With a behind the leading
 * bit of 2^52 it sums a b - 2^31 and 3 * 2^83, whose last place is worth 2^32: half of that less, the nearest
 * is the one below. A tie takes a lower half of 0, thus a = 0, and goes to the even one, 3 * 2^83 itself.
 */
DLLM_NOISE uint32_t dllm_upper_half(uint32_t a, uint32_t b)
{
    const double rest = 0x1p52 * (0x1.8p32 - (double)b) - 0x1p31; /* exact */
    dllm_double_bits view;
    view.bits = 0x4330000000000000u | a;
    view.number = fma(view.number, (double)b, rest);
    return (uint32_t)view.bits;
}

/** Both halves of a product; b odd and at least 2^31. */
DLLM_NOISE uint32_t dllm_multiply(uint32_t *low, uint32_t a, uint32_t b)
{
#ifdef DLLM_UPPER_IN_DOUBLE
    /* beside wgmma, which wide products take turns with (autotune/facts.md) */
    *low = a * b;
    return dllm_upper_half(a, b);
#elif defined(__CUDACC_RTC__)
    /* written as a shift, each upper half costs an instruction to get at */
    uint32_t high;
    asm("{\n"
        ".reg .b64 product;\n"
        "mul.wide.u32 product, %2, %3;\n"
        "mov.b64 {%0, %1}, product;\n"
        "}"
        : "=r"(*low), "=r"(high)
        : "r"(a), "r"(b));
    return high;
#else
    const uint64_t product = (uint64_t)a * b;
    *low = (uint32_t)product;
    return (uint32_t)(product >> 32);
#endif
}

/** Ten rounds over the counter (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1,
 * 2, 3", SC'11). */
DLLM_NOISE void dllm_philox(uint32_t counter[4], uint32_t key_low, uint32_t key_high)
{
    uint32_t *c = counter;
    DLLM_UNROLL
    for (int round = 0; round < 10; round++) {
        uint32_t left;
        uint32_t right;
        const uint32_t left_high = dllm_multiply(&left, c[0], 0xd2511f53u);
        const uint32_t right_high = dllm_multiply(&right, c[2], 0xcd9e8d57u);
        c[0] = right_high ^ c[1] ^ key_low;
        c[2] = left_high ^ c[3] ^ key_high;
        c[1] = right;
        c[3] = left;
        key_low += 0x9e3779b9u;
        key_high += 0xbb67ae85u;
    }
}

/** Whose words they are. */
typedef struct dllm_noise_stream {
    uint64_t seed;
    uint64_t key; /* of the row */
    uint32_t draw;
} dllm_noise_stream;

/** The two words of an id, the upper one first. */
DLLM_NOISE void dllm_noise_words(uint32_t out[2], const dllm_noise_stream *stream, int64_t id)
{
    uint32_t c[4];
    c[0] = (uint32_t)(id >> 1);
    c[1] = stream->draw;
    c[2] = (uint32_t)stream->key;
    c[3] = (uint32_t)(stream->key >> 32);
    dllm_philox(c, (uint32_t)stream->seed, (uint32_t)(stream->seed >> 32));
    out[0] = id & 1 ? c[2] : c[0];
    out[1] = id & 1 ? c[3] : c[1];
}

/** The 52 bits w of u = (2 w + 1) 2^-53. */
DLLM_NOISE uint64_t dllm_noise_bits(uint32_t high, uint32_t low)
{
    return ((uint64_t)high << 32 | low) >> 12;
}

/**
 * -ln(1 - q) for 0 < q <= 1/2: q + q^2 R(q). R is a Chebyshev fit of degree 7; what it and eight
 * roundings lose is below 1.4e-7 of the result.
 */
DLLM_NOISE float dllm_exponential_near_one(float q)
{
    float r = 0x1.0edb06p+0f;
    r = fmaf(r, q, -0x1.ea363cp-1f);
    r = fmaf(r, q, 0x1.5dd42p-1f);
    r = fmaf(r, q, 0x1.bd883cp-6f);
    r = fmaf(r, q, 0x1.c02fe2p-3f);
    r = fmaf(r, q, 0x1.fd7feep-3f);
    r = fmaf(r, q, 0x1.555d18p-2f);
    r = fmaf(r, q, 0x1.fffff8p-2f);
    return fmaf(r * q, q, q);
}

/**
 * -ln(-ln u) within 2^-20 + 2^-22 of its size. Near 1 the logarithm is taken of the distance q = 1 - u,
 * an integer as exact as w: u itself would have lost the tail in rounding to 1. Neighbouring threads
 * fall on both sides, so both are computed.
 */
DLLM_NOISE float dllm_gumbel(uint32_t high, uint32_t low)
{
    const float ln_two = 0x1.62e43p-1f;
    const uint32_t flip = high >> 31 ? ~0u : 0; /* from the nearer end */
    const uint32_t rest = ((low ^ flip) & 0xfffff000u) | 0x800u;
    const float part = fmaf((float)rest, 0x1p-64f, (float)(high ^ flip) * 0x1p-32f);
    dllm_float_bits chosen;
    dllm_float_bits other;
    chosen.number = dllm_exponential_near_one(part);
    other.number = -ln_two * DLLM_LOG2(part);
    chosen.bits = (chosen.bits & flip) | (other.bits & ~flip); /* a condition would be a branch */
    return -ln_two * DLLM_LOG2(chosen.number);
}

/** u to the nearest float: may be 1. */
DLLM_NOISE float dllm_uniform(uint32_t high, uint32_t low)
{
    return (float)(2 * dllm_noise_bits(high, low) + 1) * 0x1p-53f;
}

#endif
