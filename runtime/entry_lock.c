/* entry_lock.c - flock on a file of the key's name, asked for again and again */
#include "entry_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10 };

static int open_lock(const dllm_cache_folder *folder, const char *name)
{
    const mode_t mode = folder->trust.shared ? 0660 : 0600;
    return openat(folder->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
}

static bool lock_within(dllm_entry_lock *lock, int wait_ms)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
        if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        lock->waited = true;
        lock->gave_up = waited_ms >= wait_ms;
        if (lock->gave_up) return false;
        (void)nanosleep(&pause, NULL);
    }
}

void dllm__entry_lock_take(dllm_entry_lock *out, const dllm_cache_dir *dir, const char *hex,
                           int wait_ms)
{
    *out = (dllm_entry_lock){.fd = -1};
    memcpy(out->name, hex, sizeof out->name);
    if (!dllm__cache_folder_open(&out->folder, dir, "v1/lock", true)) return;
    out->fd = open_lock(&out->folder, out->name);
    if (out->fd < 0 || lock_within(out, wait_ms)) return;
    (void)close(out->fd);
    out->fd = -1;
}

/* The name goes first: who waits for this file then finds the entry, and who comes now makes another
   file only if there is none. Closing alone would leave the lock with a child that the application forked
   in the meantime. */
void dllm__entry_lock_release(dllm_entry_lock *lock)
{
    if (lock->fd >= 0) {
        (void)unlinkat(lock->folder.fd, lock->name, 0);
        (void)flock(lock->fd, LOCK_UN);
        (void)close(lock->fd);
    }
    lock->fd = -1;
    dllm__cache_folder_close(&lock->folder);
}
