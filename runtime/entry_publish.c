/* entry_publish.c - temporary file, rename, sync; the folder's tag; leftovers of dead writers */
#include "entry_publish.h"

#include "entry_bad.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { TEMPORARY_BYTES = 48, PARTS_MAX = 3, SWEEP_SECONDS = 3600 };

static const char tag_name[] = "CACHEDIR.TAG";
static const char tag_text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# Compiled kernels of libdllm. They are made again when needed.\n";

static int create_file(int folder, const char *name)
{
    return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

const dllm_file_calls dllm__file_calls = {create_file, write, fsync, close, renameat};

/* One file on its way: what goes in, where to. */
typedef struct publication {
    const dllm_file_calls *calls;
    const dllm_cache_dir *dir;
    const dllm_cache_folder *temporary;
    const dllm_cache_folder *target;
    const char *name;
    int part_count;
    struct {
        const void *bytes;
        size_t size;
    } parts[PARTS_MAX];
    char *why;
} publication;

static bool fail(const publication *p, const char *call)
{
    (void)snprintf(p->why, DLLM_WHY_BYTES, "%s of %.100s: %s", call, p->name, strerror(errno));
    return false;
}

/* Names need to differ between processes of several machines and containers that share the folder.
 */
static void make_temporary_name(char out[TEMPORARY_BYTES])
{
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        struct timespec now = {0};
        (void)clock_gettime(CLOCK_REALTIME, &now);
        random = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
    }
    (void)snprintf(out, TEMPORARY_BYTES, "%ld-%016" PRIx64, (long)getpid(), random);
}

static bool write_all(const dllm_file_calls *calls, int fd, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const ssize_t written = calls->write(fd, from, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

/* Returns the name of the call that failed, with its errno, or NULL. */
static const char *fill_file(const publication *p, int fd)
{
    for (int i = 0; i < p->part_count; i++)
        if (!write_all(p->calls, fd, p->parts[i].bytes, p->parts[i].size)) return "write";
    /* in a shared folder the group reads; the umask has no say in it */
    if (p->temporary->trust.shared && fchmod(fd, 0640) != 0) return "fchmod";
    return p->calls->sync(fd) != 0 ? "fsync" : NULL;
}

static bool write_temporary(const publication *p, const char *temporary)
{
    const int fd = p->calls->create(p->temporary->fd, temporary);
    if (fd < 0) return fail(p, "creation");
    const char *failed = fill_file(p, fd);
    const int error = errno;
    if (p->calls->close(fd) != 0 && !failed)
        failed = "close";
    else
        errno = error;
    return failed ? fail(p, failed) : true;
}

/* Some file systems cannot sync a folder and say EINVAL; there is nothing more to be had there. */
static bool sync_folder(const publication *p)
{
    return p->calls->sync(p->target->fd) == 0 || errno == EINVAL;
}

/* Onto what is there, unless that is a folder: it makes way first. */
static bool take_name(const publication *p, const char *temporary)
{
    const dllm_file_calls *calls = p->calls;
    if (calls->rename(p->temporary->fd, temporary, p->target->fd, p->name) == 0) return true;
    if (errno != EISDIR || !dllm__entry_move_aside(p->dir, p->target, p->name)) return false;
    return calls->rename(p->temporary->fd, temporary, p->target->fd, p->name) == 0;
}

static bool publish(const publication *p)
{
    char temporary[TEMPORARY_BYTES];
    make_temporary_name(temporary);
    if (!write_temporary(p, temporary)) {
        (void)unlinkat(p->temporary->fd, temporary, 0);
        return false;
    }
    if (!take_name(p, temporary)) {
        (void)fail(p, "rename");
        (void)unlinkat(p->temporary->fd, temporary, 0);
        return false;
    }
    if (sync_folder(p)) return true;
    (void)fail(p, "fsync of the folder");
    (void)unlinkat(p->target->fd, p->name, 0);
    return false;
}

static bool open_folder(dllm_cache_folder *folder, const dllm_cache_dir *dir, const char *below,
                        char *why)
{
    if (dllm__cache_folder_open(folder, dir, below, true)) return true;
    memcpy(why, folder->why, DLLM_WHY_BYTES);
    return false;
}

bool dllm__tag_is_there(const dllm_cache_folder *top)
{
    struct stat status;
    return fstatat(top->fd, tag_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

static bool publish_tag(const dllm_cache_dir *dir, const publication *entry)
{
    dllm_cache_folder top;
    if (!open_folder(&top, dir, "v1", entry->why)) return false;
    bool there = dllm__tag_is_there(&top);
    if (!there) {
        const publication tag = {
            .calls = entry->calls,
            .dir = dir,
            .temporary = entry->temporary,
            .target = &top,
            .name = tag_name,
            .part_count = 1,
            .parts = {{tag_text, sizeof tag_text - 1}},
            .why = entry->why,
        };
        there = publish(&tag);
    }
    dllm__cache_folder_close(&top);
    return there;
}

/* Opens the folders, which `p` does not have yet, and publishes into `below`. */
static bool publish_into(publication p, const dllm_cache_dir *dir, const char *below, char *why)
{
    dllm_cache_folder temporary = {.fd = -1};
    dllm_cache_folder target = {.fd = -1};
    p.dir = dir;
    p.temporary = &temporary;
    p.target = &target;
    p.why = why;
    const bool published = open_folder(&temporary, dir, "v1/tmp", why) &&
                           open_folder(&target, dir, below, why) && publish_tag(dir, &p) &&
                           publish(&p);
    dllm__cache_folder_close(&target);
    dllm__cache_folder_close(&temporary);
    return published;
}

bool dllm__entry_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls, const char *name,
                         const dllm_entry *entry, char *why)
{
    char below[] = "v1/k/00";
    unsigned char header[DLLM_ENTRY_HEADER_BYTES];
    memcpy(below + sizeof below - 3, name, 2);
    dllm__entry_header(header, entry);
    const publication p = {
        .calls = calls,
        .name = name,
        .part_count = 3,
        .parts = {{header, sizeof header},
                  {entry->key_text, entry->key_bytes},
                  {entry->payload, entry->payload_bytes}},
    };
    return publish_into(p, dir, below, why);
}

bool dllm__text_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls, const char *below,
                        const char *name, const char *text, char *why)
{
    const publication p = {
        .calls = calls, .name = name, .part_count = 1, .parts = {{text, strlen(text)}}};
    return publish_into(p, dir, below, why);
}

/* A lock that somebody holds stays, however old its file is: the next would be given another one. */
static void remove_unheld(const dllm_cache_folder *folder, const char *name)
{
    const int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!held) (void)unlinkat(folder->fd, name, 0);
    if (fd >= 0) (void)close(fd);
}

static void sweep(const dllm_cache_dir *dir, const char *below)
{
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    if (!dllm__cache_folder_open(&folder, dir, below, false)) return;
    const time_t now = time(NULL);
    const int count = scandirat(folder.fd, ".", &names, NULL, NULL);
    for (int i = 0; i < count; i++) {
        struct stat status;
        if (fstatat(folder.fd, names[i]->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && now - status.st_mtime > SWEEP_SECONDS)
            remove_unheld(&folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    dllm__cache_folder_close(&folder);
}

void dllm__entry_sweep(const dllm_cache_dir *dir)
{
    sweep(dir, "v1/tmp");
    sweep(dir, "v1/lock");
}
