/* cpu_vector_avx2.c - inner loops for AVX2, FMA and F16C */
#define LANES 8
#define TILE_ROWS 4 /* 4 x 3 sums, 3 weight vectors and 1 hidden: all 16 registers */
#define TILE_COLUMNS 3
#define VECTOR_NAME "avx2"
#define VECTOR_TABLE dllm__cpu_vector_avx2

#include "cpu_vector_types.h"

#include <immintrin.h>

static inline vec vec_fma(vec a, vec b, vec c)
{
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

/* a > b ? a : b, so a NaN in `a` gives b */
static inline vec vec_max(vec a, vec b)
{
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline float vec_sum(vec a)
{
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline vec widen_fp16(const void *in)
{
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128(in));
}

/* 64-bit products: the lower words, and the upper ones */
static inline bits mul_wide(bits a, uint32_t factor, bits *high)
{
    const __m256i all = _mm256_set1_epi32((int)factor);
    const __m256i even = _mm256_mul_epu32((__m256i)a, all);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), all);
    *high = (bits)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    return a * factor;
}

#include "cpu_vector_loops.h"
