/*
 * tune_kernel.h - kernels in words: of a specification, and of the key text of an entry
 */
#ifndef TUNE_KERNEL_H
#define TUNE_KERNEL_H

#include "kernel_spec.h"

#include <stddef.h>

enum { TUNE_DEFINES_BYTES = 512 };

typedef struct tune_kernel {
    char program[48]; /* "head_mma.cu" */
    char arch[16];
    char
        defines[TUNE_DEFINES_BYTES]; /* "TILE_ROWS=64 TILE_VOCAB=128": what it was specialised to */
} tune_kernel;

void tune_kernel_of_spec(tune_kernel *out, const dllm_kernel_spec *spec);

/** Of `name value` lines; a field that is not there becomes "?". */
void tune_kernel_of_key(tune_kernel *out, const char *key_text);

#endif
