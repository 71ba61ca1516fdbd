/*
 * base.cuh - fixed-width types, element types and the few arithmetic wrappers of every kernel
 *
 * No toolkit header: NVRTC brings the mathematical functions and vector types, and defines no
 * fixed-width names. Compiled for the host the file is preceded by a shim that stands in for NVRTC.
 */
#ifndef DLLM_BASE_CUH
#define DLLM_BASE_CUH

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

static_assert(sizeof(int64_t) == 8 && sizeof(int32_t) == 4 && sizeof(int16_t) == 2, "widths");

/* static: one program is one kernel, and on the host many of them are linked together */
#define DLLM_DEVICE static __device__ __forceinline__

constexpr int warp_lanes = 32;
constexpr uint32_t whole_warp = 0xffffffffu;
constexpr float log2_e = 1.4426950408889634f;

template <typename T> DLLM_DEVICE constexpr T ceil_div(T value, T divisor)
{
    return (value + divisor - 1) / divisor;
}

template <typename T> DLLM_DEVICE constexpr T smaller(T a, T b)
{
    return b < a ? b : a;
}

template <typename T> struct without_reference {
    using type = T;
};
template <typename T> struct without_reference<T &> {
    using type = T;
};
template <typename T> using remove_reference = typename without_reference<T>::type;

DLLM_DEVICE float infinity()
{
    return __int_as_float(0x7f800000);
}

DLLM_DEVICE bool is_finite(float value)
{
    return fabsf(value) < infinity();
}

DLLM_DEVICE float quiet_nan()
{
    return __int_as_float(0x7fc00000);
}

/* ---- element types: the values of DLLM_HIDDEN_TYPE and its like are those of dllm_type ----------
 */

struct bf16 {
    uint16_t bits;
};

struct fp16 {
    uint16_t bits;
};

template <int TYPE> struct element;
template <> struct element<1> {
    using type = bf16;
};
template <> struct element<2> {
    using type = fp16;
};
template <> struct element<3> {
    using type = float;
};

DLLM_DEVICE float to_float(float value)
{
    return value;
}

DLLM_DEVICE float to_float(bf16 value)
{
    return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

#ifdef __CUDACC_RTC__

/** cvt.f32.f16, exact (PTX ISA, "cvt"). */
DLLM_DEVICE float to_float(fp16 value)
{
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
}

/**
 * ex2.approx.ftz.f32: 2^x within 2 ulp, 2^0 = 1 exactly, 2^-inf = 0 (PTX ISA, "ex2").
 * Flushing loses nothing here: a term below 2^-126 vanishes beside a sum that is at least 1, and
 * 2^x of a subnormal x rounds to 1. Without .ftz each call would cost three instructions more.
 */
DLLM_DEVICE float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/** lg2.approx.ftz.f32 of a normal number: within 2^-22, outside of 1/2 .. 2 of the result (PTX ISA, "lg2"). */
DLLM_DEVICE float log2_approx(float x)
{
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

#else

/* A half's exponent and mantissa in a float's place are 2^112 too small, subnormals included. */
DLLM_DEVICE float to_float(fp16 value)
{
    const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
    const uint32_t rest = static_cast<uint32_t>(value.bits & 0x7fffu) << 13;
    const uint32_t ordinary = __float_as_uint(__uint_as_float(rest) * 0x1p112f);
    const bool special = (value.bits & 0x7c00u) == 0x7c00u;
    return __uint_as_float(sign | (special ? rest | 0x7f800000u : ordinary));
}

DLLM_DEVICE float exp2_approx(float x)
{
    return exp2f(x);
}

DLLM_DEVICE float log2_approx(float x)
{
    return log2f(x);
}

#endif

#endif
