/*
 * helper_process.h - one compile in a process of its own
 *
 * NVRTC replaces signal handlers of its process, and may crash or hang in it; here that process is
 * the helper dllm-jit. It gets a clean environment, none of our descriptors and one end of a socket
 * pair. What it sends decides, never its exit status, which the application may have reaped. The
 * application sees one SIGCHLD a compile, and nothing else.
 */
#ifndef DLLM_HELPER_PROCESS_H
#define DLLM_HELPER_PROCESS_H

#include "compile_message.h"

typedef struct dllm_helper {
    const char *path; /* absolute path of dllm-jit */
    int timeout_ms;   /* for the whole of it, then it is killed */
    int cancel_fd;    /* readable: kill it; -1 = none */
} dllm_helper;

typedef enum dllm_helper_end {
    DLLM_HELPER_ANSWERED, /* the answer is whole, whatever its outcome; this process's own lack of
                                memory is one */
    DLLM_HELPER_NOT_STARTED, /* no working helper at this path: compile elsewhere */
    DLLM_HELPER_DIED,        /* it began and ended early, or sent garbage: another may do better */
    DLLM_HELPER_STOPPED      /* it hung or was cancelled, and was killed */
} dllm_helper_end;

/**
 * Starts a helper, has it compile, and reaps it.
 * out      unless answered only `reason` is set, to one line. Release it in any case.
 * Threads  any, several at once, a helper each.
 */
dllm_helper_end dllm__helper_compile(dllm_compile_answer *out, const dllm_helper *helper,
                                     const dllm_compile_request *request);

#endif
