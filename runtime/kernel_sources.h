/*
 * kernel_sources.h - the kernel files: bytes and digests, and what a program includes
 *
 * The table is generated from kernel_src/ by tools/embed_kernels.cmake. With DLLM_KERNEL_DIR set
 * (and the program not set-uid) files are read from there instead, for development.
 */
#ifndef DLLM_KERNEL_SOURCES_H
#define DLLM_KERNEL_SOURCES_H

#include "dllm.h"

typedef struct dllm_source {
    const char *name;           /* "head_mma.cu" */
    const unsigned char *bytes; /* ends with a zero byte that `size` does not count */
    size_t size;
    unsigned char digest[32]; /* SHA-256 of the bytes */
} dllm_source;

/** The generated table, sorted by name. */
extern const dllm_source dllm__embedded_sources[];
extern const int dllm__embedded_source_count;

enum { DLLM_SOURCES_MAX = 32 };

/** A program and everything it includes: the program first, headers sorted by name. */
typedef struct dllm_source_set {
    int count;
    dllm_source sources[DLLM_SOURCES_MAX];
    unsigned char *owned[DLLM_SOURCES_MAX]; /* memory of a file of DLLM_KERNEL_DIR, else NULL */
} dllm_source_set;

/**
 * Collects `file` and, by its #include "..." lines, all it needs. Lines are taken whatever #if they
 * stand under: a header too many costs nothing, one too few would be missing from the key.
 * Status   DLLM_UNSUPPORTED    a file is unknown or cannot be read; the message names it
 *          DLLM_OUT_OF_MEMORY
 * Owner    release with dllm__sources_release; on failure nothing is held.
 */
dllm_status dllm__sources_collect(dllm_source_set *out, const char *file);

/** Frees what the set holds and leaves it empty. */
void dllm__sources_release(dllm_source_set *set);

#endif
