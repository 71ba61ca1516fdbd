/*
 * cache_layers.h - all folders that may hold kernels, in the order in which they are asked
 *
 * The user's folder, then the read-only ones: those that DLLM_SYSTEM_CACHE_PATH lists (colons
 * between them), dllm-cache beside the library, /usr/share/dllm/cache. Each has the user folder's
 * shape, so a pack unpacked there serves every user of the machine.
 */
#ifndef DLLM_CACHE_LAYERS_H
#define DLLM_CACHE_LAYERS_H

#include "cache_dirs.h"

enum { DLLM_CACHE_LAYERS_MAX = 12 };

typedef struct dllm_cache_layers {
    int count;                                  /* at least 1 */
    dllm_cache_dir dirs[DLLM_CACHE_LAYERS_MAX]; /* the first is the user's */
} dllm_cache_layers;

/** Reads the environment; touches no folder. One too many in the list is dropped. */
void dllm__cache_layers_find(dllm_cache_layers *out);

#endif
