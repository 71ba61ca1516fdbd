/*
 * tune_packs.c - merge, export and import: packs read, made, written
 */
#include "tune_packs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry_store.h"
#include "pack_folder.h"
#include "tune_store.h"

static const size_t pack_bytes_most = (size_t)1 << 32;

/* ---- files */

/* All that comes until the end, for a pipe has no size; NULL with errno. */
static unsigned char *read_all(size_t *bytes, FILE *file)
{
    unsigned char *content = NULL;
    size_t room = 1 << 16;
    for (*bytes = 0;; room *= 2) {
        unsigned char *moved = realloc(content, room);
        if (!moved) break;
        content = moved;
        *bytes += fread(content + *bytes, 1, room - *bytes, file);
        if (*bytes < room && feof(file)) return content;
        if (*bytes == pack_bytes_most) errno = EFBIG;
        if (*bytes < room || room == pack_bytes_most) break;
    }
    free(content);
    return NULL;
}

/* A whole file, or what comes through a pipe; NULL with the reason on stderr. A device, which may never
   end, is neither. */
static unsigned char *read_file(size_t *bytes, const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    const bool is_device = file && fstat(fileno(file), &status) == 0 && S_ISCHR(status.st_mode);
    unsigned char *content = file && !is_device ? read_all(bytes, file) : NULL;
    if (!content)
        (void)tune_fail(TUNE_SOME_FAILED, "cannot read %s: %s", path,
                        is_device ? "it is a device" : strerror(errno));
    if (file) (void)fclose(file);
    return content;
}

static bool write_to(const char *path, const char *mode, const void *bytes, size_t size)
{
    FILE *file = fopen(path, mode);
    const bool written = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

/* Under another name first, so that a pack is there whole or not at all. */
static bool replace_file(const char *path, const void *bytes, size_t size)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >=
        (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (write_to(temporary, "wxe", bytes, size) && rename(temporary, path) == 0) return true;
    const int error = errno;
    if (error != EEXIST) (void)unlink(temporary);
    errno = error;
    return false;
}

static int fail_write(const char *path)
{
    return tune_fail(TUNE_SOME_FAILED, "cannot write %s: %s", path, strerror(errno));
}

/* A device, a pipe or a link stays what it is: it is written through. */
static int write_file(const char *path, const void *bytes, size_t size)
{
    struct stat status;
    const bool is_other = lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
    if (is_other ? write_to(path, "we", bytes, size) : replace_file(path, bytes, size))
        return TUNE_DONE;
    return fail_write(path);
}

/* ---- what came of it */

static int report(const dllm_cache_report *counts, const char *pack, const tune_options *options)
{
    if (options->json)
        return tune_print_json(
            json_pack("{so sI sI sI sI sI sI sb}", "pack", tune_json_text(pack ? pack : ""),
                      "added", (json_int_t)counts->added, "same", (json_int_t)counts->same, "worse",
                      (json_int_t)counts->worse, "incompatible", (json_int_t)counts->incompatible,
                      "corrupt", (json_int_t)counts->corrupt, "failed", (json_int_t)counts->failed,
                      "dry_run", options->dry_run));
    (void)printf("%llu added, %llu same, %llu worse, %llu incompatible, %llu corrupt",
                 (unsigned long long)counts->added, (unsigned long long)counts->same,
                 (unsigned long long)counts->worse, (unsigned long long)counts->incompatible,
                 (unsigned long long)counts->corrupt);
    if (counts->failed) (void)printf(", %llu not stored", (unsigned long long)counts->failed);
    (void)putchar('\n');
    return TUNE_DONE;
}

static int end_code(const dllm_cache_report *counts, int printed)
{
    return counts->corrupt || counts->failed ? TUNE_SOME_FAILED : printed;
}

static int write_pack(dllm_pack_list *list, const tune_options *options)
{
    size_t bytes = 0;
    if (options->dry_run) return TUNE_DONE;
    unsigned char *pack = dllm__pack_write(&bytes, list);
    if (!pack) return tune_fail(TUNE_SOME_FAILED, "no memory for the pack");
    const int status = write_file(options->output, pack, bytes);
    free(pack);
    return status;
}

/* ---- subcommands */

int tune_merge(const tune_options *options)
{
    dllm_cache_report counts = DLLM_CACHE_REPORT_INIT;
    dllm_pack_list list = {0};
    int status = TUNE_DONE;
    if (options->files.count < 2) return tune_fail(TUNE_USAGE, "merge needs two packs or more");
    if (!options->output) return tune_fail(TUNE_USAGE, "merge needs -o PACK");
    for (int i = 0; status == TUNE_DONE && i < options->files.count; i++) {
        size_t bytes = 0;
        unsigned char *pack = read_file(&bytes, options->files.text[i]);
        if (!pack)
            status = TUNE_SOME_FAILED;
        else if (dllm__pack_list_merge(&list, &counts, pack, bytes) != DLLM_OK)
            status =
                tune_fail(TUNE_SOME_FAILED, "%s: %s", options->files.text[i], dllm_last_error());
        free(pack);
    }
    if (status == TUNE_DONE) status = write_pack(&list, options);
    if (status == TUNE_DONE) status = end_code(&counts, report(&counts, options->output, options));
    dllm__pack_list_release(&list);
    return status;
}

int tune_export(const tune_options *options)
{
    dllm_cache_report counts = DLLM_CACHE_REPORT_INIT;
    dllm_cache_dir dir;
    dllm_pack_list list = {0};
    if (!options->output) return tune_fail(TUNE_USAGE, "export needs -o PACK");
    int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    if (!dllm__pack_list_add_folder(&list, &counts, &dir))
        status = tune_fail(TUNE_SOME_FAILED, "no memory for the pack");
    if (status == TUNE_DONE) status = write_pack(&list, options);
    counts.added = (uint64_t)list.count;
    if (status == TUNE_DONE) status = end_code(&counts, report(&counts, options->output, options));
    if (counts.corrupt || counts.failed)
        (void)tune_fail(status, "what is bad or may not be read in %s is left out; verify names it",
                        dir.path);
    dllm__pack_list_release(&list);
    return status;
}

static int import_file(dllm_cache_report *counts, const char *path, const dllm_cache_dir *dir,
                       const tune_options *options)
{
    size_t bytes = 0;
    const dllm_log log = tune_log(options);
    unsigned char *pack = read_file(&bytes, path);
    if (!pack) return TUNE_SOME_FAILED;
    const dllm_status status =
        dllm__pack_import_folder(counts, dir, pack, bytes, options->dry_run, &log);
    free(pack);
    return status == DLLM_OK ? TUNE_DONE
                             : tune_fail(TUNE_SOME_FAILED, "%s: %s", path, dllm_last_error());
}

int tune_import(const tune_options *options)
{
    dllm_cache_report counts = DLLM_CACHE_REPORT_INIT;
    dllm_cache_dir dir;
    if (!options->files.count) return tune_fail(TUNE_USAGE, "import needs a pack");
    int status = tune_store_find(&dir);
    for (int i = 0; status == TUNE_DONE && i < options->files.count; i++)
        status = import_file(&counts, options->files.text[i], &dir, options);
    if (status != TUNE_DONE) return status;
    if (counts.failed && !options->verbose)
        (void)tune_fail(TUNE_SOME_FAILED, "not all was stored; with -v the library says why");
    return end_code(&counts, report(&counts, options->files.text[0], options));
}

/* ---- prebuild */

/* Whether its folder takes the name that replace_file renames from. */
static bool can_replace(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 0;
    if (snprintf(folder, sizeof folder, "%.*s.", length, path) >= (int)sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

int tune_pack_look(const tune_options *options)
{
    struct stat status;
    const char *path = options->output;
    const bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const bool is_other = lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
    if (is_folder) errno = EISDIR;
    if (!is_folder && (is_other || can_replace(path))) return TUNE_DONE;
    return fail_write(path);
}

static bool add_kernel(dllm_pack_list *list, dllm_entry_store *store, const dllm_kernel_spec *spec)
{
    dllm_kernel_key key;
    dllm_stored_entry entry;
    if (dllm__kernel_key(&key, spec) != DLLM_OK ||
        !dllm__entry_store_load(&entry, store, &key, NULL, 0))
        return false;
    const bool added =
        dllm__pack_list_add_kernel(list, &key, entry.build, entry.cubin, entry.cubin_bytes);
    dllm__stored_entry_release(&entry);
    return added;
}

int tune_pack_kernels(const dllm_kernel_spec *specs, int count, const dllm_cache_dir *dir,
                      const tune_options *options)
{
    const dllm_log log = tune_log(options);
    dllm_entry_store *store = NULL;
    dllm_pack_list list = {0};
    int added = 0;
    if (dllm__entry_store_create(&store, dir, 1, &log, NULL) != DLLM_OK)
        return tune_fail(TUNE_NO_CACHE, "%s", dllm_last_error());
    while (added < count && add_kernel(&list, store, &specs[added]))
        added++;
    const int status = added == count
                           ? write_pack(&list, options)
                           : tune_fail(TUNE_SOME_FAILED, "kernel %s for %s went from the folder",
                                       specs[added].file, specs[added].arch);
    dllm__pack_list_release(&list);
    dllm__entry_store_destroy(store);
    return status;
}
