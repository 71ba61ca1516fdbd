/* cpu_vector_generic.c - inner loops for any machine with 128-bit vectors, or none */
#define LANES 4
#define TILE_ROWS 2 /* 2 x 4 sums, 2 hidden and 1 weight vector, and a register to multiply in */
#define TILE_COLUMNS 4
#define VECTOR_NAME "generic"
#define VECTOR_TABLE dllm__cpu_vector_generic

#include "cpu_vector_types.h"

/* two roundings: without the instruction a true fma would be a call */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

/* a > b ? a : b, so a NaN in `a` gives b */
static inline vec vec_max(vec a, vec b)
{
    const bits above = (bits)(a > b);
    return (vec)((above & (bits)a) | (~above & (bits)b));
}

static inline float vec_sum(vec a)
{
    return (a[0] + a[2]) + (a[1] + a[3]);
}

static inline vec widen_fp16(const void *in)
{
    const bits w = load_half_words(in);
    const bits magnitude = (w & 0x7fffU) << 13;
    /* the exponent's bias moves by 112; denormals come out right because this is a product */
    const bits scaled = (bits)((vec)magnitude * 0x1p112f);
    const bits special = (bits)(magnitude >= (0x7c00U << 13)) & 0x7f800000U;
    return (vec)(scaled | special | (w & 0x8000U) << 16);
}

/* 64-bit products: the lower words, and the upper ones */
static inline bits mul_wide(bits a, uint32_t factor, bits *high)
{
    for (int l = 0; l < LANES; l++)
        (*high)[l] = (uint32_t)((uint64_t)a[l] * factor >> 32);
    return a * factor;
}

#include "cpu_vector_loops.h"
