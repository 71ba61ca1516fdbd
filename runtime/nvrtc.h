/*
 * nvrtc.h - the part of NVRTC that the library calls, opened at run time, and one compile with it
 *
 * The prototypes are declared here, not taken from nvrtc.h, so that the library builds where no
 * toolkit is. An opened NVRTC is never closed.
 */
#ifndef DLLM_NVRTC_H
#define DLLM_NVRTC_H

#include <limits.h>

#include "compile_message.h"
#include "dllm.h"

typedef int dllm_nvrtc_result;
typedef struct dllm_nvrtc_program_state *dllm_nvrtc_program;

/* name in the table, symbol in the library, result, parameters */
#define DLLM_NVRTC_CALLS(X)                                                                        \
    X(version, nvrtcVersion, dllm_nvrtc_result, (int *, int *))                                    \
    X(result_text, nvrtcGetErrorString, const char *, (dllm_nvrtc_result))                         \
    X(program_create, nvrtcCreateProgram, dllm_nvrtc_result,                                       \
      (dllm_nvrtc_program *, const char *, const char *, int, const char *const *,                 \
       const char *const *))                                                                       \
    X(program_destroy, nvrtcDestroyProgram, dllm_nvrtc_result, (dllm_nvrtc_program *))             \
    X(program_compile, nvrtcCompileProgram, dllm_nvrtc_result,                                     \
      (dllm_nvrtc_program, int, const char *const *))                                              \
    X(log_size, nvrtcGetProgramLogSize, dllm_nvrtc_result, (dllm_nvrtc_program, size_t *))         \
    X(log, nvrtcGetProgramLog, dllm_nvrtc_result, (dllm_nvrtc_program, char *))                    \
    X(cubin_size, nvrtcGetCUBINSize, dllm_nvrtc_result, (dllm_nvrtc_program, size_t *))            \
    X(cubin, nvrtcGetCUBIN, dllm_nvrtc_result, (dllm_nvrtc_program, char *))

/** Entry points of libnvrtc; filled whole or not at all. */
typedef struct dllm_nvrtc {
    void *library;
    char path[PATH_MAX]; /* absolute path of the file that was opened, links resolved */
    int major;
    int minor;
#define DLLM_NVRTC_SLOT(name, symbol, result, parameters) result(*name) parameters;
    DLLM_NVRTC_CALLS(DLLM_NVRTC_SLOT)
#undef DLLM_NVRTC_SLOT
} dllm_nvrtc;

/**
 * Opens libnvrtc.so.13, else libnvrtc.so.12; with DLLM_NVRTC set (and the program not set-uid) only
 * the file it names.
 * Status   DLLM_LIBRARY_MISSING  the message has what was looked for and why it was not taken
 */
dllm_status dllm__nvrtc_open(dllm_nvrtc *out);

/** The same for one file. */
dllm_status dllm__nvrtc_open_file(dllm_nvrtc *out, const char *file);

/** The path of the builtins library that belongs to an opened one, whether it exists or not. */
bool dllm__nvrtc_builtins_path(char out[PATH_MAX], const dllm_nvrtc *nvrtc);

/**
 * Compiles in this process, on a thread of its own with a stack of 8 MiB (NVRTC crashes on one of
 * 64 KiB, and the caller's may be as small); returns when it is done.
 * NOTE: while it runs NVRTC replaces the process's SIGINT and SIGTERM handlers.
 */
void dllm__nvrtc_compile(dllm_compile_answer *out, const dllm_nvrtc *nvrtc,
                         const dllm_compile_request *request);

#endif
