/* simt_fiber.c - the switch: callee-saved registers and the stack pointer, nothing else */
#include "simt_fiber.h"

#include "simt_sanitizer.h"

#include <stdint.h>
#include <string.h>

static void before_switch(simt_fiber *from, const simt_fiber *to)
{
#ifdef SIMT_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->stack_bytes);
#else
    (void)from;
    (void)to;
#endif
}

/* `back` is running again, or for the first time when it is NULL; `from` has just been left. */
static void after_switch(simt_fiber *back, simt_fiber *from)
{
#ifdef SIMT_ADDRESS_SANITIZER
    const void *stack = NULL;
    size_t stack_bytes = 0;
    __sanitizer_finish_switch_fiber(back ? back->sanitizer : NULL, &stack, &stack_bytes);
    if (from && !from->stack) {
        memcpy(&from->stack, &stack, sizeof stack);
        from->stack_bytes = stack_bytes;
    }
#else
    (void)back;
    (void)from;
#endif
}

void simt_fiber_entered(simt_fiber *from)
{
    after_switch(NULL, from);
}

void simt_fiber_abandon(const simt_fiber *fiber)
{
    SIMT_ALLOW(fiber->stack, fiber->stack_bytes);
}

#if defined(__x86_64__)

/* void simt_switch_stacks(void **save, void *load), by the System V calling convention */
void simt_switch_stacks(void **save, void *load);
__asm__(".text\n"
        ".type simt_switch_stacks, @function\n"
        "simt_switch_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size simt_switch_stacks, . - simt_switch_stacks\n");

void simt_fiber_prepare(simt_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void))
{
    /* as if `entry` had been called: six registers, its address, then a return address of zero that
       leaves the stack pointer where a called function expects it, 8 below a multiple of 16 */
    enum { REGISTERS = 6, WORDS = REGISTERS + 2 };
    uintptr_t frame[WORDS] = {0};
    memcpy(&frame[REGISTERS], &entry, sizeof entry);
    char *top = (char *)stack + stack_bytes / 16 * 16;
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    fiber->stack_pointer = memcpy(top - sizeof frame, frame, sizeof frame);
}

void simt_fiber_switch(simt_fiber *from, simt_fiber *to)
{
    before_switch(from, to);
    simt_switch_stacks(&from->stack_pointer, to->stack_pointer);
    after_switch(from, NULL);
}

#else

void simt_fiber_prepare(simt_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void))
{
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    (void)getcontext(&fiber->registers);
    fiber->registers.uc_stack.ss_sp = stack;
    fiber->registers.uc_stack.ss_size = stack_bytes;
    makecontext(&fiber->registers, entry, 0);
}

void simt_fiber_switch(simt_fiber *from, simt_fiber *to)
{
    before_switch(from, to);
    (void)swapcontext(&from->registers, &to->registers);
    after_switch(from, NULL);
}

#endif
