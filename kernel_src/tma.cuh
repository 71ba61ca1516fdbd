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
 * Starts the copy of the box whose first element is (row, column) of a 2D tensor.
 * ONCE     the data is read once: L2 may drop it first
 * target   shared address, aligned to 1,024 bytes under the 128-byte swizzle
 * barrier  receives the box's bytes when they have arrived
 */
template <bool ONCE = false>
DLLM_DEVICE void tma_load(uint32_t target, const dllm_tensor_map &map, int32_t row, int32_t column,
                          uint32_t barrier)
{
    if constexpr (ONCE) {
        uint64_t policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(target),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier), "l"(policy)
                     : "memory");
    } else {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(target),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier)
                     : "memory");
    }
}

#endif
