/*
 * entry_walk.h - the entries of the user's cache folder, listed and verified
 */
#ifndef DLLM_ENTRY_WALK_H
#define DLLM_ENTRY_WALK_H

#include "cache_dirs.h"
#include "entry_file.h"
#include "kernel_key.h"

/** What dllm__entry_walk found under one name; valid during the visit. */
typedef struct dllm_entry_report {
    const char *folder; /* two hex digits: with `name`, what dllm__entry_store_quarantine takes */
    const char *name;   /* of the file */
    const char *path;
    size_t file_bytes;
    const char *key_text; /* zero-terminated, "" if it cannot be read */
    const char *build;    /* of the compiler, "" likewise */
    const char *reason;   /* NULL: a valid entry; else why it is none, or why it is ignored */
    bool ignored;         /* not ours to read or to move */
    bool refused; /* no file: the folder at `path`, with all that is in it, may not be used for this
                     reason; `name` is "", and `folder` as well when nothing can be */
} dllm_entry_report;

/**
 * What a lookup finds out from the key that it wants, found out from the file alone: key, build, and
 * that it lies under its own name. NULL, or the reason (static text) why not.
 */
const char *dllm__entry_check_name(dllm_kernel_key *key, char build[DLLM_BUILD_BYTES],
                                   const dllm_entry *entry, const char *folder_name,
                                   const char *name);

typedef void (*dllm_entry_visit)(void *user, const dllm_entry_report *report);

/**
 * Visits every file under v1/k in order of name, each checked as a lookup checks it, and every
 * folder of the store that a lookup or a publication would refuse. A cache folder that is not usable
 * or absent has none. The visit may move the file aside.
 */
void dllm__entry_walk(const dllm_cache_dir *dir, dllm_entry_visit visit, void *user);

#endif
