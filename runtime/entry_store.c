/* entry_store.c - names of entries; lookup, publishing and quarantine by them */
#include "entry_store.h"

#include "cache_trim.h"
#include "entry_bad.h"
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

enum {
    BELOW_BYTES = 16,
    LOCK_WAIT_MS = 30000,
    PUBLICATIONS_A_TRIM = 256,
    KEY_DIGITS = DLLM_SHA256_HEX_BYTES - 1
};

typedef struct layer {
    dllm_cache_dir dir;
    char why[DLLM_WHY_BYTES];
    _Atomic(const char *) off; /* `why` the folder may not be used; NULL: it may */
    atomic_bool closing;       /* the first to find out says why */
} layer;

struct dllm_entry_store {
    const dllm_log *log;
    const dllm_file_calls *calls;
    atomic_bool swept; /* v1/tmp was looked through */
    atomic_bool told;  /* a failure to publish was logged */
    atomic_ullong quarantined;
    atomic_ullong evicted;
    atomic_ullong published; /* from a start of the process's own on */
    uint64_t limit_bytes;
    int layer_count;
    layer layers[]; /* the user's folder, then the read-only ones */
};

static void switch_off(const dllm_entry_store *store, layer *off, const char *why)
{
    if (atomic_exchange(&off->closing, true)) return;
    (void)snprintf(off->why, sizeof off->why, "%s", why);
    atomic_store(&off->off, off->why);
    dllm__log(store->log, "cache folder switched off: %s", why);
}

dllm_status dllm__entry_store_create(dllm_entry_store **out, const dllm_cache_dir *dirs,
                                     int dir_count, const dllm_log *log,
                                     const dllm_file_calls *calls)
{
    char why[DLLM_WHY_BYTES];
    dllm_entry_store *store =
        calloc(1, sizeof *store + (size_t)dir_count * sizeof store->layers[0]);
    if (!store) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the cache's entry store");
    store->log = log;
    store->calls = calls ? calls : &dllm__file_calls;
    store->layer_count = dir_count;
    store->limit_bytes = dllm__cache_limit(why);
    if (why[0]) dllm__log(log, "%s", why);
    atomic_store(&store->published, (unsigned long long)getpid());
    for (int i = 0; i < dir_count; i++) {
        store->layers[i].dir = dirs[i];
        if (!dirs[i].usable) switch_off(store, &store->layers[i], dirs[i].why);
    }
    *out = store;
    return DLLM_OK;
}

void dllm__entry_store_destroy(dllm_entry_store *store)
{
    free(store);
}

const char *dllm__entry_store_path(const dllm_entry_store *store)
{
    return dllm__entry_store_off(store) ? NULL : store->layers[0].dir.path;
}

const char *dllm__entry_store_off(const dllm_entry_store *store)
{
    return atomic_load(&store->layers[0].off);
}

uint64_t dllm__entry_store_quarantined(const dllm_entry_store *store)
{
    return atomic_load(&store->quarantined);
}

uint64_t dllm__entry_store_evicted(const dllm_entry_store *store)
{
    return atomic_load(&store->evicted);
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

/* One search through a folder of one layer. */
typedef struct search {
    dllm_entry_store *store;
    int layer;
    const dllm_cache_folder *folder;
    const dllm_kernel_key *key;
    bool again; /* what is passed over was told, and moved aside, the first time */
} search;

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

/* Says why a file is no hit; one that is bad is moved aside where the folder is the user's. */
static void pass_over(const search *s, dllm_read_outcome outcome, const char *name,
                      const char *reason)
{
    if (s->again) return;
    if (outcome == DLLM_READ_BAD && s->layer == 0)
        (void)dllm__entry_store_quarantine(s->store, name, name, reason);
    else if (outcome != DLLM_READ_ABSENT)
        dllm__log(s->store->log, "cache entry %s ignored: %s", name, reason);
}

/* So that trimming knows. Of a file that is another's the stamp may be refused: no harm. */
static void stamp(const search *s, const char *name, time_t used)
{
    if (s->layer == 0 && time(NULL) - used > DLLM_STAMP_SECONDS)
        (void)utimensat(s->folder->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

static bool load_build(dllm_stored_entry *out, const search *s, const char *build)
{
    dllm_read_file file;
    dllm_kernel_key wanted;
    dllm__entry_name(out->name, s->key->hex, build);
    dllm__kernel_key_with_build(&wanted, s->key, build);
    const dllm_read_outcome outcome = read_wanted(&file, s->folder, out->name, &wanted);
    if (outcome == DLLM_READ_ENTRY) {
        /* the key text has done its work; the cubin takes its aligned place */
        memmove(file.bytes, file.entry.payload, file.entry.payload_bytes);
        out->cubin = file.bytes;
        out->cubin_bytes = file.entry.payload_bytes;
        out->layer = s->layer;
        stamp(s, out->name, file.used);
        (void)snprintf(out->build, sizeof out->build, "%s", build);
        return true;
    }
    free(file.bytes);
    pass_over(s, outcome, out->name, file.reason);
    return false;
}

/* The newest build comes last in the order of versions. */
static bool load_any_build(dllm_stored_entry *out, const search *s)
{
    struct dirent **names = NULL;
    bool found = false;
    const int count = scandirat(s->folder->fd, ".", &names, NULL, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        char build[DLLM_BUILD_BYTES];
        if (!found && build_of_name(build, names[i]->d_name, s->key->hex))
            found = load_build(out, s, build);
        free(names[i]);
    }
    free(names);
    return found;
}

static bool load_layer(dllm_stored_entry *out, dllm_entry_store *store, int number,
                       const dllm_kernel_key *key, const char *build, bool again)
{
    char below[BELOW_BYTES];
    dllm_cache_folder folder;
    layer *asked = &store->layers[number];
    if (atomic_load(&asked->off)) return false;
    make_folder_name(below, key->hex);
    if (!dllm__cache_folder_open(&folder, &asked->dir, below, false)) {
        if (folder.why[0]) switch_off(store, asked, folder.why);
        return false;
    }
    const search s = {store, number, &folder, key, again};
    const bool found = build ? load_build(out, &s, build) : load_any_build(out, &s);
    dllm__cache_folder_close(&folder);
    return found;
}

bool dllm__entry_store_load(dllm_stored_entry *out, dllm_entry_store *store,
                            const dllm_kernel_key *key, const char *build, int first_layer)
{
    bool found = false;
    memset(out, 0, sizeof *out);
    for (int i = first_layer; !found && i < store->layer_count; i++)
        found = load_layer(out, store, i, key, i == 0 ? build : NULL, false);
    return found;
}

bool dllm__entry_store_load_again(dllm_stored_entry *out, dllm_entry_store *store,
                                  const dllm_kernel_key *key, const char *build)
{
    memset(out, 0, sizeof *out);
    return load_layer(out, store, 0, key, build, true);
}

void dllm__stored_entry_release(dllm_stored_entry *entry)
{
    free(entry->cubin);
    memset(entry, 0, sizeof *entry);
}

/* ---- publishing */

/* Processes begin at different places, so that short ones trim as often as long ones. */
static void trim_now_and_then(dllm_entry_store *store)
{
    dllm_trim_report report;
    if (atomic_fetch_add(&store->published, 1) % PUBLICATIONS_A_TRIM != 0) return;
    (void)dllm__cache_trim(&report, &store->layers[0].dir, store->limit_bytes, false);
    (void)atomic_fetch_add(&store->evicted, (unsigned long long)report.removed);
    if (report.removed)
        dllm__log(store->log, "cache folder above %llu bytes: %d kernels removed",
                  (unsigned long long)store->limit_bytes, report.removed);
}

bool dllm__entry_store_publish(dllm_entry_store *store, const dllm_kernel_key *key,
                               const char *build, const unsigned char *cubin, size_t cubin_bytes,
                               char *why)
{
    char name[DLLM_ENTRY_NAME_BYTES];
    dllm_kernel_key text;
    const dllm_cache_dir *dir = &store->layers[0].dir;
    const char *off = dllm__entry_store_off(store);
    const char *refusal = off                            ? off
                          : !dllm__build_is_plain(build) ? "the compiler's build is no file name"
                          : cubin_bytes == 0 || cubin_bytes > DLLM_ENTRY_PAYLOAD_BYTES_MAX
                              ? "the cubin's size is out of range"
                              : NULL;
    if (refusal) {
        (void)snprintf(why, DLLM_WHY_BYTES, "%s", refusal);
        return false;
    }
    if (!atomic_exchange(&store->swept, true)) dllm__entry_sweep(dir);
    dllm__entry_name(name, key->hex, build);
    dllm__kernel_key_with_build(&text, key, build);
    const dllm_entry entry = {text.text, text.text_bytes, cubin, cubin_bytes};
    if (dllm__entry_publish(dir, store->calls, name, &entry, why)) {
        trim_now_and_then(store);
        return true;
    }
    if (!atomic_exchange(&store->told, true))
        dllm__log(store->log, "kernel not stored in %s: %s", dir->path, why);
    return false;
}

void dllm__entry_store_lock(dllm_entry_lock *out, const dllm_entry_store *store,
                            const dllm_kernel_key *key)
{
    const dllm_cache_dir *dir = &store->layers[0].dir;
    *out = (dllm_entry_lock){.fd = -1, .folder = {.fd = -1}};
    if (!dllm__entry_store_off(store)) dllm__entry_lock_take(out, dir, key->hex, LOCK_WAIT_MS);
    if (out->gave_up)
        dllm__log(store->log, "kernel %.12s: another process has been making it for %d s", key->hex,
                  LOCK_WAIT_MS / 1000);
}

/* ---- quarantine */

bool dllm__entry_store_quarantine(dllm_entry_store *store, const char *folder, const char *name,
                                  const char *reason)
{
    char below[BELOW_BYTES];
    dllm_cache_folder from;
    const dllm_cache_dir *dir = &store->layers[0].dir;
    make_folder_name(below, folder);
    if (!dllm__cache_folder_open(&from, dir, below, false)) return false;
    const bool gone = dllm__entry_move_aside(dir, &from, name);
    const char *error = gone ? "moved aside" : strerror(errno);
    dllm__cache_folder_close(&from);
    if (gone) (void)atomic_fetch_add(&store->quarantined, 1);
    dllm__log(store->log, "bad cache entry %s: %s; %s", name, reason, error);
    return gone;
}

bool dllm__entry_store_refuse(dllm_entry_store *store, const dllm_stored_entry *entry,
                              const char *reason)
{
    if (entry->layer == 0)
        return dllm__entry_store_quarantine(store, entry->name, entry->name, reason);
    dllm__log(store->log, "cache entry %s in %s not used: %s", entry->name,
              store->layers[entry->layer].dir.path, reason);
    return false;
}
