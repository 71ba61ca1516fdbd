/*
 * cluster.cuh - blocks that run side by side and reach each other's shared memory, sm_90
 *
 * One wrapper an instruction (PTX ISA, "Special Registers", "mapa", "barrier.cluster").
 */
#ifndef DLLM_CLUSTER_CUH
#define DLLM_CLUSTER_CUH

#include "base.cuh"

#ifdef __CUDACC_RTC__

/** Number of the cluster in a grid of one dimension. */
DLLM_DEVICE uint32_t cluster_number()
{
    uint32_t number;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}

/** Number of the block in its cluster. */
DLLM_DEVICE uint32_t cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/** Blocks of the cluster. */
DLLM_DEVICE uint32_t cluster_blocks()
{
    uint32_t blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

/** Where what lies at `here` in shared memory lies in the block of that rank. It may be used from when
 * that block has begun until it ends. */
template <typename T> DLLM_DEVICE T *cluster_map(T *here, uint32_t rank)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
    return there;
}

/** Arrives at the cluster's barrier; says nothing of what was written before. All lanes together. */
DLLM_DEVICE void cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/** Arrives; what this thread wrote before is seen by whoever waits. All lanes together. */
DLLM_DEVICE void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/** Waits until every thread of the cluster has arrived. All lanes together, once after each arrival. */
DLLM_DEVICE void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#else

DLLM_DEVICE uint32_t cluster_number()
{
    return simt_cluster_number();
}

DLLM_DEVICE uint32_t cluster_rank()
{
    return simt_cluster_rank();
}

DLLM_DEVICE uint32_t cluster_blocks()
{
    return simt_cluster_blocks();
}

template <typename T> DLLM_DEVICE T *cluster_map(T *here, uint32_t rank)
{
    return static_cast<T *>(simt_cluster_map(here, rank));
}

DLLM_DEVICE void cluster_arrive_relaxed()
{
    simt_cluster_arrive();
}

DLLM_DEVICE void cluster_arrive()
{
    simt_cluster_arrive();
}

DLLM_DEVICE void cluster_wait()
{
    simt_cluster_wait();
}

#endif

#endif
