/* cache_trim.c - entries listed by age, removed from the oldest on; whole folders emptied */
#include "cache_trim.h"

#include "entry_publish.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t default_bytes = (uint64_t)2 << 30;

/* ---- limits */

bool dllm__parse_bytes(uint64_t *out, const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (*end && (!unit || end[1])) return false;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (number > UINT64_MAX >> shift) return false;
    *out = (uint64_t)number << shift;
    return true;
}

uint64_t dllm__cache_limit(char why[DLLM_WHY_BYTES])
{
    uint64_t bytes = default_bytes;
    const char *text = secure_getenv("DLLM_CACHE_MAX");
    why[0] = '\0';
    if (text && *text && !dllm__parse_bytes(&bytes, text))
        (void)snprintf(why, DLLM_WHY_BYTES,
                       "DLLM_CACHE_MAX is \"%.100s\", not a size such as 500M, 2G or 1000000: "
                       "taken as 2G",
                       text);
    return bytes;
}

bool dllm__cache_is_tagged(const dllm_cache_dir *dir)
{
    dllm_cache_folder top;
    if (!dir->usable || !dllm__cache_folder_open(&top, dir, "v1", false)) return false;
    const bool tagged = dllm__tag_is_there(&top);
    dllm__cache_folder_close(&top);
    return tagged;
}

/* ---- what stays */

static void note_left(dllm_trim_report *out, const char *below, const char *name, const char *why)
{
    if (out->left[0]) return;
    (void)snprintf(out->left, sizeof out->left, "%s%s%s", below, *name ? "/" : "", name);
    (void)snprintf(out->left_why, sizeof out->left_why, "%s", why);
}

/* One that is there and may not be used stays, with what is in it; so does a file of that name. */
static bool open_or_note(dllm_cache_folder *folder, dllm_trim_report *out,
                         const dllm_cache_dir *dir, const char *below)
{
    if (dllm__cache_folder_open(folder, dir, below, false)) return true;
    if (folder->why[0]) {
        out->entries++;
        note_left(out, below, "", folder->why);
    }
    return false;
}

/* ---- what is there */

typedef struct old_entry {
    char name[NAME_MAX + 1];
    time_t used;
    uint64_t bytes;
} old_entry;

typedef struct old_list {
    int count;
    int room;
    bool no_memory;
    old_entry *entries;
} old_list;

static void add(old_list *list, const char *name, const struct stat *status)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 256;
        old_entry *moved = realloc(list->entries, (size_t)room * sizeof *moved);
        list->no_memory |= !moved;
        if (!moved) return;
        list->entries = moved;
        list->room = room;
    }
    old_entry *entry = &list->entries[list->count++];
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->used = status->st_mtime;
    entry->bytes = (uint64_t)status->st_size;
}

static void list_folder(old_list *list, dllm_trim_report *out, const dllm_cache_dir *dir,
                        const char *below)
{
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    if (!open_or_note(&folder, out, dir, below)) return;
    const int count = scandirat(folder.fd, ".", &names, NULL, NULL);
    for (int i = 0; i < count; i++) {
        struct stat status;
        const size_t length = strlen(names[i]->d_name);
        const bool kernel = length > 3 && strcmp(names[i]->d_name + length - 3, ".dk") == 0;
        if (kernel && fstatat(folder.fd, names[i]->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            add(list, names[i]->d_name, &status);
        free(names[i]);
    }
    free(names);
    dllm__cache_folder_close(&folder);
}

static void folder_of(char below[16], const char *name)
{
    (void)snprintf(below, 16, "v1/k/%.2s", name);
}

static void list_kernels(old_list *list, dllm_trim_report *out, const dllm_cache_dir *dir)
{
    dllm_cache_folder folder;
    if (!open_or_note(&folder, out, dir, "v1/k")) return;
    dllm__cache_folder_close(&folder);
    for (unsigned i = 0; i < 256; i++) {
        char number[8], below[16];
        (void)snprintf(number, sizeof number, "%02x", i);
        folder_of(below, number);
        list_folder(list, out, dir, below);
    }
}

/* ---- trim */

static int compare_age(const void *a, const void *b)
{
    const old_entry *left = a, *right = b;
    if (left->used != right->used) return left->used < right->used ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Looked at again just before: one that was used since, or went, is nobody's to remove. */
static bool remove_entry(dllm_trim_report *out, const dllm_cache_dir *dir, const old_entry *entry)
{
    char below[16];
    struct stat status;
    dllm_cache_folder folder;
    folder_of(below, entry->name);
    if (!dllm__cache_folder_open(&folder, dir, below, false)) return false;
    const bool same = fstatat(folder.fd, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      status.st_mtime == entry->used;
    const bool removed = same && unlinkat(folder.fd, entry->name, 0) == 0;
    if (same && !removed && errno != ENOENT) note_left(out, below, entry->name, strerror(errno));
    dllm__cache_folder_close(&folder);
    return removed;
}

bool dllm__cache_trim(dllm_trim_report *out, const dllm_cache_dir *dir, uint64_t limit_bytes,
                      bool dry_run)
{
    old_list list = {0};
    *out = (dllm_trim_report){0};
    if (!dllm__cache_is_tagged(dir)) return false;
    list_kernels(&list, out, dir);
    for (int i = 0; i < list.count; i++)
        out->bytes += list.entries[i].bytes;
    out->entries += list.count;
    const time_t young = time(NULL) - DLLM_TRIM_SECONDS;
    if (list.count) qsort(list.entries, (size_t)list.count, sizeof *list.entries, compare_age);
    for (int i = 0; i < list.count; i++) {
        const old_entry *entry = &list.entries[i];
        if (out->bytes - out->removed_bytes - out->young_bytes <= limit_bytes) break;
        if (entry->used > young) {
            out->young++;
            out->young_bytes += entry->bytes;
            continue;
        }
        if (!dry_run && !remove_entry(out, dir, entry)) continue;
        out->removed++;
        out->removed_bytes += entry->bytes;
    }
    free(list.entries);
    return !list.no_memory;
}

/* ---- clear */

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* A folder where none belongs stays, and is counted. */
static void remove_file(dllm_trim_report *out, const dllm_cache_folder *folder, const char *below,
                        const char *name, bool dry_run)
{
    struct stat status;
    if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    out->entries++;
    if (S_ISDIR(status.st_mode)) {
        note_left(out, below, name, strerror(EISDIR));
        return;
    }
    const bool removed = dry_run || unlinkat(folder->fd, name, 0) == 0;
    if (!removed) note_left(out, below, name, strerror(errno));
    out->bytes += (uint64_t)status.st_size;
    out->removed += removed;
    out->removed_bytes += removed ? (uint64_t)status.st_size : 0;
}

static void empty_folder(dllm_trim_report *out, const dllm_cache_dir *dir, const char *below,
                         bool dry_run)
{
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    if (!open_or_note(&folder, out, dir, below)) return;
    const int count = scandirat(folder.fd, ".", &names, is_entry, alphasort);
    for (int i = 0; i < count; i++) {
        remove_file(out, &folder, below, names[i]->d_name, dry_run);
        free(names[i]);
    }
    free(names);
    dllm__cache_folder_close(&folder);
}

static void empty_folders(dllm_trim_report *out, const dllm_cache_dir *dir, const char *below,
                          bool dry_run)
{
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    if (!open_or_note(&folder, out, dir, below)) return;
    const int count = scandirat(folder.fd, ".", &names, is_entry, alphasort);
    dllm__cache_folder_close(&folder);
    for (int i = 0; i < count; i++) {
        char inner[NAME_MAX + 16];
        (void)snprintf(inner, sizeof inner, "%s/%s", below, names[i]->d_name);
        empty_folder(out, dir, inner, dry_run);
        free(names[i]);
    }
    free(names);
}

bool dllm__cache_clear(dllm_trim_report *out, const dllm_cache_dir *dir, bool kernels, bool tuning,
                       bool dry_run)
{
    static const char *const beside[] = {"v1/bad", "v1/nvrtc", "v1/lock", "v1/tmp"};
    *out = (dllm_trim_report){0};
    if (!dllm__cache_is_tagged(dir)) return false;
    if (kernels) empty_folders(out, dir, "v1/k", dry_run);
    if (tuning) empty_folders(out, dir, "v1/t", dry_run);
    for (size_t i = 0; kernels && i < sizeof beside / sizeof beside[0]; i++)
        empty_folder(out, dir, beside[i], dry_run);
    return true;
}
