/* compiler_build.c - the probe program, and small files named by the identity of a compiler */
#include "compiler_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The version becomes the kernel's name, and so stands in the cubin's table of names. */
#define PROBE_NAME "dllm_build_"
static const char probe_text[] =
    "#define NAME_(major, minor, build) " PROBE_NAME "##major##_##minor##_##build##_\n"
    "#define NAME(major, minor, build) NAME_(major, minor, build)\n"
    "extern \"C\" __global__ void\n"
    "NAME(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__)() {}\n";

void dllm__build_probe(dllm_compile_request *out)
{
    const dllm_kernel_spec spec = {.file = "build.cu", .entry = "", .arch = "sm_90"};
    memset(out, 0, sizeof *out);
    out->library = "";
    dllm__kernel_options(&out->options, &spec);
    out->source_count = 1;
    out->names[0] = spec.file;
    out->texts[0] = probe_text;
}

/** Reads digits and one underscore; NULL if it is not that. */
static const char *take_part(long *out, const char *text)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') return NULL;
    *out = strtol(text, &end, 10);
    return *end == '_' ? end + 1 : NULL;
}

bool dllm__build_of_probe(char out[DLLM_COMPILER_BUILD_BYTES], const dllm_compile_answer *answer)
{
    const char *found =
        memmem(answer->cubin, answer->cubin_bytes, PROBE_NAME, sizeof PROBE_NAME - 1);
    if (!found) return false;
    char text[DLLM_COMPILER_BUILD_BYTES] = "";
    const size_t left = answer->cubin_bytes - (size_t)(found - (const char *)answer->cubin);
    const size_t most = left < sizeof PROBE_NAME - 1 + sizeof text - 1
                            ? left - (sizeof PROBE_NAME - 1)
                            : sizeof text - 1;
    memcpy(text, found + sizeof PROBE_NAME - 1, most);
    long part[3] = {0};
    const char *at = text;
    for (int i = 0; i < 3 && at; i++)
        at = take_part(&part[i], at);
    if (!at) return false;
    return snprintf(out, DLLM_COMPILER_BUILD_BYTES, "%ld.%ld.%ld", part[0], part[1], part[2]) <
           DLLM_COMPILER_BUILD_BYTES;
}

/** Appends size, inode and change time of a file; an absent one counts as zeros. */
static void append_identity(char *out, const char *path)
{
    struct stat facts = {0};
    if (stat(path, &facts) != 0) memset(&facts, 0, sizeof facts);
    const size_t used = strlen(out);
    (void)snprintf(out + used, DLLM_COMPILER_IDENTITY_BYTES - used, "%s%jx-%jx-%jx.%lx",
                   used ? "-" : "", (intmax_t)facts.st_size, (uintmax_t)facts.st_ino,
                   (intmax_t)facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
}

bool dllm__build_identity(char out[DLLM_COMPILER_IDENTITY_BYTES], const dllm_nvrtc *nvrtc)
{
    char builtins[PATH_MAX];
    if (!dllm__nvrtc_builtins_path(builtins, nvrtc)) return false;
    out[0] = '\0';
    append_identity(out, nvrtc->path);
    append_identity(out, builtins);
    return true;
}

/** Opens a folder of the cache, with the cache's own rules of whom to trust. It must exist already. */
static bool open_below(dllm_cache_folder *out, const char *cache_folder, const char *below,
                       bool create)
{
    dllm_cache_dir dir = {.variable = "", .usable = true};
    const int length = snprintf(dir.path, sizeof dir.path, "%s", cache_folder);
    dir.given_bytes = (size_t)length; /* all of it: the first kernel that is stored makes it */
    if (length < (int)sizeof dir.path) return dllm__cache_folder_open(out, &dir, below, create);
    *out = (dllm_cache_folder){.fd = -1, .why = "its path is too long"};
    return false;
}

/** A regular file of someone the cache trusts. */
static bool is_trusted(int file, const dllm_cache_folder *folder)
{
    struct stat facts;
    return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
           !dllm__trust_refusal(&folder->trust, &facts);
}

/** True for "MAJOR.MINOR.", digits and nothing else, of this library's major and minor. */
static bool fits(const char *build, const dllm_nvrtc *nvrtc)
{
    char start[32];
    const int length = snprintf(start, sizeof start, "%d.%d.", nvrtc->major, nvrtc->minor);
    if (strncmp(build, start, (size_t)length) != 0) return false;
    const char *last = build + length;
    return *last && last[strspn(last, "0123456789")] == '\0';
}

bool dllm__build_recall(char out[DLLM_COMPILER_BUILD_BYTES], const dllm_nvrtc *nvrtc,
                        const char *cache_folder)
{
    char identity[DLLM_COMPILER_IDENTITY_BYTES];
    char text[DLLM_COMPILER_BUILD_BYTES] = "";
    dllm_cache_folder folder;
    if (!dllm__build_identity(identity, nvrtc)) return false;
    if (!open_below(&folder, cache_folder, "v1/nvrtc", false)) return false;
    const int file = openat(folder.fd, identity, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = -1;
    if (file >= 0) {
        if (is_trusted(file, &folder)) size = read(file, text, sizeof text - 1);
        (void)close(file);
    }
    dllm__cache_folder_close(&folder);
    if (size <= 0 || text[size - 1] != '\n') return false;
    text[size - 1] = '\0';
    if (!fits(text, nvrtc)) return false;
    memcpy(out, text, sizeof text);
    return true;
}

/** Writes a new file; false with errno. Not synced: a file lost or cut by a crash is no memory. */
static bool write_file(int folder, const char *name, const char *line)
{
    const ssize_t length = (ssize_t)strlen(line);
    const int file =
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    const bool written = write(file, line, (size_t)length) == length;
    return close(file) == 0 && written;
}

/** By way of v1/tmp, whose leftovers are swept. */
static bool place_file(const dllm_cache_folder *target, const dllm_cache_folder *temporary,
                       const char *name, const char *line)
{
    char unique[64];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(unique, sizeof unique, "nvrtc-%ld-%ld", (long)getpid(), now.tv_nsec);
    if (write_file(temporary->fd, unique, line) &&
        renameat(temporary->fd, unique, target->fd, name) == 0)
        return true;
    const int error = errno;
    (void)unlinkat(temporary->fd, unique, 0);
    errno = error;
    return false;
}

bool dllm__build_remember(char why[DLLM_WHY_BYTES], const char *build, const dllm_nvrtc *nvrtc,
                          const char *cache_folder)
{
    char identity[DLLM_COMPILER_IDENTITY_BYTES];
    char line[DLLM_COMPILER_BUILD_BYTES + 1];
    dllm_cache_folder target = {.fd = -1};
    dllm_cache_folder temporary = {.fd = -1};
    (void)snprintf(line, sizeof line, "%s\n", build);
    bool placed = false;
    if (!dllm__build_identity(identity, nvrtc))
        (void)snprintf(why, DLLM_WHY_BYTES, "the compiler's files cannot be seen");
    else if (!open_below(&target, cache_folder, "v1/nvrtc", true))
        memcpy(why, target.why, DLLM_WHY_BYTES);
    else if (!open_below(&temporary, cache_folder, "v1/tmp", true))
        memcpy(why, temporary.why, DLLM_WHY_BYTES);
    else if (!(placed = place_file(&target, &temporary, identity, line)))
        (void)snprintf(why, DLLM_WHY_BYTES, "%s", strerror(errno));
    dllm__cache_folder_close(&temporary);
    dllm__cache_folder_close(&target);
    return placed;
}
