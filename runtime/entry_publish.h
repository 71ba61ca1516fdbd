/*
 * entry_publish.h - a file of the cache folder written so that it is there whole or not at all
 *
 * Created under v1/tmp, written, synced, closed, renamed into place, the folder synced. The first
 * failure ends it and leaves neither the temporary nor the final name behind.
 */
#ifndef DLLM_ENTRY_PUBLISH_H
#define DLLM_ENTRY_PUBLISH_H

#include "cache_dirs.h"
#include "entry_file.h"

#include <sys/types.h>

/** The system calls of publishing; tests hand in ones that fail. */
typedef struct dllm_file_calls {
    int (*create)(int folder, const char *name); /* a new file for writing */
    ssize_t (*write)(int fd, const void *bytes, size_t size);
    int (*sync)(int fd);
    int (*close)(int fd);
    int (*rename)(int from_folder, const char *from, int to_folder, const char *to);
} dllm_file_calls;

/** The real ones. */
extern const dllm_file_calls dllm__file_calls;

/**
 * Publishes an entry as v1/k/<first two of name>/<name>, making folders and CACHEDIR.TAG as needed.
 * why      DLLM_WHY_BYTES; filled when the result is false.
 */
bool dllm__entry_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls, const char *name,
                         const dllm_entry *entry, char *why);

/** Publishes a text as <below>/<name>, in the same way. */
bool dllm__text_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls, const char *below,
                        const char *name, const char *text, char *why);

/** True if the open folder v1 holds CACHEDIR.TAG, as a regular file: what else has the name is none. */
bool dllm__tag_is_there(const dllm_cache_folder *top);

/** Removes what processes that died left in v1/tmp and v1/lock: files older than an hour. */
void dllm__entry_sweep(const dllm_cache_dir *dir);

#endif
