/*
 * griddepcontrol.cuh - a kernel that starts before the one in front of it has ended, sm_90
 *
 * One wrapper an instruction (PTX ISA, "Parallel Synchronization and Communication Instructions:
 * griddepcontrol"). Both do nothing in a kernel that was launched in the ordinary way, and compile to
 * nothing below sm_90.
 */
#ifndef DLLM_GRIDDEPCONTROL_CUH
#define DLLM_GRIDDEPCONTROL_CUH

#include "base.cuh"

/**
 * The next kernel may be launched once every block has said so; it waits for itself. Said just before
 * a block's last stores: said at its start, all blocks of the next kernel crowd onto the one SM that is
 * free first, and what was saved is lost many times over.
 */
DLLM_DEVICE void griddepcontrol_launch_dependents()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** Returns when the kernels in front have ended and their writes are visible. */
DLLM_DEVICE void griddepcontrol_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
