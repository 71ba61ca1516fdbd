/*
 * simt_fiber.h - stacks that take turns in one operating-system thread
 *
 * The sanitizers are told of each switch, so that they judge the stack that is in use.
 */
#ifndef DLLM_SIMT_FIBER_H
#define DLLM_SIMT_FIBER_H

#include <stddef.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef struct simt_fiber {
    void *stack; /* its own memory; the first caller's fiber learns its bounds when it is left */
    size_t stack_bytes;
    void *sanitizer; /* what AddressSanitizer keeps of a stack that waits */
#if defined(__x86_64__)
    void *stack_pointer; /* of a fiber that waits */
#else
    ucontext_t registers;
#endif
} simt_fiber;

/** Makes a fiber that will run `entry` from its beginning. `entry` must not return. */
void simt_fiber_prepare(simt_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void));

/** Goes on with `to`; returns when something switches back to `from`. */
void simt_fiber_switch(simt_fiber *from, simt_fiber *to);

/** Forgets the frames of a fiber that will never be taken up again: its stack is plain memory. */
void simt_fiber_abandon(const simt_fiber *fiber);

/** The first thing a fiber's entry must call; `from` is the fiber that switched to it. */
void simt_fiber_entered(simt_fiber *from);

#endif
