/*
 * tune_space.c - stat, trim and clear: how large the user's cache folder is, and less of it
 */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cache_trim.h"
#include "entry_walk.h"
#include "plan_walk.h"
#include "tune.h"
#include "tune_kernel.h"
#include "tune_store.h"

enum { ARCHES_MAX = 16, DAY_SECONDS = 86400 };

typedef struct arch_tally {
    char arch[16];
    int kernels;
    json_int_t bytes;
} arch_tally;

typedef struct space {
    const dllm_cache_dir *dir;
    int arch_count;
    arch_tally arches[ARCHES_MAX]; /* the last takes what has no room */
    int kernels;
    json_int_t bytes;
    int bad;
    int used_today; /* a hit leaves a stamp, once a day */
    int used_this_week;
    int tuned;
    int tuned_bad;
    int refused;
} space;

static arch_tally *tally_of(space *s, const char *arch)
{
    int i = 0;
    while (i < s->arch_count && strcmp(s->arches[i].arch, arch) != 0)
        i++;
    if (i == ARCHES_MAX) return &s->arches[ARCHES_MAX - 1];
    if (i == s->arch_count) {
        s->arch_count++;
        (void)snprintf(s->arches[i].arch, sizeof s->arches[i].arch, "%s", arch);
    }
    return &s->arches[i];
}

static void count_use(space *s, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) return;
    const time_t age = time(NULL) - status.st_mtime;
    s->used_today += age < DAY_SECONDS;
    s->used_this_week += age < (time_t)7 * DAY_SECONDS;
}

static void count_kernel(void *user, const dllm_entry_report *report)
{
    space *s = user;
    tune_kernel kernel;
    if (report->refused) {
        (void)tune_store_refused(report);
        s->refused++;
        return;
    }
    tune_kernel_of_key(&kernel, report->key_text);
    arch_tally *tally = tally_of(s, kernel.arch);
    tally->kernels++;
    tally->bytes += (json_int_t)report->file_bytes;
    s->kernels++;
    s->bytes += (json_int_t)report->file_bytes;
    s->bad += report->reason != NULL;
    count_use(s, report->path);
}

static void count_plan(void *user, const dllm_plan_report *report)
{
    space *s = user;
    if (report->refused) {
        (void)tune_store_refused_plans(s->dir, report);
        s->refused++;
        return;
    }
    s->tuned++;
    s->tuned_bad += report->reason != NULL;
}

/* Files directly in a folder of the cache. */
static int count_files(const dllm_cache_dir *dir, const char *below)
{
    char path[PATH_MAX + 16];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", dir->path, below);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

/* The limit that the library keeps. One that was meant and is not kept is told. */
static uint64_t limit_kept(void)
{
    char why[DLLM_WHY_BYTES];
    const uint64_t bytes = dllm__cache_limit(why);
    if (why[0]) (void)tune_fail(TUNE_DONE, "%s", why);
    return bytes;
}

static int print_space_json(const space *s, const dllm_cache_dir *dir)
{
    const uint64_t limit = limit_kept();
    json_t *arches = json_object();
    for (int i = 0; i < s->arch_count; i++)
        (void)json_object_set_new(
            arches, s->arches[i].arch,
            json_pack("{si sI}", "kernels", s->arches[i].kernels, "bytes", s->arches[i].bytes));
    return tune_print_json(
        json_pack("{so si sI sI si si si so si si si si}", "folder", tune_json_text(dir->path),
                  "kernels", s->kernels, "bytes", s->bytes, "limit_bytes",
                  limit > INT64_MAX ? INT64_MAX : (json_int_t)limit, "bad", s->bad, "used_today",
                  s->used_today, "used_this_week", s->used_this_week, "arches", arches,
                  "tuned_choices", s->tuned, "bad_tuned_choices", s->tuned_bad, "quarantined",
                  count_files(dir, "v1/bad"), "being_written", count_files(dir, "v1/tmp")));
}

static void print_space(const space *s, const dllm_cache_dir *dir)
{
    for (int i = 0; i < s->arch_count; i++)
        (void)printf("%-12s %5d kernels %12lld bytes\n", s->arches[i].arch, s->arches[i].kernels,
                     (long long)s->arches[i].bytes);
    (void)printf("used         %5d in a day, %d in a week\n", s->used_today, s->used_this_week);
    (void)printf("tuned        %5d choices, %d bad\n", s->tuned, s->tuned_bad);
    (void)printf("bad          %5d kernels, %d moved aside before\n", s->bad,
                 count_files(dir, "v1/bad"));
    (void)printf("%d kernels, %lld of %llu bytes in %s\n", s->kernels, (long long)s->bytes,
                 (unsigned long long)limit_kept(), dir->path);
}

int tune_stat(const tune_options *options)
{
    dllm_cache_dir dir;
    space s = {.dir = &dir};
    int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    dllm__entry_walk(&dir, count_kernel, &s);
    dllm__plan_walk(&dir, count_plan, &s);
    if (options->json)
        status = print_space_json(&s, &dir);
    else
        print_space(&s, &dir);
    return s.refused ? TUNE_SOME_FAILED : status;
}

/* ---- less of it ---- */

static int print_counts(const dllm_trim_report *counts, bool done, const dllm_cache_dir *dir,
                        const tune_options *options)
{
    dllm_cache_folder folder;
    /* a folder that is not there is empty; one without the tag is somebody's */
    const bool there = dllm__cache_folder_open(&folder, dir, "", false);
    if (there) dllm__cache_folder_close(&folder);
    if (!done && there)
        return tune_fail(TUNE_NO_CACHE, "%s is not touched: it has no v1/CACHEDIR.TAG", dir->path);
    if (options->json)
        return tune_print_json(json_pack(
            "{so si sI si sI sb}", "folder", tune_json_text(dir->path), "files", counts->entries,
            "bytes", (json_int_t)counts->bytes, "removed", counts->removed, "removed_bytes",
            (json_int_t)counts->removed_bytes, "dry_run", options->dry_run));
    (void)printf("%d of %d files %s, %llu of %llu bytes\n", counts->removed, counts->entries,
                 options->dry_run ? "to remove" : "removed",
                 (unsigned long long)counts->removed_bytes, (unsigned long long)counts->bytes);
    return TUNE_DONE;
}

static int report(const dllm_trim_report *counts, bool done, const dllm_cache_dir *dir,
                  const tune_options *options)
{
    const int status = print_counts(counts, done, dir, options);
    if (status != TUNE_DONE || !counts->left[0]) return status;
    return tune_fail(TUNE_SOME_FAILED, "%s/%s stays: %s", dir->path, counts->left,
                     counts->left_why);
}

int tune_trim(const tune_options *options)
{
    dllm_cache_dir dir;
    dllm_trim_report counts;
    uint64_t limit_bytes = 0;
    if (!options->max)
        limit_bytes = limit_kept();
    else if (!dllm__parse_bytes(&limit_bytes, options->max))
        return tune_fail(TUNE_USAGE, "--max %s is no size like 500M, 1G or 1000000", options->max);
    const int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    const bool done = dllm__cache_trim(&counts, &dir, limit_bytes, options->dry_run);
    const int ended = report(&counts, done, &dir, options);
    if (done && counts.young)
        (void)tune_fail(ended, "%d files of %llu bytes stay above the limit: used in the last hour",
                        counts.young, (unsigned long long)counts.young_bytes);
    return ended;
}

int tune_clear(const tune_options *options)
{
    dllm_cache_dir dir;
    dllm_trim_report counts;
    const bool both = options->kernels == options->tuning;
    const int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    const bool done = dllm__cache_clear(&counts, &dir, both || options->kernels,
                                        both || options->tuning, options->dry_run);
    return report(&counts, done, &dir, options);
}
