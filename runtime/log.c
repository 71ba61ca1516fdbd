/* log.c - a line to the context's callback, or to where DLLM_LOG says */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 4000 };

static const char prefix[] = "dllm: ";

/* Writes without SIGPIPE, which would end an application over a line of log. The signal of a broken
   pipe goes to the thread that wrote, so it is held off and taken back here. */
static void write_quietly(int fd, const char *line, size_t bytes)
{
    static const struct timespec at_once = {0, 0};
    sigset_t broken_pipe;
    sigset_t before;
    sigset_t pending;
    (void)sigemptyset(&broken_pipe);
    (void)sigaddset(&broken_pipe, SIGPIPE);
    if (pthread_sigmask(SIG_BLOCK, &broken_pipe, &before) != 0) return;
    const bool was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    if (write(fd, line, bytes) < 0 && errno == EPIPE && !was_pending)
        while (sigtimedwait(&broken_pipe, NULL, &at_once) < 0 && errno == EINTR) {
        }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* One write a line, so that lines of several threads and processes do not mix. A line that cannot
   be written is lost: there is nobody left to tell. Nor is a pipe's reader waited for. */
static void write_line(const char *where, const char *line, size_t bytes)
{
    const bool to_stderr = strcmp(where, "stderr") == 0;
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const int fd = to_stderr ? STDERR_FILENO : open(where, flags, 0600);
    if (fd < 0) return;
    write_quietly(fd, line, bytes);
    if (!to_stderr) (void)close(fd);
}

void dllm__log(const dllm_log *log, const char *format, ...)
{
    const char *where = log->function ? NULL : secure_getenv("DLLM_LOG");
    if (!log->function && (!where || !*where)) return;
    const int saved_errno = errno;
    char line[sizeof prefix + LINE_BYTES + 1];
    memcpy(line, prefix, sizeof prefix);
    char *text = line + sizeof prefix - 1;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, LINE_BYTES + 1, format, arguments);
    va_end(arguments);
    if (log->function) {
        log->function(log->user, text);
    } else {
        const size_t bytes = strlen(line);
        line[bytes] = '\n';
        write_line(where, line, bytes + 1);
    }
    errno = saved_errno;
}
