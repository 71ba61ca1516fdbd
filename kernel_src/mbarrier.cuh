/*
 * mbarrier.cuh - barriers in shared memory that threads and the copy engine arrive at, sm_90
 *
 * One wrapper an instruction (PTX ISA, "Parallel Synchronization and Communication Instructions:
 * mbarrier"). A barrier is 8 bytes at an 8-byte aligned shared address. It counts arrivals down; at
 * 0, with no bytes outstanding, its phase ends and the count starts again. Phases are known by
 * their parity: the first is 0, and on a fresh barrier a wait for parity 1 returns at once.
 */
#ifndef DLLM_MBARRIER_CUH
#define DLLM_MBARRIER_CUH

#include "base.cuh"

/* While developing: waits give up and trap after so many tries; 0 waits for good. */
#ifndef DLLM_WAIT_LIMIT
#define DLLM_WAIT_LIMIT 0
#endif

/** True for one lane of the calling warp, the same each time (PTX ISA, "elect.sync"). */
DLLM_DEVICE bool elect_lane()
{
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred elected;\n"
                 "elect.sync _|elected, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, elected;\n"
                 "}"
                 : "=r"(elected));
    return elected != 0;
}

/** One thread initialises; the others may use the barrier after fence_mbarrier_init and a barrier
 * of the block. */
DLLM_DEVICE void mbarrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/** Makes initialised barriers visible to the copy engine. */
DLLM_DEVICE void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/** Arrives once; what this thread wrote before is seen by whoever waits for the phase. */
DLLM_DEVICE void mbarrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/** Arrives once and makes the phase wait for so many bytes of copies as well. */
DLLM_DEVICE void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/** True if the phase of this parity has ended; may sleep for a while before it says no. */
DLLM_DEVICE bool mbarrier_try_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t ended;
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, ended;\n"
                 "}"
                 : "=r"(ended)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return ended != 0;
}

/** Waits until the phase of this parity has ended. */
DLLM_DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity)
{
#if DLLM_WAIT_LIMIT
    for (uint32_t tries = 0; !mbarrier_try_wait(barrier, parity); tries++) {
        if (tries == DLLM_WAIT_LIMIT) __trap();
    }
#else
    while (!mbarrier_try_wait(barrier, parity)) {
    }
#endif
}

#endif
