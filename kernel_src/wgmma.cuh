/*
 * wgmma.cuh - tensor-core products of a warpgroup with operands in shared memory, sm_90a
 *
 * One wrapper an instruction (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). All 128
 * threads of four warps, the first a multiple of 4, call together. A product runs on after the
 * call: its accumulators may be touched after wgmma_wait_group alone. Lane 4g + t of warp w owns,
 * of the 64 x N result, rows 16w + g and 16w + g + 8 and of every 8 columns 2t and 2t + 1:
 *
 *                      columns  8j + 2t   8j + 2t + 1
 *   row 16w + g                 d[4j]     d[4j + 1]
 *   row 16w + g + 8             d[4j + 2] d[4j + 3]
 */
#ifndef DLLM_WGMMA_CUH
#define DLLM_WGMMA_CUH

#include "base.cuh"

/** Registers of each thread of the warpgroup from here on: up, waits until they are free. */
template <int REGISTERS> DLLM_DEVICE void setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/** The same, down. */
template <int REGISTERS> DLLM_DEVICE void setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/** Orders this thread's use of the accumulators before the products that follow. */
DLLM_DEVICE void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/** Makes one group of the products since the last group. */
DLLM_DEVICE void wgmma_commit_group()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Waits until at most PENDING of the newest groups are unfinished. */
template <int PENDING> DLLM_DEVICE void wgmma_wait_group()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/**
 * Descriptor of an operand: rows of 128 bytes under the 128-byte swizzle, k along a row, 1,024
 * bytes from 8 rows to the next 8 (the stride field, in 16 bytes; the other stride is unused).
 * address  shared, a multiple of 1,024; 16 elements further along k adds 2 to the descriptor,
 *          64 rows add 512
 */
DLLM_DEVICE uint64_t wgmma_descriptor(uint32_t address)
{
    constexpr uint64_t swizzle_128 = 1ull << 62;
    constexpr uint64_t eight_rows = 64ull << 32;
    return swizzle_128 | eight_rows | (address & 0x3ffff) >> 4;
}

/*
 * d += a b. a is 64 x 16, b 16 x N, both given by descriptors, both with k
 * along their rows; N is twice the accumulators. TYPE is that of both operands.
 */

/* clang-format off */
#define DLLM_D4(i) "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define DLLM_D16(i) DLLM_D4(i), DLLM_D4((i) + 4), DLLM_D4((i) + 8), DLLM_D4((i) + 12)

/* A width's wrapper: its name in the instruction, its accumulators and the numbers of a and b. */
#define DLLM_WGMMA(N, REGISTERS, A, B, ...)                                                        \
    template <int TYPE> DLLM_DEVICE void wgmma_k16(float (&d)[N / 2], uint64_t a, uint64_t b)      \
    {                                                                                              \
        static_assert(TYPE == 1 || TYPE == 2, "operands are bf16 (1) or fp16 (2)");                \
        if constexpr (TYPE == 1) {                                                                 \
            DLLM_WGMMA_ASM(N, "bf16", REGISTERS, A, B, __VA_ARGS__);                               \
        } else {                                                                                   \
            DLLM_WGMMA_ASM(N, "f16", REGISTERS, A, B, __VA_ARGS__);                                \
        }                                                                                          \
    }
#define DLLM_WGMMA_ASM(N, TYPE, REGISTERS, A, B, ...)                                              \
    asm volatile("{\n"                                                                             \
                 ".reg .pred accumulate;\n"                                                        \
                 "setp.ne.b32 accumulate, 1, 0;\n"                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" REGISTERS     \
                 "}, %" #A ", %" #B ", accumulate, 1, 1, 0, 0;\n"                                  \
                 "}"                                                                               \
                 : __VA_ARGS__                                                                     \
                 : "l"(a), "l"(b))

#define DLLM_R4 "%0, %1, %2, %3"
#define DLLM_R8 DLLM_R4 ", %4, %5, %6, %7"
#define DLLM_R16 DLLM_R8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define DLLM_R32 DLLM_R16                                                                          \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define DLLM_R48 DLLM_R32                                                                          \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define DLLM_R64 DLLM_R48                                                                          \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define DLLM_R80 DLLM_R64                                                                          \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define DLLM_R96 DLLM_R80                                                                          \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"

DLLM_WGMMA(8, DLLM_R4, 4, 5, DLLM_D4(0))
DLLM_WGMMA(16, DLLM_R8, 8, 9, DLLM_D4(0), DLLM_D4(4))
DLLM_WGMMA(32, DLLM_R16, 16, 17, DLLM_D16(0))
DLLM_WGMMA(64, DLLM_R32, 32, 33, DLLM_D16(0), DLLM_D16(16))
DLLM_WGMMA(96, DLLM_R48, 48, 49, DLLM_D16(0), DLLM_D16(16), DLLM_D16(32))
DLLM_WGMMA(128, DLLM_R64, 64, 65, DLLM_D16(0), DLLM_D16(16), DLLM_D16(32), DLLM_D16(48))
DLLM_WGMMA(160, DLLM_R80, 80, 81,
           DLLM_D16(0), DLLM_D16(16), DLLM_D16(32), DLLM_D16(48), DLLM_D16(64))
DLLM_WGMMA(192, DLLM_R96, 96, 97,
           DLLM_D16(0), DLLM_D16(16), DLLM_D16(32), DLLM_D16(48), DLLM_D16(64), DLLM_D16(80))

#undef DLLM_WGMMA
#undef DLLM_WGMMA_ASM
#undef DLLM_D16
#undef DLLM_D4
#undef DLLM_R96
#undef DLLM_R80
#undef DLLM_R64
#undef DLLM_R48
#undef DLLM_R32
#undef DLLM_R16
#undef DLLM_R8
#undef DLLM_R4
/* clang-format on */

#endif
