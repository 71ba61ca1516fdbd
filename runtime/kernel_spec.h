/*
 * kernel_spec.h - what identifies one compiled kernel: source file, entry point, -D values, arch
 *
 * A plain value, made by a family (families.c), turned into key text by kernel_key.c and compiled
 * by compiler.c. R, V, H, strides and offsets are never part of it.
 */
#ifndef DLLM_KERNEL_SPEC_H
#define DLLM_KERNEL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum { DLLM_DEFINES_MAX = 16, DLLM_KERNEL_OPTIONS_MAX = 24, DLLM_KERNEL_OPTION_BYTES = 96 };

typedef struct dllm_define {
    const char *name; /* static text, for instance "DLLM_TILE_ROWS" */
    int64_t value;
} dllm_define;

typedef struct dllm_kernel_spec {
    const char *file;  /* static text: name of the embedded source, "head_mma.cu" */
    const char *entry; /* static text: name of its extern "C" kernel */
    char arch[16];     /* "sm_90a" */
    int define_count;
    dllm_define defines[DLLM_DEFINES_MAX]; /* sorted by name by dllm__kernel_define */
} dllm_kernel_spec;

/** Compiler options of a kernel, in canonical order. */
typedef struct dllm_kernel_options {
    int count;
    char text[DLLM_KERNEL_OPTIONS_MAX][DLLM_KERNEL_OPTION_BYTES];
} dllm_kernel_options;

/** Adds one -D value, keeping the list sorted; the name must be new and the list not full. */
void dllm__kernel_define(dllm_kernel_spec *spec, const char *name, int64_t value);

/**
 * Every option that the compiler gets for a kernel. The key is made from the same list, so an
 * option cannot change without the key.
 */
void dllm__kernel_options(dllm_kernel_options *out, const dllm_kernel_spec *spec);

/** True if both name the same kernel. */
bool dllm__kernel_spec_equal(const dllm_kernel_spec *a, const dllm_kernel_spec *b);

#endif
