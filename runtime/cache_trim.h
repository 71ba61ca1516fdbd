/*
 * cache_trim.h - the user's folder kept below a limit: what was not used for longest goes
 *
 * When an entry was used last is its modification time, which a hit sets at most once a day. Nothing
 * younger than an hour goes, so that what was just compiled is there for the process that waits.
 * Only a folder with CACHEDIR.TAG in it is a cache: no other is touched.
 */
#ifndef DLLM_CACHE_TRIM_H
#define DLLM_CACHE_TRIM_H

#include "cache_dirs.h"

#include <stdint.h>
#include <time.h>

enum { DLLM_STAMP_SECONDS = 86400, DLLM_TRIM_SECONDS = 3600 };

/** Reads "2G", "500M", "64K" or plain bytes; false for anything else. */
bool dllm__parse_bytes(uint64_t *out, const char *text);

/** What DLLM_CACHE_MAX says; 2 GiB without it, or if it is no size: then `why` says so, else "". */
uint64_t dllm__cache_limit(char why[DLLM_WHY_BYTES]);

typedef struct dllm_trim_report {
    int entries; /* that were there; one that may not be used counts too, and of clear what it
                    leaves alone, a folder in a folder */
    int removed;
    uint64_t bytes;
    uint64_t removed_bytes;
    int young; /* of trim: that would have gone too, but were used within DLLM_TRIM_SECONDS */
    uint64_t young_bytes;
    char left[2 * NAME_MAX + 16]; /* the first that cannot go, below the folder; "": none */
    char left_why[DLLM_WHY_BYTES];
} dllm_trim_report;

/** True if the folder holds CACHEDIR.TAG. */
bool dllm__cache_is_tagged(const dllm_cache_dir *dir);

/**
 * Removes kernels until they are below the limit, as far as their age lets it. What is in a folder
 * that may not be used is not counted, and stays.
 * dry_run  counts alone
 * Returns  false, with nothing counted, if the folder is no cache or there is no memory.
 */
bool dllm__cache_trim(dllm_trim_report *out, const dllm_cache_dir *dir, uint64_t limit_bytes,
                      bool dry_run);

/** Removes all kernels with what belongs to them, all tuned choices, or both; else as above. */
bool dllm__cache_clear(dllm_trim_report *out, const dllm_cache_dir *dir, bool kernels, bool tuning,
                       bool dry_run);

#endif
