/* entry_bad.c - files moved aside, the oldest of them removed */
#include "entry_bad.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BAD_ENTRIES_MAX = 16, NAMES_MAX = 16 };

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* When a file came to v1/bad: a rename sets the change time. False if it is a folder, or gone. */
static bool find_time(struct timespec *out, const dllm_cache_folder *bad, const char *name)
{
    struct stat status;
    if (fstatat(bad->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    *out = status.st_ctim;
    return !S_ISDIR(status.st_mode);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Counts the files of v1/bad and names the one that has been there longest. A folder is none of them: what is
   in it is not the cache's to remove. */
static int find_oldest(char oldest[NAME_MAX + 1], const dllm_cache_folder *bad)
{
    struct dirent **names = NULL;
    struct timespec first = {0};
    int files = 0;
    const int count = scandirat(bad->fd, ".", &names, not_hidden, NULL);
    for (int i = 0; i < count; i++) {
        struct timespec time;
        if (find_time(&time, bad, names[i]->d_name) && (files++ == 0 || is_before(&time, &first))) {
            first = time;
            (void)snprintf(oldest, NAME_MAX + 1, "%s", names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    return files;
}

/* A file gives way to a file of its name, and here to a folder too. */
static bool move_as(const dllm_cache_folder *from, const char *name, const dllm_cache_folder *bad,
                    const char *as)
{
    return renameat(from->fd, name, bad->fd, as) == 0 ||
           (errno == ENOTDIR && unlinkat(bad->fd, as, 0) == 0 &&
            renameat(from->fd, name, bad->fd, as) == 0);
}

/* A folder with something in it gives way to nothing: what comes after it is NAME.1, NAME.2 ... */
static bool move(const dllm_cache_folder *from, const char *name, const dllm_cache_folder *bad)
{
    char as[NAME_MAX + 1];
    bool moved = move_as(from, name, bad, name);
    for (int i = 1; i < NAMES_MAX && !moved; i++) {
        const bool is_taken = errno == ENOTEMPTY || errno == EEXIST || errno == EISDIR;
        const int length = is_taken ? snprintf(as, sizeof as, "%s.%d", name, i) : -1;
        if (length < 0 || (size_t)length >= sizeof as) return false;
        moved = move_as(from, name, bad, as);
    }
    return moved;
}

static bool keep(const dllm_cache_dir *dir, const dllm_cache_folder *from, const char *name)
{
    dllm_cache_folder bad;
    char oldest[NAME_MAX + 1];
    if (!dllm__cache_folder_open(&bad, dir, "v1/bad", true)) return false;
    while (find_oldest(oldest, &bad) >= BAD_ENTRIES_MAX && unlinkat(bad.fd, oldest, 0) == 0) {
    }
    const bool moved = move(from, name, &bad);
    dllm__cache_folder_close(&bad);
    return moved;
}

bool dllm__entry_move_aside(const dllm_cache_dir *dir, const dllm_cache_folder *from,
                            const char *name)
{
    return unlinkat(from->fd, name, AT_REMOVEDIR) == 0 || keep(dir, from, name) ||
           unlinkat(from->fd, name, 0) == 0;
}
