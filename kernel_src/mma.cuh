/*
 * mma.cuh - tensor-core product of a warp, m16n8k16 with fp32 accumulators, sm_80 and later
 *
 * One wrapper an instruction (PTX ISA, "Warp-level matrix instructions"). Within a warp lane
 * 4g + t owns, of the 16 x 8 result, rows g and g + 8 and columns 2t and 2t + 1:
 *
 *            columns   2t      2t+1
 *   row g              c[0]    c[1]
 *   row g + 8          c[2]    c[3]
 */
#ifndef DLLM_MMA_CUH
#define DLLM_MMA_CUH

#include "base.cuh"

/**
 * Loads four 8 x 8 matrices of 16-bit elements: lanes 8i..8i+7 give the shared addresses of the
 * rows of matrix i (16 bytes each), out[i] receives elements 2t and 2t + 1 of its row g.
 */
DLLM_DEVICE void ldmatrix_x4(uint32_t (&out)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
}

/**
 * c += a b. a is 16 x 16, k along a row: {rows 0-7, rows 8-15} of k 0-7, then of k 8-15; b is
 * 8 columns of 16, k along a column: {k 0-7, k 8-15}. TYPE is that of both operands.
 */
template <int TYPE>
DLLM_DEVICE void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    static_assert(TYPE == 1 || TYPE == 2, "operands are bf16 (1) or fp16 (2)");
    if constexpr (TYPE == 1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
}

#endif
