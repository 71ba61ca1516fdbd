/*
 * griddepcontrol.cuh - a kernel that starts before the one in front of it has ended, sm_90
 *
 * One wrapper an instruction (PTX ISA, "Parallel Synchronization and Communication Instructions:
 * griddepcontrol"). It does nothing in a kernel that was launched in the ordinary way, and compiles
 * to nothing below sm_90. Its twin, griddepcontrol.launch_dependents, is not used: said at a kernel's
 * start, the waiting blocks crowd onto the SM that is free first; said late, it gained nothing over
 * the end of the kernel (autotune/facts.md).
 */
#ifndef DLLM_GRIDDEPCONTROL_CUH
#define DLLM_GRIDDEPCONTROL_CUH

#include "base.cuh"

/** Returns when the kernels in front have ended and their writes are visible. */
DLLM_DEVICE void griddepcontrol_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
