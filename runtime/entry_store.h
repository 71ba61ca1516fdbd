/*
 * entry_store.h - the entries of the cache folders: looked up; in the user's published, moved aside
 *
 * v1/k/<2 hex>/<source key>-<build>.dk is one kernel; v1/tmp holds what is being written, v1/bad
 * the last bad entries. Correctness rests on rename alone: a name under k/ is a whole file or none.
 * Nothing here fails a call: what cannot be read is a miss, what cannot be written is not stored.
 */
#ifndef DLLM_ENTRY_STORE_H
#define DLLM_ENTRY_STORE_H

#include "cache_dirs.h"
#include "entry_lock.h"
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
    char build[DLLM_BUILD_BYTES];     /* of its compiler */
    int layer;                        /* 0: it lies in the user's folder */
} dllm_stored_entry;

/**
 * dirs   the user's folder, then read-only ones in the order in which they are asked; copied. What
 *        is not usable is switched off. dir_count is at least 1.
 * log    not owned.
 * calls  not owned; NULL for the real ones.
 */
dllm_status dllm__entry_store_create(dllm_entry_store **out, const dllm_cache_dir *dirs,
                                     int dir_count, const dllm_log *log,
                                     const dllm_file_calls *calls);
void dllm__entry_store_destroy(dllm_entry_store *store);

/** The user's folder, NULL when it is switched off. */
const char *dllm__entry_store_path(const dllm_entry_store *store);

/** Why the user's folder is switched off, NULL if it is not. */
const char *dllm__entry_store_off(const dllm_entry_store *store);

/**
 * Looks a kernel up, in each layer in turn. Bad entries met on the way are moved aside where they are
 * the user's.
 * build        the compiler's build wanted of the user's folder, NULL for any (the newest first).
 *              Read-only folders are filled elsewhere and may have another: any will do.
 * first_layer  0, or one behind the last layer whose entry was of no use
 */
bool dllm__entry_store_load(dllm_stored_entry *out, dllm_entry_store *store,
                            const dllm_kernel_key *key, const char *build, int first_layer);
void dllm__stored_entry_release(dllm_stored_entry *entry);

/** Once more in the user's folder, for what another process may have published since. Of what is no
 * hit nothing is said. */
bool dllm__entry_store_load_again(dllm_stored_entry *out, dllm_entry_store *store,
                                  const dllm_kernel_key *key, const char *build);

/** Moves an entry of no use aside; false if it stays where it is, as in a read-only folder. */
bool dllm__entry_store_refuse(dllm_entry_store *store, const dllm_stored_entry *entry,
                              const char *reason);

/** Waits while another process makes this kernel for the user's folder. */
void dllm__entry_store_lock(dllm_entry_lock *out, const dllm_entry_store *store,
                            const dllm_kernel_key *key);

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

/** Entries removed so far because the folder was above its limit, DLLM_CACHE_MAX. */
uint64_t dllm__entry_store_evicted(const dllm_entry_store *store);

/** Entries moved aside so far. */
uint64_t dllm__entry_store_quarantined(const dllm_entry_store *store);

#endif
