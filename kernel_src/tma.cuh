/*
 * tma.cuh - boxes of a tensor copied to shared memory by the copy engine, sm_90
 *
 * One wrapper an instruction (PTX ISA, "Data Movement and Conversion Instructions: Tensor copy").
 * The tensor map must lie in a __grid_constant__ parameter; it says shape, stride, box and swizzle.
 * What of a box lies outside the tensor becomes zeros and is not read, and counts as copied bytes.
 */
#ifndef DLLM_TMA_CUH
#define DLLM_TMA_CUH

#include "base.cuh"
#include "sm90_params.h"

/** Fetches a map that copies will need soon. */
DLLM_DEVICE void tma_prefetch_map(const dllm_tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/**
 * Starts the copy of the box whose first element is (row, column) of a 2D tensor. The whole warp calls
 * with the same arguments and the lane whose `elected` is set starts it: the instruction takes uniform
 * registers, and where a lane is alone the compiler gets there by a loop over lanes.
 * ONCE     the data is read once: L2 may drop it first
 * target   shared address, aligned to 1,024 bytes under the 128-byte swizzle
 * barrier  receives the box's bytes when they have arrived
 */
template <bool ONCE = false>
DLLM_DEVICE void tma_load(uint32_t target, const dllm_tensor_map &map, int32_t row, int32_t column,
                          uint32_t barrier, bool elected)
{
    const uint32_t lane = elected;
    if constexpr (ONCE) {
        uint64_t policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("{\n"
                     ".reg .pred elected;\n"
                     "setp.ne.u32 elected, %6, 0;\n"
                     "@elected cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
                     "::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;\n"
                     "}" ::"r"(target),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier), "l"(policy), "r"(lane)
                     : "memory");
    } else {
        asm volatile("{\n"
                     ".reg .pred elected;\n"
                     "setp.ne.u32 elected, %5, 0;\n"
                     "@elected cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
                     "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n"
                     "}" ::"r"(target),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier), "r"(lane)
                     : "memory");
    }
}

#endif
