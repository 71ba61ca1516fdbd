/*
 * cache_dirs.h - where the user's cache folder is, whose it must be, how its folders are opened
 *
 * DLLM_CACHE_DIR, else XDG_CACHE_HOME/dllm if absolute, else HOME/.cache/dllm, else the same in the
 * passwd entry's home, else none. The first that is set is the folder, usable or not. Variables are
 * ignored in set-uid programs. Nothing is created before
 * there is something to compile or to publish.
 */
#ifndef DLLM_CACHE_DIRS_H
#define DLLM_CACHE_DIRS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { DLLM_WHY_BYTES = 256 };

/** A folder as the environment names it, and what a probe found. */
typedef struct dllm_cache_dir {
    char path[PATH_MAX];      /* "" = none */
    const char *variable;     /* "DLLM_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "passwd" or "none";
                                 for a read-only folder what cache_layers.c calls it */
    size_t given_bytes;       /* so much of the path, a home folder, is never created */
    bool usable;              /* it may be tried: the path is absolute and not / */
    bool exists;              /* found by dllm__cache_dir_probe, like the next */
    bool writable;            /* or would be, once created */
    char why[DLLM_WHY_BYTES]; /* why it is not usable or not writable, else "" */
} dllm_cache_dir;

/** Reads the environment; touches no folder. */
void dllm__cache_dir_find(dllm_cache_dir *out);

/** Takes this folder, whatever the environment says; variable is static text that names its origin. */
void dllm__cache_dir_take(dllm_cache_dir *out, const char *variable, const char *path);

/** Finds out `exists`, `writable` and `why`, by writing into it and what it holds, where they exist. */
void dllm__cache_dir_probe(dllm_cache_dir *dir);

/**
 * Whose files are trusted. A folder named by DLLM_CACHE_DIR whose set-group-id bit is set is
 * shared: there, and only there, what belongs to its group is trusted as well.
 */
typedef struct dllm_trust {
    bool shared;
    uid_t user;
    gid_t group;
} dllm_trust;

/** NULL, or the reason (static text) why something with this owner and mode is not trusted. */
const char *dllm__trust_refusal(const dllm_trust *trust, const struct stat *status);

/** A folder of the cache, open. */
typedef struct dllm_cache_folder {
    int fd;
    dllm_trust trust;
    char why[DLLM_WHY_BYTES]; /* after a failure: the reason, "" if the folder is just not there */
} dllm_cache_folder;

/**
 * Opens the folder `below` ("v1/k/3f") of a usable cache folder, checking each one on the way.
 * Below the cache folder itself no link is followed. create   makes the missing ones, mode 0700;
 * where the folder is shared, open to its group. Returns  false with `why`; then nothing is open.
 */
bool dllm__cache_folder_open(dllm_cache_folder *out, const dllm_cache_dir *dir, const char *below,
                             bool create);
void dllm__cache_folder_close(dllm_cache_folder *folder);

#endif
