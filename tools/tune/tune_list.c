/*
 * tune_list.c - list: the kernels of the user's cache folder in order, then the tuned choices
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "entry_walk.h"
#include "plan_walk.h"
#include "tune.h"
#include "tune_kernel.h"
#include "tune_store.h"

/* So much of a name is printed for `show`: as much of a kernel's key as the log has. */
enum { KEY_DIGITS = 12 };

/* What is printed of an entry. */
typedef struct listed_entry {
    tune_kernel kernel;
    char build[DLLM_BUILD_BYTES];
    size_t file_bytes;
    char *name, *path, *reason; /* reason: NULL of a valid one */
} listed_entry;

typedef struct listing {
    const tune_options *options;
    const dllm_cache_dir *dir;
    listed_entry *entries;
    size_t count, room;
    json_t *tuned_rows; /* with --json */
    int tuned;
    int refused; /* folders */
    int status;  /* TUNE_NO_CACHE when nothing could be read, TUNE_SOME_FAILED when a part */
    bool no_memory;
} listing;

/* ---- kernels ---- */

static bool make_room(listing *list)
{
    if (list->count < list->room) return true;
    const size_t room = list->room ? 2 * list->room : 64;
    listed_entry *moved = realloc(list->entries, room * sizeof *moved);
    if (!moved) return false;
    list->entries = moved;
    list->room = room;
    return true;
}

static void note_entry(void *user, const dllm_entry_report *report)
{
    listing *list = user;
    if (report->refused) {
        list->refused++;
        list->status = tune_store_refused(report);
        return;
    }
    list->no_memory |= !make_room(list);
    if (list->no_memory) return;
    listed_entry *entry = &list->entries[list->count++];
    *entry = (listed_entry){.file_bytes = report->file_bytes,
                            .name = strdup(report->name),
                            .path = strdup(report->path),
                            .reason = report->reason ? strdup(report->reason) : NULL};
    (void)snprintf(entry->build, sizeof entry->build, "%s", report->build);
    tune_kernel_of_key(&entry->kernel, report->key_text);
    list->no_memory |= !entry->name || !entry->path || (report->reason && !entry->reason);
}

/* No two files have all of it in common: the order does not depend on the folder's. */
static int compare_entries(const void *a, const void *b)
{
    const listed_entry *left = a, *right = b;
    int order = strcmp(left->kernel.program, right->kernel.program);
    if (order == 0) order = strcmp(left->kernel.arch, right->kernel.arch);
    if (order == 0) order = strcmp(left->kernel.defines, right->kernel.defines);
    if (order == 0) order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->path, right->path);
}

/* Since the file was written. */
static double age_seconds(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? difftime(time(NULL), status.st_mtime) : 0.0;
}

/* "3 d", "2 h", "5 min" or "12 s". */
static void age_text(char out[16], double seconds)
{
    if (seconds >= 2.0 * 86400.0)
        (void)snprintf(out, 16, "%.0f d", seconds / 86400.0);
    else if (seconds >= 2.0 * 3600.0)
        (void)snprintf(out, 16, "%.0f h", seconds / 3600.0);
    else if (seconds >= 120.0)
        (void)snprintf(out, 16, "%.0f min", seconds / 60.0);
    else
        (void)snprintf(out, 16, "%.0f s", seconds);
}

static json_t *entry_json(const listed_entry *entry)
{
    const tune_kernel *kernel = &entry->kernel;
    return json_pack("{so so so so ss sI sf sb ss}", "file", tune_json_text(entry->name), "program",
                     tune_json_text(kernel->program), "arch", tune_json_text(kernel->arch),
                     "defines", tune_json_text(kernel->defines), "compiler", entry->build, "bytes",
                     (json_int_t)entry->file_bytes, "age_seconds", age_seconds(entry->path), "good",
                     entry->reason == NULL, "reason", entry->reason ? entry->reason : "");
}

static void print_entry(const listing *list, const listed_entry *entry)
{
    char age[16];
    if (list->options->quiet) {
        (void)printf("%s\n", entry->name);
        return;
    }
    age_text(age, age_seconds(entry->path));
    (void)printf("%-20s %-7s %-*.*s %9zu  %-10s %8s  %s\n", entry->kernel.program,
                 entry->kernel.arch, KEY_DIGITS, KEY_DIGITS, entry->name, entry->file_bytes,
                 entry->build, age, entry->reason ? entry->reason : entry->kernel.defines);
    if (list->options->verbose) (void)printf("    %s\n", entry->path);
}

static void print_entries(const listing *list)
{
    if (!list->options->quiet)
        (void)printf("%-20s %-7s %-*s %9s  %-10s %8s  %s\n", "program", "arch", KEY_DIGITS, "key",
                     "bytes", "compiler", "age", "specialised to");
    for (size_t i = 0; i < list->count; i++)
        print_entry(list, &list->entries[i]);
}

/* ---- tuned choices ---- */

/* The walk's own order is that of GPU and file name. */
static void list_plan(void *user, const dllm_plan_report *report)
{
    listing *list = user;
    if (report->refused) {
        const int status = tune_store_refused_plans(list->dir, report);
        list->refused++;
        if (!list->status) list->status = status;
        return;
    }
    const char *gpu = report->folder + strlen("v1/t/");
    list->tuned++;
    if (list->options->json)
        (void)json_array_append_new(
            list->tuned_rows,
            json_pack("{so so sb so}", "file", tune_json_text(report->name), "gpu",
                      tune_json_text(gpu), "good", report->reason == NULL, "reason",
                      tune_json_text(report->reason ? report->reason : "")));
    else if (list->options->quiet)
        (void)printf("%s\n", report->name);
    else
        (void)printf("%-28s %-*.*s  %s\n", gpu, KEY_DIGITS, KEY_DIGITS, report->name,
                     report->reason ? report->reason : "");
}

/* ---- the whole ---- */

static int64_t bytes_of(const listing *list)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += (int64_t)list->entries[i].file_bytes;
    return bytes;
}

static int print_json(const listing *list)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < list->count; i++)
        (void)json_array_append_new(rows, entry_json(&list->entries[i]));
    return tune_print_json(json_pack(
        "{so ss so sI sI sO si}", "folder", tune_json_text(list->dir->path), "variable",
        list->dir->variable, "entries", rows, "count", (json_int_t)list->count, "bytes",
        (json_int_t)bytes_of(list), "tuned", list->tuned_rows, "refused_folders", list->refused));
}

static void release(listing *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].name);
        free(list->entries[i].path);
        free(list->entries[i].reason);
    }
    free(list->entries);
    json_decref(list->tuned_rows);
}

int tune_list(const tune_options *options)
{
    dllm_cache_dir dir;
    listing list = {.options = options, .dir = &dir};
    int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    list.tuned_rows = json_array();
    dllm__entry_walk(&dir, note_entry, &list);
    if (list.no_memory) {
        release(&list);
        return tune_fail(TUNE_SOME_FAILED, "no memory for the list");
    }
    if (list.count) qsort(list.entries, list.count, sizeof *list.entries, compare_entries);
    if (!options->json) print_entries(&list);
    dllm__plan_walk(&dir, list_plan, &list);
    if (options->json)
        status = print_json(&list);
    else if (!options->quiet)
        (void)printf("%zu entries, %lld bytes, %d tuned choices in %s\n", list.count,
                     (long long)bytes_of(&list), list.tuned, dir.path);
    release(&list);
    return list.status ? list.status : status;
}
