/*
 * cache_fixture.h - a cache folder of a test's own, keys for it, its files as they lie on disk
 */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include "cache_dirs.h"
#include "kernel_key.h"
#include "log.h"
#include "scratch.h"

#include <pthread.h>

enum { FIXTURE_PATH_BYTES = 1024 };

typedef struct cache_fixture {
    char top[SCRATCH_BYTES];        /* an empty folder */
    char folder[2 * SCRATCH_BYTES]; /* top/cache, what DLLM_CACHE_DIR names; not made */
    dllm_cache_dir dir;
    dllm_log log; /* counts lines */
    pthread_mutex_t lock;
    int descriptors; /* open when the test began; as many are when it ends */
    int lines;
    char last_line[512];
} cache_fixture;

/** Must stay where it is: the log points at it. */
void fixture_make(cache_fixture *f);
void fixture_remove(cache_fixture *f);

/** A key like a kernel's, another one for every number. */
dllm_kernel_key fixture_key(int number);

/** Path of a key's entry, and of anything else in the folder. */
void fixture_entry_path(char path[FIXTURE_PATH_BYTES], const cache_fixture *f,
                        const dllm_kernel_key *key, const char *build);
void fixture_path(char path[FIXTURE_PATH_BYTES], const cache_fixture *f, const char *below);

/** Files directly in a folder, 0 if it is not there. */
int fixture_count(const cache_fixture *f, const char *below);

/** A whole file; free() it. */
unsigned char *fixture_read(size_t *size, const char *path);
void fixture_write(const char *path, const void *bytes, size_t size);

/** Runs `body` in a child as another user without rights (tests that need it run as root alone);
    its exit code. */
int fixture_run_as_nobody(int (*body)(void *user), void *user);

#endif
