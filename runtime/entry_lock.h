/*
 * entry_lock.h - one process makes an entry while the others wait for it
 *
 * An optimisation that saves repeated work, and nothing rests on it: a lock that cannot be had, for
 * whatever reason, is done without. The kernel releases it when its holder dies.
 */
#ifndef DLLM_ENTRY_LOCK_H
#define DLLM_ENTRY_LOCK_H

#include "cache_dirs.h"
#include "sha256.h"

typedef struct dllm_entry_lock {
    dllm_cache_folder folder;
    int fd; /* -1: there is none */
    char name[DLLM_SHA256_HEX_BYTES];
    bool waited;  /* another process had it: what it made may be there now */
    bool gave_up; /* and still had it when the time was over */
} dllm_entry_lock;

/** Takes v1/lock/<hex>, waiting for it up to wait_ms. Release it, whatever came of it. */
void dllm__entry_lock_take(dllm_entry_lock *out, const dllm_cache_dir *dir, const char *hex,
                           int wait_ms);
void dllm__entry_lock_release(dllm_entry_lock *lock);

#endif
