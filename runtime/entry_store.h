/*
 * entry_store.h - the entries of the user's cache folder: looked up, published, moved aside
 *
 * v1/k/<2 hex>/<source key>-<build>.dk is one kernel; v1/tmp holds what is being written, v1/bad
 * the last bad entries. Correctness rests on rename alone: a name under k/ is a whole file or none.
 * Nothing here fails a call: what cannot be read is a miss, what cannot be written is not stored.
 */
#ifndef DLLM_ENTRY_STORE_H
#define DLLM_ENTRY_STORE_H

#include "cache_dirs.h"
#include "entry_publish.h"
#include "kernel_key.h"
#include "log.h"

enum { DLLM_ENTRY_NAME_BYTES = DLLM_SHA256_HEX_BYTES + DLLM_BUILD_BYTES + 4 };

/** The name of an entry's file. */
void dllm__entry_name(char name[DLLM_ENTRY_NAME_BYTES], const char *hex, const char *build);

typedef struct dllm_entry_store dllm_entry_store;

/** A valid entry; release with dllm__stored_entry_release. */
typedef struct dllm_stored_entry {
    unsigned char *cubin; /* owned; aligned for any type, as the driver may read words of it */
    size_t cubin_bytes;
    char name[DLLM_ENTRY_NAME_BYTES]; /* its file's name */
} dllm_stored_entry;

/**
 * dir    copied; one that is not usable gives a store that is switched off.
 * log    not owned.
 * calls  not owned; NULL for the real ones.
 */
dllm_status dllm__entry_store_create(dllm_entry_store **out, const dllm_cache_dir *dir,
                                     const dllm_log *log, const dllm_file_calls *calls);
void dllm__entry_store_destroy(dllm_entry_store *store);

/** The cache folder, NULL when the store is switched off. */
const char *dllm__entry_store_path(const dllm_entry_store *store);

/** Why the store is switched off, NULL if it is not. */
const char *dllm__entry_store_off(const dllm_entry_store *store);

/**
 * Looks a kernel up. Bad entries met on the way are moved aside.
 * build  the compiler's build wanted, NULL for any (the newest first).
 */
bool dllm__entry_store_load(dllm_stored_entry *out, dllm_entry_store *store,
                            const dllm_kernel_key *key, const char *build);
void dllm__stored_entry_release(dllm_stored_entry *entry);

/** Publishes a kernel: true when it is whole and safe on disk, else `why` (DLLM_WHY_BYTES) says
 * why. */
bool dllm__entry_store_publish(dllm_entry_store *store, const dllm_kernel_key *key,
                               const char *build, const unsigned char *cubin, size_t cubin_bytes,
                               char *why);

/**
 * Moves a file of v1/k/<folder> aside; false if it stays.
 * folder  its first two characters count, so that an entry's own name will do.
 */
bool dllm__entry_store_quarantine(dllm_entry_store *store, const char *folder, const char *name,
                                  const char *reason);

/** Entries moved aside so far. */
uint64_t dllm__entry_store_quarantined(const dllm_entry_store *store);

#endif
