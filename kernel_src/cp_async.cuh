/*
 * cp_async.cuh - asynchronous copies from global to shared memory, sm_80 and later
 *
 * One wrapper an instruction (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy").
 * A thread waits for its own copies alone: what another thread copied is visible after that thread
 * waited and both passed a barrier.
 */
#ifndef DLLM_CP_ASYNC_CUH
#define DLLM_CP_ASYNC_CUH

#include "base.cuh"

/** Address of a shared object in the 32-bit shared window, as the instructions take it. */
DLLM_DEVICE uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/**
 * Copies 16 bytes past L1, both addresses 16-byte aligned. The hint lets L2 fetch the whole
 * 128-byte line: a tile takes its rows line by line, so the rest of the line is needed next.
 */
DLLM_DEVICE void cp_async_16(uint32_t target, const void *source)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :
                 : "r"(target), "l"(source)
                 : "memory");
}

/** The same where `exists`; else 16 zeros, and nothing is read. */
DLLM_DEVICE void cp_async_16(uint32_t target, const void *source, bool exists)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(target), "l"(source), "r"(exists ? 16 : 0)
                 : "memory");
}

/** Stores two bytes. */
DLLM_DEVICE void st_shared_16(uint32_t target, uint16_t value)
{
    asm volatile("st.shared.u16 [%0], %1;" : : "r"(target), "h"(value) : "memory");
}

/** Makes one group of this thread's copies since the last group; it may be empty. */
DLLM_DEVICE void cp_async_commit_group()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until at most PENDING of this thread's newest groups are unfinished. */
template <int PENDING> DLLM_DEVICE void cp_async_wait_group()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif
