/*
 * compiler.h - from a kernel's specification to a cubin, by NVRTC in a helper process or here
 *
 * DLLM_JIT=helper|inproc|off decides; the helper dllm-jit is looked for beside the library (and in
 * the folder it was installed to), never through PATH. Without a helper the compile runs in this
 * process on a thread of its own; NVRTC then replaces the process's SIGINT and SIGTERM handlers for
 * its duration.
 */
#ifndef DLLM_COMPILER_H
#define DLLM_COMPILER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel_spec.h"
#include "log.h"

typedef struct dllm_compiler dllm_compiler;

/** A compiled kernel; release with dllm__compiled_release. */
typedef struct dllm_compiled {
    unsigned char *cubin;
    size_t cubin_bytes;
    char build[32]; /* "13.0.88": the full version of the compiler */
    char *log;      /* the compiler's words, "" if it had none */
    bool rejected;  /* no cubin, by the compiler's own verdict: it would come again */
} dllm_compiled;

/**
 * Makes a compiler; opens nothing yet.
 * cache_folder  the folder that holds v1/, where the build number may be remembered;
 *               NULL for nowhere. Copied, as the log is. It is not made here: where it does not exist
 *               when the build is learned, dllm__compiler_destroy tries once more.
 */
dllm_status dllm__compiler_create(dllm_compiler **out, const char *cache_folder,
                                  const dllm_log *log);

/** Takes NULL. No compile may be running. */
void dllm__compiler_destroy(dllm_compiler *compiler);

/** Takes this helper and time-out instead of those found; path NULL = none. Before the first use.
 */
dllm_status dllm__compiler_use_helper(dllm_compiler *compiler, const char *path, int timeout_ms);

/**
 * The full version of the compiler at hand, without a compile where the folder remembers it. What
 * is found out holds for the life of the compiler, and so does DLLM_LIBRARY_MISSING.
 * Status   DLLM_LIBRARY_MISSING  none can be opened, or it cannot compile; the message says what was
 *                                looked for (DLLM_JIT=off counts as missing)
 *          DLLM_COMPILE_FAILED   the smallest program failed: the helper died, hung or was cancelled
 *          DLLM_OUT_OF_MEMORY
 */
dllm_status dllm__compiler_build(dllm_compiler *compiler, char out[32]);

/** The same by a compile in any case: whether this compiler works now. */
dllm_status dllm__compiler_probe(dllm_compiler *compiler, char out[32]);

/**
 * Compiles one kernel to a cubin.
 * Status   DLLM_LIBRARY_MISSING as above
 *          DLLM_COMPILE_FAILED  the message has file, line and first error; the whole log goes to
 *                               the log callback, and `rejected` is set. A hang (time-out) or a
 *                               cancel is this too, with the reason, and so is a helper that crashed
 *                               or garbled its answer, and another after it.
 *          DLLM_UNSUPPORTED, DLLM_OUT_OF_MEMORY
 * Threads  any, several at once.
 */
dllm_status dllm__compile(dllm_compiled *out, dllm_compiler *compiler,
                          const dllm_kernel_spec *spec);

/** Frees what dllm__compile filled; leaves the struct zero. */
void dllm__compiled_release(dllm_compiled *compiled);

/**
 * Kills the helpers at work and makes every later compile by helper fail at once. Safe in a signal
 * handler. A compile in this process cannot be stopped.
 */
void dllm__compiler_cancel(dllm_compiler *compiler);

/** What a compiler works with, for people. */
typedef struct dllm_compiler_description {
    const char *mode;        /* "helper", "inproc" or "off": what DLLM_JIT asks for */
    dllm_status status;      /* DLLM_OK if there is a compiler */
    char reason[512];        /* why there is none, else "" */
    char library[PATH_MAX];  /* path of libnvrtc, "" if none was opened */
    char version[16];        /* "13.0" */
    char build[32];          /* "13.0.88" */
    bool remembered;         /* the build came from the cache folder, not from a compile */
    char helper[PATH_MAX];   /* path of dllm-jit, "" if compiling in this process */
    char helper_reason[512]; /* why there is no helper, else "" */
} dllm_compiler_description;

void dllm__compiler_describe(dllm_compiler_description *out, dllm_compiler *compiler);

#endif
