/* cpu_vector_avx512.c - inner loops for AVX-512 F, BW and VL */
#define LANES 16
#define TILE_ROWS 4 /* 4 x 6 sums, 6 weight vectors, 1 hidden and a mask: all 32 registers */
#define TILE_COLUMNS 6
#define VECTOR_NAME "avx512"
#define VECTOR_TABLE dllm__cpu_vector_avx512

#include "cpu_vector_types.h"

#include <immintrin.h>

static inline vec vec_fma(vec a, vec b, vec c)
{
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

/* a > b ? a : b, so a NaN in `a` gives b */
static inline vec vec_max(vec a, vec b)
{
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline float vec_sum(vec a)
{
    return _mm512_reduce_add_ps((__m512)a);
}

static inline vec widen_fp16(const void *in)
{
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256(in));
}

/* 64-bit products: the lower words, and the upper ones */
static inline bits mul_wide(bits a, uint32_t factor, bits *high)
{
    const __m512i all = _mm512_set1_epi32((int)factor);
    const __m512i even = _mm512_mul_epu32((__m512i)a, all);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), all);
    *high = (bits)_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd);
    return a * factor;
}

#include "cpu_vector_loops.h"
