/* entry_store.c - names of entries; lookup, publishing and quarantine by them */
#include "entry_store.h"

#include "entry_read.h"
#include "status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BELOW_BYTES = 16, BAD_ENTRIES_MAX = 16, KEY_DIGITS = DLLM_SHA256_HEX_BYTES - 1 };

struct dllm_entry_store {
    dllm_cache_dir dir;
    const dllm_log *log;
    const dllm_file_calls *calls;
    char why[DLLM_WHY_BYTES];
    _Atomic(const char *) off; /* `why` the folder may not be used; NULL: it may */
    atomic_bool closing;       /* the first to find out says why */
    atomic_bool swept;         /* v1/tmp was looked through */
    atomic_bool told;          /* a failure to publish was logged */
    atomic_ullong quarantined;
};

static void switch_off(dllm_entry_store *store, const char *why)
{
    if (atomic_exchange(&store->closing, true)) return;
    (void)snprintf(store->why, sizeof store->why, "%s", why);
    atomic_store(&store->off, store->why);
    dllm__log(store->log, "cache folder switched off: %s", why);
}

dllm_status dllm__entry_store_create(dllm_entry_store **out, const dllm_cache_dir *dir,
                                     const dllm_log *log, const dllm_file_calls *calls)
{
    dllm_entry_store *store = calloc(1, sizeof *store);
    if (!store) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the cache's entry store");
    store->dir = *dir;
    store->log = log;
    store->calls = calls ? calls : &dllm__file_calls;
    if (!dir->usable) switch_off(store, dir->why);
    *out = store;
    return DLLM_OK;
}

void dllm__entry_store_destroy(dllm_entry_store *store)
{
    free(store);
}

const char *dllm__entry_store_path(const dllm_entry_store *store)
{
    return atomic_load(&store->off) ? NULL : store->dir.path;
}

const char *dllm__entry_store_off(const dllm_entry_store *store)
{
    return atomic_load(&store->off);
}

uint64_t dllm__entry_store_quarantined(const dllm_entry_store *store)
{
    return atomic_load(&store->quarantined);
}

/* ---- names: v1/k/<2 hex>/<source key>-<build>.dk */

static void make_folder_name(char below[BELOW_BYTES], const char *folder)
{
    (void)snprintf(below, BELOW_BYTES, "v1/k/%.2s", folder);
}

void dllm__entry_name(char name[DLLM_ENTRY_NAME_BYTES], const char *hex, const char *build)
{
    (void)snprintf(name, DLLM_ENTRY_NAME_BYTES, "%.64s-%.31s.dk", hex, build);
}

/* The build in the name of a file of this key; false if it is none. */
static bool build_of_name(char build[DLLM_BUILD_BYTES], const char *name, const char *hex)
{
    const size_t around = KEY_DIGITS + sizeof "-.dk" - 1;
    const size_t length = strlen(name);
    if (length <= around || length - around >= DLLM_BUILD_BYTES) return false;
    if (strncmp(name, hex, KEY_DIGITS) != 0 || name[KEY_DIGITS] != '-') return false;
    if (strcmp(name + length - 3, ".dk") != 0) return false;
    memcpy(build, name + KEY_DIGITS + 1, length - around);
    build[length - around] = '\0';
    return dllm__build_is_plain(build);
}

/* ---- lookup */

static dllm_read_outcome read_wanted(dllm_read_file *file, const dllm_cache_folder *folder,
                                     const char *name, const dllm_kernel_key *wanted)
{
    const dllm_read_outcome outcome = dllm__entry_read(file, folder, name);
    if (outcome != DLLM_READ_ENTRY) return outcome;
    if (file->entry.key_bytes == wanted->text_bytes &&
        memcmp(file->entry.key_text, wanted->text, wanted->text_bytes) == 0)
        return DLLM_READ_ENTRY;
    file->reason = "key text of another kernel";
    return DLLM_READ_BAD;
}

static bool load_build(dllm_stored_entry *out, dllm_entry_store *store,
                       const dllm_cache_folder *folder, const dllm_kernel_key *key,
                       const char *build)
{
    dllm_read_file file;
    dllm_kernel_key wanted;
    dllm__entry_name(out->name, key->hex, build);
    dllm__kernel_key_with_build(&wanted, key, build);
    const dllm_read_outcome outcome = read_wanted(&file, folder, out->name, &wanted);
    if (outcome == DLLM_READ_ENTRY) {
        /* the key text has done its work; the cubin takes its aligned place */
        memmove(file.bytes, file.entry.payload, file.entry.payload_bytes);
        out->cubin = file.bytes;
        out->cubin_bytes = file.entry.payload_bytes;
        return true;
    }
    free(file.bytes);
    if (outcome == DLLM_READ_IGNORED)
        dllm__log(store->log, "cache entry %s ignored: %s", out->name, file.reason);
    if (outcome == DLLM_READ_BAD)
        (void)dllm__entry_store_quarantine(store, out->name, out->name, file.reason);
    return false;
}

/* The newest build comes last in the order of versions. */
static bool load_any_build(dllm_stored_entry *out, dllm_entry_store *store,
                           const dllm_cache_folder *folder, const dllm_kernel_key *key)
{
    struct dirent **names = NULL;
    bool found = false;
    const int count = scandirat(folder->fd, ".", &names, NULL, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        char build[DLLM_BUILD_BYTES];
        if (!found && build_of_name(build, names[i]->d_name, key->hex))
            found = load_build(out, store, folder, key, build);
        free(names[i]);
    }
    free(names);
    return found;
}

bool dllm__entry_store_load(dllm_stored_entry *out, dllm_entry_store *store,
                            const dllm_kernel_key *key, const char *build)
{
    char below[BELOW_BYTES];
    dllm_cache_folder folder;
    memset(out, 0, sizeof *out);
    if (atomic_load(&store->off)) return false;
    make_folder_name(below, key->hex);
    if (!dllm__cache_folder_open(&folder, &store->dir, below, false)) {
        if (folder.why[0]) switch_off(store, folder.why);
        return false;
    }
    const bool found = build ? load_build(out, store, &folder, key, build)
                             : load_any_build(out, store, &folder, key);
    dllm__cache_folder_close(&folder);
    return found;
}

void dllm__stored_entry_release(dllm_stored_entry *entry)
{
    free(entry->cubin);
    memset(entry, 0, sizeof *entry);
}

/* ---- publishing */

bool dllm__entry_store_publish(dllm_entry_store *store, const dllm_kernel_key *key,
                               const char *build, const unsigned char *cubin, size_t cubin_bytes,
                               char *why)
{
    char name[DLLM_ENTRY_NAME_BYTES];
    dllm_kernel_key text;
    const char *off = atomic_load(&store->off);
    const char *refusal = off                            ? off
                          : !dllm__build_is_plain(build) ? "the compiler's build is no file name"
                          : cubin_bytes == 0 || cubin_bytes > DLLM_ENTRY_PAYLOAD_BYTES_MAX
                              ? "the cubin's size is out of range"
                              : NULL;
    if (refusal) {
        (void)snprintf(why, DLLM_WHY_BYTES, "%s", refusal);
        return false;
    }
    if (!atomic_exchange(&store->swept, true)) dllm__entry_sweep(&store->dir);
    dllm__entry_name(name, key->hex, build);
    dllm__kernel_key_with_build(&text, key, build);
    const dllm_entry entry = {text.text, text.text_bytes, cubin, cubin_bytes};
    if (dllm__entry_publish(&store->dir, store->calls, name, &entry, why)) return true;
    if (!atomic_exchange(&store->told, true))
        dllm__log(store->log, "kernel not stored in %s: %s", store->dir.path, why);
    return false;
}

/* ---- quarantine */

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* When a file came to v1/bad: a rename sets the change time. One that is gone came last. */
static struct timespec time_of(const dllm_cache_folder *bad, const char *name)
{
    struct stat status;
    if (fstatat(bad->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) return status.st_ctim;
    return (struct timespec){.tv_sec = INT64_MAX};
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Counts the files of v1/bad and names the one that has been there longest. */
static int find_oldest(char oldest[NAME_MAX + 1], const dllm_cache_folder *bad)
{
    struct dirent **names = NULL;
    struct timespec first = {0};
    const int count = scandirat(bad->fd, ".", &names, not_hidden, NULL);
    for (int i = 0; i < count; i++) {
        const struct timespec time = time_of(bad, names[i]->d_name);
        if (i == 0 || is_before(&time, &first)) {
            first = time;
            (void)snprintf(oldest, NAME_MAX + 1, "%s", names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    return count;
}

static bool move_aside(dllm_entry_store *store, const dllm_cache_folder *from, const char *name)
{
    dllm_cache_folder bad;
    char oldest[NAME_MAX + 1];
    if (!dllm__cache_folder_open(&bad, &store->dir, "v1/bad", true)) return false;
    while (find_oldest(oldest, &bad) >= BAD_ENTRIES_MAX && unlinkat(bad.fd, oldest, 0) == 0) {
    }
    const bool moved = renameat(from->fd, name, bad.fd, name) == 0;
    dllm__cache_folder_close(&bad);
    return moved;
}

bool dllm__entry_store_quarantine(dllm_entry_store *store, const char *folder, const char *name,
                                  const char *reason)
{
    char below[BELOW_BYTES];
    dllm_cache_folder from;
    make_folder_name(below, folder);
    if (!dllm__cache_folder_open(&from, &store->dir, below, false)) return false;
    /* where it cannot be kept (a full disk has no room for the folder) it is removed */
    const bool gone = move_aside(store, &from, name) || unlinkat(from.fd, name, 0) == 0;
    const char *error = gone ? "moved aside" : strerror(errno);
    dllm__cache_folder_close(&from);
    if (gone) (void)atomic_fetch_add(&store->quarantined, 1);
    dllm__log(store->log, "bad cache entry %s: %s; %s", name, reason, error);
    return gone;
}
