/* log.c - a line to the context's callback, or to where DLLM_LOG says */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4000 };

static const char prefix[] = "dllm: ";

/* One write a line, so that lines of several threads and processes do not mix. A line that cannot
   be written is lost: there is nobody left to tell. */
static void write_line(const char *where, const char *line, size_t bytes)
{
    const bool to_stderr = strcmp(where, "stderr") == 0;
    const int fd =
        to_stderr ? STDERR_FILENO : open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    const ssize_t written = write(fd, line, bytes);
    (void)written;
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
