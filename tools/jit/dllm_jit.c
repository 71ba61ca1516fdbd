/*
 * dllm_jit.c - the compile helper: one request from descriptor 0, one answer back, gone
 *
 * libdllm starts it, nobody else. It is a process of its own so that NVRTC may change signal
 * handlers, crash or hang without harm to the application.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compile_message.h"
#include "nvrtc.h"
#include "status.h"

static const int channel = STDIN_FILENO;

static bool is_started_by_library(void)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(channel, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/**
 * Dies with the thread that waits for it, leaves no core file, and lets go of descriptors that the
 * application did not mark close-on-exec: a pipe of its own must not stay open because of a
 * compile. Each is a courtesy that the compile does without if it fails.
 */
static void settle_in(void)
{
    const struct rlimit no_core = {0, 0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &no_core);
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
}

static bool send_all(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t sent = send(channel, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_all(void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const ssize_t got = recv(channel, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/** The payload of the next message, whole and with the right digest, or NULL. */
static unsigned char *receive_payload(size_t *size)
{
    unsigned char frame[DLLM_FRAME_BYTES];
    if (!receive_all(frame, sizeof frame) || !dllm__frame_payload_bytes(size, frame)) return NULL;
    unsigned char *payload = malloc(*size + 1);
    if (payload && receive_all(payload, *size) && dllm__frame_matches(frame, payload, *size))
        return payload;
    free(payload);
    return NULL;
}

static void answer_request(dllm_compile_answer *answer, const dllm_compile_request *request)
{
    dllm_nvrtc nvrtc;
    if (dllm__nvrtc_open_file(&nvrtc, request->library) == DLLM_OK) {
        dllm__nvrtc_compile(answer, &nvrtc, request);
        return;
    }
    answer->outcome = DLLM_CANNOT_COMPILE;
    (void)snprintf(answer->reason, sizeof answer->reason, "%s", dllm_last_error());
}

int main(void)
{
    if (!is_started_by_library()) {
        (void)fprintf(stderr, "dllm-jit compiles kernels for libdllm, which starts it by itself\n");
        return EXIT_FAILURE;
    }
    settle_in();
    size_t size = 0;
    dllm_compile_request request;
    dllm_compile_answer answer = {.outcome = DLLM_REJECTED};
    dllm_message message;
    bool answered = send_all(DLLM_HELLO, DLLM_HELLO_BYTES);
    unsigned char *payload = answered ? receive_payload(&size) : NULL;
    if (!payload || !dllm__request_decode(&request, payload, size)) _exit(EXIT_FAILURE);
    answer_request(&answer, &request);
    answered = dllm__answer_encode(&message, &answer) && send_all(message.bytes, message.size);
    /* No exit handlers of NVRTC: the answer is out, and they could only crash or hang. */
    _exit(answered ? EXIT_SUCCESS : EXIT_FAILURE);
}
