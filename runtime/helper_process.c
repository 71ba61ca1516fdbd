/* helper_process.c - spawns the compile helper, talks to it against a deadline, and reaps it */
#include "helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long an answered helper may take to end by itself before it is killed. */
enum { FAREWELL_MS = 1000 };

/* The kernel's P_PIDFD, which older headers do not name. */
enum { WAIT_BY_PIDFD = 3 };

/**
 * A running helper. The process is held by a pidfd where the kernel has it: its number may be given
 * to another process as soon as the application reaps children that are not its own.
 */
typedef struct child {
    pid_t pid;
    int pidfd;
    int channel;
    int cancel_fd;
    int64_t deadline_ms;
} child;

typedef enum progress { DONE, CLOSED, TIMED_OUT, CANCELLED, BROKEN } progress;

static int64_t now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- talking */

/** Waits until the channel can do `events`, or has been closed. */
static progress wait_for(const child *helper, short events)
{
    for (;;) {
        struct pollfd files[2] = {{helper->channel, events, 0}, {helper->cancel_fd, POLLIN, 0}};
        const int64_t left = helper->deadline_ms - now_ms();
        if (left <= 0) return TIMED_OUT;
        const int ready = poll(files, 2, left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready < 0 && errno != EINTR) return BROKEN;
        if (ready <= 0) continue;
        if (files[1].revents) return CANCELLED;
        if (files[0].revents) return DONE;
    }
}

static progress send_all(const child *helper, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const progress ready = wait_for(helper, POLLOUT);
        if (ready != DONE) return ready;
        const ssize_t sent = send(helper->channel, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (sent < 0) return errno == EPIPE || errno == ECONNRESET ? CLOSED : BROKEN;
        at += sent;
        size -= (size_t)sent;
    }
    return DONE;
}

static progress receive_all(const child *helper, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const progress ready = wait_for(helper, POLLIN);
        if (ready != DONE) return ready;
        const ssize_t got = recv(helper->channel, at, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0 && errno != ECONNRESET) return BROKEN;
        if (got <= 0) return CLOSED;
        at += got;
        size -= (size_t)got;
    }
    return DONE;
}

/* ---- life of the process */

/** Descriptor 0 becomes the channel; 1 and 2 lead nowhere, for the library prints nothing. */
static int set_up_files(posix_spawn_file_actions_t *actions, int channel)
{
    int error = posix_spawn_file_actions_adddup2(actions, channel, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return error;
}

/** No signal blocked or ignored, and a process group of its own: ^C is the application's to answer.
 */
static int set_up_signals(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

/** The one variable a helper gets: how to find libraries, as this process does. */
static char *library_path_variable(void)
{
    const char *value = secure_getenv("LD_LIBRARY_PATH");
    char *variable = NULL;
    if (!value || asprintf(&variable, "LD_LIBRARY_PATH=%s", value) < 0) return NULL;
    return variable;
}

static int spawn_prepared(pid_t *pid, const char *path, int channel,
                          posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes)
{
    char *variable = library_path_variable();
    char *argv[] = {(char *)path, NULL};
    char *environment[] = {variable, NULL};
    int error = set_up_files(actions, channel);
    if (!error) error = set_up_signals(attributes);
    if (!error) error = posix_spawn(pid, path, actions, attributes, argv, environment);
    free(variable);
    return error;
}

static int spawn(pid_t *pid, const char *path, int channel)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = spawn_prepared(pid, path, channel, &actions, &attributes);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/** Starts the helper; 0 or an errno. */
static int start(child *out, const dllm_helper *helper)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
    pid_t pid = -1;
    const int error = spawn(&pid, helper->path, pair[1]);
    (void)close(pair[1]);
    if (error) {
        (void)close(pair[0]);
        return error;
    }
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    *out = (child){pid, pidfd, pair[0], helper->cancel_fd, now_ms() + helper->timeout_ms};
    return 0;
}

static void kill_child(const child *helper)
{
    if (helper->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, helper->pidfd, SIGKILL, NULL, 0);
    else
        (void)kill(helper->pid, SIGKILL);
}

/**
 * Ends and reaps the helper; fills si_code and si_status where its fate can still be known. One
 * that has closed its end is on its way out, so the kill changes nothing about it.
 */
static siginfo_t finish(child *helper, bool may_end_itself)
{
    siginfo_t fate = {0};
    if (may_end_itself) {
        char byte = 0;
        helper->deadline_ms = now_ms() + FAREWELL_MS;
        (void)receive_all(helper, &byte, 1);
    }
    kill_child(helper);
    const bool by_pidfd = helper->pidfd >= 0;
    const idtype_t type = by_pidfd ? (idtype_t)WAIT_BY_PIDFD : P_PID;
    const id_t id = (id_t)(by_pidfd ? helper->pidfd : helper->pid);
    while (waitid(type, id, &fate, WEXITED) != 0) {
        if (errno == EINTR) continue;
        memset(&fate, 0, sizeof fate); /* reaped by the application, or nobody waits for children */
        break;
    }
    if (by_pidfd) (void)close(helper->pidfd);
    (void)close(helper->channel);
    return fate;
}

/* ---- one compile */

static progress receive_answer(dllm_compile_answer *out, const child *helper)
{
    unsigned char frame[DLLM_FRAME_BYTES];
    size_t size = 0;
    progress state = receive_all(helper, frame, sizeof frame);
    if (state != DONE) return state;
    if (!dllm__frame_payload_bytes(&size, frame)) return BROKEN;
    unsigned char *payload = malloc(size + 1);
    if (!payload) {
        dllm__answer_no_memory(out, "the helper's answer");
        return DONE;
    }
    state = receive_all(helper, payload, size);
    if (state == DONE &&
        (!dllm__frame_matches(frame, payload, size) || !dllm__answer_decode(out, payload, size)))
        state = BROKEN;
    free(payload);
    return state;
}

/** Says why a helper that had begun gave no answer. */
static void explain(dllm_compile_answer *out, const dllm_helper *helper, progress state,
                    const siginfo_t *fate)
{
    char *reason = out->reason;
    const size_t room = sizeof out->reason;
    const char *path = helper->path;
    if (state == TIMED_OUT)
        (void)snprintf(reason, room, "%s gave no answer within %d ms and was killed", path,
                       helper->timeout_ms);
    else if (state == CANCELLED)
        (void)snprintf(reason, room, "the compile was cancelled");
    else if (state == BROKEN)
        (void)snprintf(reason, room, "%s sent a garbled answer", path);
    else if (fate->si_code == CLD_KILLED || fate->si_code == CLD_DUMPED)
        (void)snprintf(reason, room, "%s died of signal %d while compiling", path, fate->si_status);
    else
        (void)snprintf(reason, room, "%s ended without a whole answer", path);
}

dllm_helper_end dllm__helper_compile(dllm_compile_answer *out, const dllm_helper *helper,
                                     const dllm_compile_request *request)
{
    memset(out, 0, sizeof *out);
    child process = {.pid = -1, .pidfd = -1, .channel = -1};
    dllm_message message;
    char hello[DLLM_HELLO_BYTES] = "";
    if (!dllm__request_encode(&message, request)) {
        dllm__answer_no_memory(out, "the request to the helper");
        return DLLM_HELPER_ANSWERED;
    }
    const int error = start(&process, helper);
    if (error) {
        free(message.bytes);
        (void)snprintf(out->reason, sizeof out->reason, "%s cannot be started: %s", helper->path,
                       strerror(error));
        return DLLM_HELPER_NOT_STARTED;
    }
    progress state = receive_all(&process, hello, sizeof hello);
    const bool is_helper = state != CLOSED && memcmp(hello, DLLM_HELLO, sizeof hello) == 0;
    if (state == DONE && is_helper) state = send_all(&process, message.bytes, message.size);
    if (state == DONE && is_helper) state = receive_answer(out, &process);
    free(message.bytes);
    const siginfo_t fate = finish(&process, state == DONE || state == CLOSED);
    if (!is_helper && (state == DONE || state == CLOSED)) {
        (void)snprintf(out->reason, sizeof out->reason, "%s is no working helper of this version",
                       helper->path);
        return DLLM_HELPER_NOT_STARTED;
    }
    if (state == DONE) return DLLM_HELPER_ANSWERED;
    explain(out, helper, state, &fate);
    return state == TIMED_OUT || state == CANCELLED ? DLLM_HELPER_STOPPED : DLLM_HELPER_DIED;
}
