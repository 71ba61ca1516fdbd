/*
 * beside_wgmma.cu - what instructions cost a warp while another one keeps the tensor cores busy, and what
 * they cost the tensor cores
 *
 * A block a multiprocessor. Its first warpgroup multiplies 128 x 64 by 64 x 128 over and over, as head_sm90
 * does with a tile; one or two more repeat a chain of instructions, four chains a lane. Prints cycles an
 * instruction and cycles a product step, of block 0. Not part of the build:
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -o beside_wgmma beside_wgmma.cu
 */
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

namespace
{

enum chain { ADD, LOP3, LOW, HIGH, FFMA, DFMA, LG2, PHILOX_WIDE, PHILOX_DOUBLE, CHAINS };
const char *const names[] = {"add",  "lop3", "mul.lo",      "mul.hi",       "ffma",
                             "dfma", "lg2",  "philox wide", "philox double"};

constexpr int warpgroup = 128, chains = 4, links = 20, repeats = 400;

struct cycles {
    long long chain, step;
};

/* The upper half of a product: noise.h says why. */
__device__ uint32_t upper_in_double(uint32_t a, uint32_t b)
{
    const double rest = 0x1p52 * (0x1.8p32 - b) - 0x1p31;
    return __double2loint(fma(__hiloint2double(0x43300000, a), static_cast<double>(b), rest));
}

template <bool DOUBLE> __device__ uint32_t multiply(uint32_t &low, uint32_t a, uint32_t b)
{
    low = a * b;
    if (DOUBLE) return upper_in_double(a, b);
    return __umulhi(a, b); /* with the line above one wide product */
}

template <bool DOUBLE> __device__ void philox(uint32_t (&c)[4], uint32_t key_low, uint32_t key_high)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint32_t left, right;
        const uint32_t left_high = multiply<DOUBLE>(left, c[0], 0xd2511f53u);
        const uint32_t right_high = multiply<DOUBLE>(right, c[2], 0xcd9e8d57u);
        c[0] = right_high ^ c[1] ^ key_low;
        c[2] = left_high ^ c[3] ^ key_high;
        c[1] = right;
        c[3] = left;
        key_low += 0x9e3779b9u;
        key_high += 0xbb67ae85u;
    }
}

/* One instruction on a lane's words. */
template <int CHAIN> __device__ void link(uint32_t &a, uint32_t &b, uint32_t key)
{
    if (CHAIN == ADD) asm volatile("add.u32 %0, %0, %1;" : "+r"(a) : "r"(b));
    if (CHAIN == LOP3) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(a) : "r"(b), "r"(key));
    if (CHAIN == LOW) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(key), "r"(b));
    if (CHAIN == HIGH) asm volatile("mad.hi.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(key), "r"(b));
    if (CHAIN == FFMA) {
        float x = __uint_as_float(a);
        asm volatile("fma.rn.f32 %0, %0, %1, %2;"
                     : "+f"(x)
                     : "f"(__uint_as_float(key)), "f"(__uint_as_float(b)));
        a = __float_as_uint(x);
    }
    if (CHAIN == LG2) {
        float x = __uint_as_float(a);
        asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
        a = __float_as_uint(x);
    }
    if (CHAIN == DFMA) {
        double x = __hiloint2double(b, a);
        asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(1.7), "d"(0.3));
        a = __double2loint(x);
        b = __double2hiint(x);
    }
}

template <int CHAIN> __device__ long long run_chain(uint32_t *sink, uint32_t key)
{
    uint32_t words[chains][4];
    for (int i = 0; i < 4 * chains; i++)
        words[i / 4][i % 4] = (key + i) * (threadIdx.x + 1);
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < repeats; i++) {
#pragma unroll
        for (int c = 0; c < chains; c++) {
            words[c][0] += i;
            words[c][2] += threadIdx.x;
            if constexpr (CHAIN == PHILOX_WIDE) philox<false>(words[c], key, key);
            if constexpr (CHAIN == PHILOX_DOUBLE) philox<true>(words[c], key, key);
        }
        if constexpr (CHAIN < PHILOX_WIDE) {
#pragma unroll
            for (int n = 0; n < links; n++) {
#pragma unroll
                for (int c = 0; c < chains; c++)
                    link<CHAIN>(words[c][n % 2], words[c][2 + n % 2], key);
            }
        }
    }
    const long long end = clock64();
    uint32_t sum = 0;
    for (int c = 0; c < chains; c++)
        sum += words[c][0] + words[c][1] + words[c][2] + words[c][3];
    if (sum == 12345) sink[threadIdx.x] = sum;
    return end - begin;
}

/* A 128-byte swizzled tile of 64 elements of depth. */
__device__ uint64_t describe(const void *tile)
{
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
    return (address & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
                 "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
                 "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
                 "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, p, 1, 1, 0, 0;\n}"
                 : D16(0), D16(16), D16(32), D16(48)
                 : "l"(a), "l"(b));
}

__device__ long long run_products(uint32_t *sink, const unsigned char *tiles)
{
    float d[2][64] = {};
    const uint64_t a = describe(tiles), b = describe(tiles + 16384);
    const long long begin = clock64();
    for (int i = 0; i < repeats; i++) {
        asm volatile("wgmma.fence.sync.aligned;");
#pragma unroll
        for (int inner = 0; inner < 4; inner++) {
            multiply(d[0], a + 2 * inner, b + 2 * inner);
            multiply(d[1], a + 512 + 2 * inner, b + 2 * inner);
        }
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    const long long end = clock64();
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += d[0][i] + d[1][i];
    if (sum == 12345.0f) sink[threadIdx.x] = 1;
    return end - begin;
}

template <int CHAIN>
__global__ void __launch_bounds__(3 * warpgroup, 1)
    beside(cycles *out, uint32_t *sink, uint32_t key, int users, int multiplies)
{
    extern __shared__ __align__(1024) unsigned char tiles[];
    for (int i = threadIdx.x; i < 32768 / 4; i += blockDim.x) /* bf16 of about 1 */
        reinterpret_cast<uint32_t *>(tiles)[i] = 0x3f803f80u ^ (i * 2654435761u & 0x807f807fu);
    asm volatile("fence.proxy.async;");
    __syncthreads();
    const int group = __shfl_sync(~0u, threadIdx.x / warpgroup, 0);
    const bool tells = blockIdx.x == 0 && threadIdx.x % warpgroup == 0;
    if (group == 0 && multiplies) {
        const long long taken = run_products(sink, tiles);
        if (tells) out->step = taken;
    } else if (group > 0 && group <= users) {
        const long long taken = run_chain<CHAIN>(sink, key);
        if (tells && group == 1) out->chain = taken;
    }
}

template <int CHAIN> cycles measure(int users, bool multiplies)
{
    cycles *out, result;
    uint32_t *sink;
    cudaMalloc(&out, sizeof *out);
    cudaMalloc(&sink, 4096);
    cudaMemset(out, 0, sizeof *out);
    cudaFuncSetAttribute(beside<CHAIN>, cudaFuncAttributeMaxDynamicSharedMemorySize, 32768);
    for (int run = 0; run < 2; run++) /* the first one loads the instructions */
        beside<CHAIN><<<132, 3 * warpgroup, 32768>>>(out, sink, 77, users, multiplies);
    const cudaError_t error = cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) printf("%s: %s\n", names[CHAIN], cudaGetErrorString(error));
    cudaFree(out);
    cudaFree(sink);
    return result;
}

template <int CHAIN> void report()
{
    const double count = repeats * chains * static_cast<double>(links);
    const cycles alone = measure<CHAIN>(1, false), one = measure<CHAIN>(1, true),
                 two = measure<CHAIN>(2, true);
    printf("%-14s %6.2f %9.2f %9.2f %9.0f %9.0f\n", names[CHAIN], alone.chain / count,
           one.chain / count, two.chain / count / 2, static_cast<double>(one.step) / repeats,
           static_cast<double>(two.step) / repeats);
    if constexpr (CHAIN + 1 < CHAINS) report<CHAIN + 1>();
}

} // namespace

int main()
{
    printf(
        "cycles an instruction of a scheduler, or of Philox a product and its exclusive or:\n"
        "one warp alone, beside products, two warps; cycles a product step then (512 at best)\n");
    printf("%-14s %6s %9s %9s %9s %9s\n", "", "alone", "one", "two", "step, one", "two");
    report<0>();
    return 0;
}
