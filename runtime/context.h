/*
 * context.h - device facts, library tables, caches and worker threads of one device
 */
#ifndef DLLM_CONTEXT_H
#define DLLM_CONTEXT_H

#include "cpu_pool.h"
#include "cublas.h"
#include "device.h"
#include "driver.h"
#include "kernel_cache.h"
#include "log.h"

#include <pthread.h>
#include <stdatomic.h>

struct dllm_tuned_list; /* tuned.h */

struct dllm_context {
    dllm_log log;
    dllm_device device;
    dllm_driver driver;          /* GPU only */
    pthread_mutex_t cublas_lock; /* held while cuBLAS is opened, in prepare only */
    dllm_cublas cublas;          /* GPU only; opened when a problem first wants it */
    dllm_blas_handle blas;
    dllm_cu_context cuda; /* pushed around every call that needs it */
    dllm_cu_device ordinal;
    bool retained;                 /* the primary context is ours to release */
    dllm_kernel_cache *kernels;    /* GPU only */
    struct dllm_tuned_list *tuned; /* GPU only */
    atomic_ullong measurements;    /* candidates timed */
    dllm_cpu_pool *pool;           /* CPU only */
};

/** Opens cuBLAS once. DLLM_LIBRARY_MISSING names what was looked for. The context is current. */
dllm_status dllm__context_cublas(dllm_context *context);

/** Makes the context's CUDA context current, and takes it away again. */
dllm_status dllm__context_enter(const dllm_context *context);
void dllm__context_leave(const dllm_context *context);

#endif
