/*
 * kernel_fetch.h - how one kernel of the cache gets its function: disk, compiler, driver
 */
#ifndef DLLM_KERNEL_FETCH_H
#define DLLM_KERNEL_FETCH_H

#include "compiler.h"
#include "entry_store.h"
#include "kernel_cache.h"

#include <pthread.h>
#include <stdatomic.h>

/**
 * One kernel. The lock is held for as long as a thread fetches it, so that others who want the same
 * kernel wait for the result and nobody else does.
 */
typedef struct dllm_kernel_slot {
    struct dllm_kernel_slot *next;
    pthread_mutex_t lock;
    char hex[DLLM_SHA256_HEX_BYTES];
    char *key_text;
    bool on_disk; /* an entry was seen or published */
    dllm_cu_module module;
    dllm_cu_function function; /* NULL until loaded */
    int shared_bytes;          /* the limit set so far */
    dllm_compiled compiled;    /* bytes whose load has to be repeated, or that no folder has */
    bool imported;             /* those were given by the application */
    dllm_status failure;       /* of a source that the compiler, or bytes that the driver refused */
    char *message;             /* and its words */
} dllm_kernel_slot;

struct dllm_kernel_cache {
    const dllm_driver *driver;
    dllm_log log;
    dllm_entry_store *store;
    dllm_compiler *compiler;
    pthread_mutex_t lock; /* of the list alone */
    dllm_kernel_slot *slots;
    atomic_ullong compiled;
    atomic_ullong loaded_memory;
    atomic_ullong loaded_disk;
    atomic_ullong loaded_system;
    atomic_ullong loaded_imported;
    atomic_ullong loaded_compiled;
    atomic_ullong waited;
    atomic_ullong stored;
    atomic_ullong store_failures;
    atomic_ullong compile_us;
};

/** One call's wish and what came of it. */
typedef struct dllm_kernel_request {
    dllm_kernel_cache *cache;
    const dllm_driver *driver; /* NULL: bytes on disk are enough */
    const dllm_kernel_spec *spec;
    uint32_t prepare;
    dllm_kernel_key key;
    char build[DLLM_BUILD_BYTES]; /* of the compiler at hand; "" = unknown, any entry will do */
    char why[DLLM_WHY_BYTES];     /* why the kernel was not stored */
    bool stuck;                   /* an entry that the driver refused stays in the user's folder */
    dllm_kernel_origin origin;
} dllm_kernel_request;

/**
 * Fills a slot that has no function; its lock is held. With a driver the slot has one afterwards,
 * without one `on_disk` says whether an entry exists.
 */
dllm_status dllm__kernel_fetch(dllm_kernel_slot *slot, dllm_kernel_request *request);

#endif
