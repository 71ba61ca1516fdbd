/*
 * simt_shim.h - enough of a GPU to run a kernel's source on the host
 *
 * A CUDA thread is a fiber; a barrier or a shuffle is a meeting of fibers. Blocks run one after the
 * other, so shared memory is static memory; those of a cluster take turns, and with them what lies in
 * it. Included before a kernel's source, in place of NVRTC. What the shim refuses is what a GPU leaves
 * undefined: lanes that meet at different calls, threads that leave while others wait for them, shared
 * memory of a block that has not begun or has ended.
 */
#ifndef DLLM_SIMT_SHIM_H
#define DLLM_SIMT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_LANES = 32, SIMT_THREADS_MAX = 1024, SIMT_CLUSTER_MAX = 8, SIMT_DEFINES_MAX = 8 };

/** Where the shared memory of a kernel lies, for those whose blocks run in clusters. */
typedef struct simt_shared {
    char *begin;
    char *end;
} simt_shared;

/** A kernel compiled with one set of -D values; simt_tests.cmake makes them. */
typedef struct simt_variant {
    const char *name;   /* "head_tiled_bf16_bf16" */
    const char *kernel; /* "head_tiled" */
    unsigned threads;   /* of a block */
    struct {
        const char *name;
        int value;
    } defines[SIMT_DEFINES_MAX];
    void (*body)(const void *params); /* what one thread runs */
    simt_shared shared;
} simt_variant;

/** Every variant of this program, `simt_variant_count` of them. */
extern const simt_variant *const simt_variants[];
extern const int simt_variant_count;

/** In which order threads that may run are taken: results must not depend on it. */
typedef enum simt_order { SIMT_FIRST_COME, SIMT_LAST_COME } simt_order;

/**
 * Runs a grid of blocks. Returns NULL, or what the threads did wrong; static storage.
 */
const char *simt_run(void (*body)(const void *params), const void *params, unsigned blocks,
                     unsigned threads, simt_order order);

/** A grid of clusters of so many neighbouring blocks. */
typedef struct simt_clusters {
    const simt_variant *variant;
    const void *params;
    unsigned blocks; /* a multiple of `cluster` */
    unsigned cluster;
    simt_order order;
} simt_clusters;

/** Runs it. Returns NULL, or what the threads did wrong; static storage. */
const char *simt_run_clusters(const simt_clusters *grid);

typedef struct simt_index {
    unsigned x;
} simt_index;

/** Where the running thread stands. */
extern simt_index simt_thread_index;
extern simt_index simt_block_index;

/** All threads of the block meet. */
void simt_barrier(void);

/** The lanes of a warp meet, each with a word; returns everyone's words, valid until the next two.
 */
const uint32_t *simt_exchange(const char *call, unsigned mask, uint32_t word);

/** The cluster of the running thread, its block's place in it, and how many there are. */
unsigned simt_cluster_number(void);
unsigned simt_cluster_rank(void);
unsigned simt_cluster_blocks(void);

/** Where what lies at `here` in shared memory lies in the block of that rank. */
void *simt_cluster_map(void *here, unsigned rank);

/** All threads of the cluster meet: who has arrived may do something else before he waits. */
void simt_cluster_arrive(void);
void simt_cluster_wait(void);

#ifdef __cplusplus
}

#include <cmath>
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#ifdef SIMT_SECTION
#define __shared__ static __attribute__((section(SIMT_SECTION)))
#else
#define __shared__ static
#endif
#define threadIdx simt_thread_index
#define blockIdx simt_block_index
#define __syncthreads simt_barrier

struct alignas(8) uint2 {
    unsigned x, y;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

/* A kernel of two argument structs: params points at two pointers. */
template <typename First, typename Second>
static inline void simt_finish(void (*kernel)(First, Second), const void *params)
{
    const void *const *arguments = static_cast<const void *const *>(params);
    kernel(*static_cast<const First *>(arguments[0]), *static_cast<const Second *>(arguments[1]));
}

template <typename To, typename From> static inline To simt_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "one word for another");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

static inline float __uint_as_float(unsigned bits)
{
    return simt_bits<float>(bits);
}

static inline unsigned __float_as_uint(float value)
{
    return simt_bits<unsigned>(value);
}

static inline float __int_as_float(int bits)
{
    return simt_bits<float>(bits);
}

/* max.f32 leaves out every NaN; the C library's fmaxf returns a signalling one */
static inline float simt_fmaxf(float a, float b)
{
    return b != b || a > b ? a : b;
}
#define fmaxf simt_fmaxf

static inline float __fmul_rn(float a, float b)
{
    return a * b;
}

static inline float __fadd_rn(float a, float b)
{
    return a + b;
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>(both >> (shift & 31));
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask)
{
    const uint32_t *words = simt_exchange("__shfl_xor_sync", mask, simt_bits<uint32_t>(value));
    const unsigned lane = simt_thread_index.x % SIMT_LANES;
    return simt_bits<T>(words[lane ^ static_cast<unsigned>(lane_mask)]);
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane)
{
    const uint32_t *words = simt_exchange("__shfl_sync", mask, simt_bits<uint32_t>(value));
    return simt_bits<T>(words[lane % SIMT_LANES]);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    const uint32_t *words = simt_exchange("__ballot_sync", mask, predicate != 0);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < SIMT_LANES; lane++)
        ballot |= words[lane] << lane;
    return ballot;
}

/* one thread runs at a time */
static inline int atomicAdd(int *to, int value)
{
    const int before = *to;
    *to += value;
    return before;
}

static inline unsigned long long atomicAdd(unsigned long long *to, unsigned long long value)
{
    const unsigned long long before = *to;
    *to += value;
    return before;
}

static inline int __popc(unsigned value)
{
    return __builtin_popcount(value);
}

static inline int __ffs(int value)
{
    return __builtin_ffs(value);
}

static inline void __syncwarp()
{
    (void)simt_exchange("__syncwarp", 0xffffffffu, 0);
}

static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
#endif

#endif
