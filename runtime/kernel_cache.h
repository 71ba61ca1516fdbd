/*
 * kernel_cache.h - from a kernel's specification to its function, or to its bytes
 *
 * Memory, then the cache folders, then the compiler; one thread compiles a key while others with the
 * same key wait, and other keys do not. A bad entry is moved aside and never fails a call.
 */
#ifndef DLLM_KERNEL_CACHE_H
#define DLLM_KERNEL_CACHE_H

#include "driver.h"
#include "entry_file.h"
#include "kernel_key.h"
#include "kernel_spec.h"
#include "log.h"

#include <stdbool.h>

typedef struct dllm_kernel_cache dllm_kernel_cache;

typedef enum dllm_kernel_source {
    DLLM_KERNEL_NONE = 0, /* the CPU backend has no kernel */
    DLLM_KERNEL_MEMORY,
    DLLM_KERNEL_DISK,
    DLLM_KERNEL_SYSTEM,   /* a read-only folder */
    DLLM_KERNEL_IMPORTED, /* bytes that the application gave */
    DLLM_KERNEL_COMPILED
} dllm_kernel_source;

/** Where a kernel came from. */
typedef struct dllm_kernel_origin {
    dllm_kernel_source source;
    bool stored;       /* published on disk by this request */
    double compile_ms; /* 0 unless compiled by this request */
} dllm_kernel_origin;

/**
 * driver   table with the context to use current in each call that loads; NULL to compile ahead into
 *          the user's folder, the others then do not count. Not owned.
 * log      copied.
 */
dllm_status dllm__kernel_cache_create(dllm_kernel_cache **out, const dllm_driver *driver,
                                      const dllm_log *log);

/** Unloads every module (the CUDA context must be current) and frees; takes NULL. */
void dllm__kernel_cache_destroy(dllm_kernel_cache *cache);

/**
 * The function of a kernel, loaded into the current CUDA context.
 * prepare      DLLM_PREPARE_ bits: CACHE_ONLY and NO_DISK are obeyed here.
 * shared_bytes dynamic shared memory that launches will use; the limit is raised once.
 * origin       may be NULL.
 * Status       DLLM_NOT_CACHED, DLLM_LIBRARY_MISSING, DLLM_COMPILE_FAILED (a rejected source is remembered),
 *              DLLM_CAPTURING (nothing changed, may be repeated), DLLM_OUT_OF_MEMORY,
 *              DLLM_DRIVER_FAILED with call, code and kernel
 */
dllm_status dllm__kernel_get(dllm_cu_function *out, dllm_kernel_origin *origin,
                             dllm_kernel_cache *cache, const dllm_kernel_spec *spec,
                             uint32_t prepare, int shared_bytes);

/**
 * Makes sure the disk folder holds a kernel, without a driver. DLLM_UNSUPPORTED without a folder, or
 * when it cannot be written: the message has the reason.
 */
dllm_status dllm__kernel_prebuild(dllm_kernel_origin *origin, dllm_kernel_cache *cache,
                                  const dllm_kernel_spec *spec);

/** What became of something that was given to a context. */
typedef enum dllm_gift {
    DLLM_GIFT_TAKEN,
    DLLM_GIFT_HAD,    /* it was there */
    DLLM_GIFT_WORSE,  /* something better was there */
    DLLM_GIFT_FOREIGN /* for another device */
} dllm_gift;

/** Keeps a kernel's bytes, copied, for the request that asks for it. */
dllm_status dllm__kernel_cache_give(dllm_gift *out, dllm_kernel_cache *cache,
                                    const dllm_kernel_key *key, const char *build,
                                    const dllm_entry *entry);

/** Sees one kernel's bytes; false ends the visit. */
typedef bool (*dllm_kernel_visit)(void *user, const dllm_kernel_key *key, const char *build,
                                  const unsigned char *cubin, size_t cubin_bytes);

/** Visits every kernel that was loaded or given, as far as its bytes are at hand; false if ended. */
bool dllm__kernel_cache_visit(dllm_kernel_cache *cache, dllm_kernel_visit visit, void *user);

/** Adds the cache's counters to `out` (compiled ... compile_ms; measurements are not its own). */
void dllm__kernel_cache_statistics(const dllm_kernel_cache *cache, dllm_statistics *out);

#endif
