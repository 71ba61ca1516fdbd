/*
 * fake_compiler.h - the functions of compiler.h and dllm__sources_collect without a compiler
 *
 * A cubin is a text, "cubin of FILE ENTRY VALUE...", so that a test sees whose bytes it got.
 */
#ifndef FAKE_COMPILER_H
#define FAKE_COMPILER_H

#include "compiler.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct fake_compiler_state {
    const char *build; /* NULL: no compiler can be opened */
    bool fails;        /* the compiler rejects every source */
    bool dies;         /* its process dies of every source */
    int meet;          /* a compile waits until so many have been running at the same time */
    int wait_ms;       /* but no longer than this */
    atomic_int compiles;
    atomic_int builds_asked;
    atomic_int running;
    atomic_int met; /* the most that ran at the same time */
} fake_compiler_state;

extern fake_compiler_state fake_compiler;

/** Build 13.0.88, nothing counted. */
void fake_compiler_start(void);

/** What a compile of this kernel gives. */
void fake_compiler_cubin(char out[256], const dllm_kernel_spec *spec);

#endif
