/*
 * entry_read.h - one file of the cache folder read whole, if it may be trusted and is an entry
 */
#ifndef DLLM_ENTRY_READ_H
#define DLLM_ENTRY_READ_H

#include "cache_dirs.h"
#include "entry_file.h"

/** How far a file got. */
typedef enum dllm_read_outcome {
    DLLM_READ_ENTRY,
    DLLM_READ_ABSENT,
    DLLM_READ_IGNORED, /* not ours to trust or to move, or unreadable */
    DLLM_READ_BAD      /* ours, and no entry */
} dllm_read_outcome;

typedef struct dllm_read_file {
    unsigned char *bytes; /* free() it, whatever the outcome */
    size_t size;          /* of the file, as far as it is known */
    time_t used;          /* its modification time */
    dllm_entry entry;     /* in `bytes`; set for DLLM_READ_ENTRY alone */
    const char *reason;   /* why it is IGNORED or BAD, else NULL; valid until the next call */
} dllm_read_file;

/** Sizes of a file that is read at all. */
typedef struct dllm_read_limits {
    size_t least;
    size_t most;
} dllm_read_limits;

/** Reads any file of the folder under the same rules, but for what is in it. */
dllm_read_outcome dllm__file_read(dllm_read_file *out, const dllm_cache_folder *folder,
                                  const char *name, const dllm_read_limits *limits);

/** Reads `name`: no link followed, a regular file of trusted owner and mode, every digest right. */
dllm_read_outcome dllm__entry_read(dllm_read_file *out, const dllm_cache_folder *folder,
                                   const char *name);

#endif
