/* tuner_lock.c - flock, asked again and again */
#include "tuner_lock.h"

#include "cache_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const struct timespec pause_between = {.tv_nsec = 50000000};

/* The lock file, open; -1 with the reason. */
static int open_file(const dllm_context *context, char why[DLLM_WHY_BYTES])
{
    char name[64];
    dllm_cache_dir dir;
    dllm_cache_folder folder;
    dllm__cache_dir_find(&dir);
    (void)snprintf(why, DLLM_WHY_BYTES, "%s", dir.why);
    if (!dir.usable) return -1;
    if (!dllm__cache_folder_open(&folder, &dir, "v1/lock", true)) {
        memcpy(why, folder.why, DLLM_WHY_BYTES);
        return -1;
    }
    (void)snprintf(name, sizeof name, "tune-%s", context->device.uuid);
    const int file = openat(folder.fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) (void)snprintf(why, DLLM_WHY_BYTES, "%s: %s", name, strerror(errno));
    dllm__cache_folder_close(&folder);
    return file;
}

int dllm__tuner_lock(const dllm_context *context, bool (*goes_on)(void *user), void *user)
{
    char why[DLLM_WHY_BYTES];
    bool waited = false;
    const int file = open_file(context, why);
    if (file < 0) {
        dllm__log(&context->log, "tuning without a lock on the GPU: %s", why);
        return -1;
    }
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) break; /* this file system has no locks */
        if (!goes_on(user)) break;
        if (!waited) dllm__log(&context->log, "another process tunes on this GPU: waiting");
        waited = true;
        (void)nanosleep(&pause_between, NULL);
    }
    return file;
}

void dllm__tuner_unlock(int lock)
{
    if (lock < 0) return;
    (void)flock(lock, LOCK_UN); /* a child that was forked meanwhile has the descriptor too */
    (void)close(lock);
}
