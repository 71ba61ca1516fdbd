/* entry_read.c - from a name to checked bytes */
#include "entry_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dllm_read_outcome ignored(dllm_read_file *out, const char *reason)
{
    out->reason = reason;
    return DLLM_READ_IGNORED;
}

static dllm_read_outcome bad(dllm_read_file *out, const char *reason)
{
    out->reason = reason;
    return DLLM_READ_BAD;
}

static dllm_read_outcome read_bytes(dllm_read_file *out, int fd)
{
    out->bytes = malloc(out->size);
    if (!out->bytes) return ignored(out, "no memory to read it");
    for (size_t have = 0; have < out->size;) {
        const ssize_t got = read(fd, out->bytes + have, out->size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ignored(out, strerror(errno));
        if (got == 0) return bad(out, "it shrank while it was read");
        have += (size_t)got;
    }
    return DLLM_READ_ENTRY;
}

static dllm_read_outcome read_open_file(dllm_read_file *out, int fd, const dllm_trust *trust,
                                        const dllm_read_limits *limits)
{
    struct stat status;
    if (fstat(fd, &status) != 0) return ignored(out, strerror(errno));
    /* what else is no file gives way to the next that is published; a folder would not */
    if (S_ISDIR(status.st_mode)) return bad(out, "it is a folder");
    if (!S_ISREG(status.st_mode)) return ignored(out, "it is not a regular file");
    const char *refusal = dllm__trust_refusal(trust, &status);
    if (refusal) return ignored(out, refusal);
    out->size = (size_t)status.st_size;
    out->used = status.st_mtime;
    if (out->size < limits->least) return bad(out, "shorter than a header");
    if (out->size > limits->most) return bad(out, "larger than an entry may be");
    return read_bytes(out, fd);
}

dllm_read_outcome dllm__file_read(dllm_read_file *out, const dllm_cache_folder *folder,
                                  const char *name, const dllm_read_limits *limits)
{
    memset(out, 0, sizeof *out);
    /* non-blocking, for a planted FIFO must not hold the caller */
    const int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return DLLM_READ_ABSENT;
    if (fd < 0) return ignored(out, errno == ELOOP ? "it is a link" : strerror(errno));
    const dllm_read_outcome outcome = read_open_file(out, fd, &folder->trust, limits);
    (void)close(fd);
    return outcome;
}

dllm_read_outcome dllm__entry_read(dllm_read_file *out, const dllm_cache_folder *folder,
                                   const char *name)
{
    static const dllm_read_limits limits = {.least = DLLM_ENTRY_HEADER_BYTES,
                                            .most = (size_t)DLLM_ENTRY_HEADER_BYTES +
                                                    DLLM_ENTRY_KEY_BYTES_MAX +
                                                    DLLM_ENTRY_PAYLOAD_BYTES_MAX};
    const dllm_read_outcome outcome = dllm__file_read(out, folder, name, &limits);
    if (outcome != DLLM_READ_ENTRY) return outcome;
    const char *reason = dllm__entry_parse(&out->entry, out->bytes, out->size);
    return reason ? bad(out, reason) : DLLM_READ_ENTRY;
}
