/*
 * wgmma_loop.cuh - what the studies beside wgmma share: a warpgroup that keeps the tensor cores busy,
 * Philox with upper halves by three means, and the launch
 *
 * The products are those of a tile of head_sm90: 128 x 64 by 64 x 128 a step, 512 cycles at best.
 */
#ifndef DLLM_WGMMA_LOOP_CUH
#define DLLM_WGMMA_LOOP_CUH

#include "../../kernel_src/noise.h"
#include "../../kernel_src/wgmma.cuh"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

constexpr int warpgroup = 128, block_threads = 3 * warpgroup, multiprocessors = 132;
constexpr int operand_bytes = 128 * 128, tiles_bytes = 2 * operand_bytes;

/* ---- products ---- */

/* bf16 of about 1 and either sign. */
DLLM_DEVICE void fill_tiles(unsigned char *tiles)
{
    for (int i = threadIdx.x; i < tiles_bytes / 4; i += blockDim.x)
        reinterpret_cast<uint32_t *>(tiles)[i] = 0x3f803f80u ^ (i * 2654435761u & 0x807f807fu);
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* A tile of 128-byte rows under the 128-byte swizzle. */
DLLM_DEVICE uint64_t describe(const unsigned char *tile)
{
    return wgmma_descriptor(static_cast<uint32_t>(__cvta_generic_to_shared(tile)));
}

/* STEPS steps, each followed by after_step(its number); returns their cycles. By the first warpgroup alone. */
template <int STEPS, typename Call>
DLLM_DEVICE long long run_products(uint32_t *sink, const unsigned char *tiles, Call after_step)
{
    float d[2][64] = {};
    const uint64_t a = describe(tiles), b = describe(tiles + operand_bytes);
    const long long begin = clock64();
    for (int step = 0; step < STEPS; step++) {
        wgmma_fence();
#pragma unroll
        for (int inner = 0; inner < 4; inner++) {
            wgmma_k16<1>(d[0], a + 2 * inner, b + 2 * inner);
            wgmma_k16<1>(d[1], a + 512 + 2 * inner, b + 2 * inner);
        }
        wgmma_commit_group();
        wgmma_wait_group<1>();
        after_step(step);
    }
    wgmma_wait_group<0>();
    const long long end = clock64();
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += d[0][i] + d[1][i];
    if (sum == 12345.0f) sink[threadIdx.x] = 1; /* or nobody would need the products */
    return end - begin;
}

DLLM_DEVICE int warpgroup_index()
{
    return __shfl_sync(~0u, threadIdx.x / warpgroup, 0);
}

/* A thread of each warpgroup tells what was measured. */
DLLM_DEVICE bool tells()
{
    return blockIdx.x == 0 && threadIdx.x % warpgroup == 0;
}

/* ---- Philox ---- */

enum upper { BY_WIDE, BY_DOUBLE, BY_HALVES };

constexpr uint32_t left_factor = 0xd2511f53u, right_factor = 0xcd9e8d57u;

/* The upper half of a product by products of 16 bits each. */
DLLM_DEVICE uint32_t upper_of_halves(uint32_t a, uint32_t b)
{
    const uint32_t a0 = a & 0xffff, a1 = a >> 16, b0 = b & 0xffff, b1 = b >> 16;
    const uint32_t middle = a1 * b0 + (a0 * b0 >> 16);
    const bool sum_fits = uint64_t{0xffff} * (b0 + b1 + 1) < uint64_t{1} << 32;
    if (sum_fits) return a1 * b1 + ((a0 * b1 + middle) >> 16);
    return a1 * b1 + (middle >> 16) + ((a0 * b1 + (middle & 0xffff)) >> 16);
}

/* Both halves of a product, the upper one returned; b as dllm_upper_half wants it. */
template <upper HOW> DLLM_DEVICE uint32_t multiply(uint32_t &low, uint32_t a, uint32_t b)
{
    if constexpr (HOW == BY_WIDE) {
        uint32_t high;
        asm("{\n.reg .b64 product;\nmul.wide.u32 product, %2, %3;\nmov.b64 {%0, %1}, product;\n}"
            : "=r"(low), "=r"(high)
            : "r"(a), "r"(b));
        return high;
    } else {
        low = a * b;
        return HOW == BY_DOUBLE ? dllm_upper_half(a, b) : upper_of_halves(a, b);
    }
}

/* Ten rounds over the counters of some calls, which take turns. */
template <upper LEFT, upper RIGHT, int CALLS>
DLLM_DEVICE void philox(uint32_t (&counters)[CALLS][4], uint32_t key_low, uint32_t key_high)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
#pragma unroll
        for (int call = 0; call < CALLS; call++) {
            uint32_t *c = counters[call];
            uint32_t left, right;
            const uint32_t left_high = multiply<LEFT>(left, c[0], left_factor);
            const uint32_t right_high = multiply<RIGHT>(right, c[2], right_factor);
            c[0] = right_high ^ c[1] ^ key_low;
            c[2] = left_high ^ c[3] ^ key_high;
            c[1] = right;
            c[3] = left;
        }
        key_low += 0x9e3779b9u;
        key_high += 0xbb67ae85u;
    }
}

/* ---- host ---- */

inline void expect(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    exit(1);
}

/* Launches a kernel on every multiprocessor, twice: the first time loads its instructions. Returns what it told. */
template <typename Told, typename Kernel, typename... Arguments>
Told run_twice(Kernel *kernel, int shared_bytes, Arguments... arguments)
{
    Told *out, told;
    uint32_t *sink;
    expect(cudaMalloc(&out, sizeof *out));
    expect(cudaMalloc(&sink, block_threads * sizeof *sink));
    expect(cudaMemset(out, 0, sizeof *out));
    expect(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    for (int run = 0; run < 2; run++)
        kernel<<<multiprocessors, block_threads, shared_bytes>>>(out, sink, arguments...);
    expect(cudaGetLastError());
    expect(cudaMemcpy(&told, out, sizeof told, cudaMemcpyDeviceToHost));
    expect(cudaFree(out));
    expect(cudaFree(sink));
    return told;
}

#endif
