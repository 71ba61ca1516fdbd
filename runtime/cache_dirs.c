/* cache_dirs.c - the environment's answer, checks of owner and mode, folders opened one by one */
#include "cache_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSWD_BYTES = 16384, OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

/* ---- which folder */

/* True if a piece of it is a name. The root is nobody's cache, however it is written. */
static bool is_absolute(const char *path)
{
    bool named = false;
    for (const char *piece = path; *piece && !named; piece += strspn(piece, "/")) {
        const size_t length = strcspn(piece, "/");
        named = length > 2 || strspn(piece, ".") < length;
        piece += length;
    }
    return path[0] == '/' && named;
}

static void choose(dllm_cache_dir *out, const char *variable, const char *given, const char *below)
{
    out->variable = variable;
    const int length = snprintf(out->path, sizeof out->path, "%s%s", given, below);
    if (length < 0 || (size_t)length >= sizeof out->path) {
        (void)snprintf(out->why, sizeof out->why, "%s is too long", variable);
        out->path[0] = '\0';
    } else if (!is_absolute(given)) {
        (void)snprintf(out->why, sizeof out->why,
                       "%s is \"%.100s\", not an absolute folder below /", variable, given);
        out->path[0] = '\0';
    } else {
        out->usable = true;
    }
}

void dllm__cache_dir_take(dllm_cache_dir *out, const char *variable, const char *path)
{
    memset(out, 0, sizeof *out);
    choose(out, variable, path, "");
}

/* The home folder is the account's: one that does not exist is not made here. */
static void choose_home(dllm_cache_dir *out, const char *variable, const char *home)
{
    choose(out, variable, home, "/.cache/dllm");
    out->given_bytes = strlen(home);
}

static bool choose_passwd(dllm_cache_dir *out)
{
    char buffer[PASSWD_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) != 0 || !found) return false;
    if (!found->pw_dir || !*found->pw_dir) return false;
    choose_home(out, "passwd", found->pw_dir);
    return true;
}

/* NULL for a variable that is empty, and for all of them in a set-uid program. */
static const char *variable_value(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

void dllm__cache_dir_find(dllm_cache_dir *out)
{
    memset(out, 0, sizeof *out);
    out->variable = "none";
    const char *own = variable_value("DLLM_CACHE_DIR");
    const char *xdg = variable_value("XDG_CACHE_HOME");
    const char *home = variable_value("HOME");
    if (own)
        choose(out, "DLLM_CACHE_DIR", own, "");
    else if (xdg && xdg[0] == '/')
        choose(out, "XDG_CACHE_HOME", xdg, "/dllm");
    else if (home)
        choose_home(out, "HOME", home);
    else if (!choose_passwd(out))
        (void)snprintf(out->why, sizeof out->why, "%s",
                       "no DLLM_CACHE_DIR, XDG_CACHE_HOME, HOME or passwd entry names a folder");
}

/* ---- whose folder */

const char *dllm__trust_refusal(const dllm_trust *trust, const struct stat *status)
{
    if (status->st_mode & S_IWOTH) return "the world may write it";
    if (status->st_uid == trust->user || status->st_uid == 0) return NULL;
    if (!trust->shared) return "it belongs to another user";
    return status->st_gid == trust->group ? NULL : "it belongs to another user and another group";
}

static bool in_group(gid_t group)
{
    gid_t groups[NGROUPS_MAX > 1024 ? 1024 : NGROUPS_MAX];
    if (getegid() == group) return true;
    const int count = getgroups((int)(sizeof groups / sizeof groups[0]), groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == group) return true;
    return false;
}

static dllm_trust trust_of(const dllm_cache_dir *dir, const struct stat *status)
{
    const bool named = strcmp(dir->variable, "DLLM_CACHE_DIR") == 0;
    return (dllm_trust){
        .shared = named && (status->st_mode & S_ISGID) && in_group(status->st_gid),
        .user = geteuid(),
        .group = status->st_gid,
    };
}

/* ---- opening */

static bool refuse(dllm_cache_folder *folder, const char *name, const char *reason)
{
    (void)snprintf(folder->why, sizeof folder->why, "%.120s: %s", name, reason);
    return false;
}

static bool refuse_errno(dllm_cache_folder *folder, const char *name, int error)
{
    return refuse(folder, name, strerror(error));
}

/* Makes every missing folder of the path but those that were given; the last may exist already. */
static bool make_path(dllm_cache_folder *folder, const dllm_cache_dir *dir)
{
    char path[PATH_MAX];
    memcpy(path, dir->path, sizeof path);
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        const bool last = *at == '\0';
        *at = '\0';
        const bool given = (size_t)(at - path) <= dir->given_bytes;
        if (!given && mkdir(path, 0700) != 0 && errno != EEXIST)
            return refuse_errno(folder, path, errno);
        if (last) return true;
        *at = '/';
    }
}

/* The cache folder itself may be reached through links: where it lies is the user's decision. */
static bool open_top(dllm_cache_folder *folder, const dllm_cache_dir *dir, bool create)
{
    folder->fd = open(dir->path, OPEN_FOLDER);
    if (folder->fd < 0 && errno == ENOENT && create) {
        if (!make_path(folder, dir)) return false;
        folder->fd = open(dir->path, OPEN_FOLDER);
    }
    if (folder->fd < 0)
        return errno == ENOENT && !create ? false : refuse_errno(folder, dir->path, errno);
    struct stat status;
    if (fstat(folder->fd, &status) != 0) return refuse_errno(folder, dir->path, errno);
    folder->trust = trust_of(dir, &status);
    const char *refusal = dllm__trust_refusal(&folder->trust, &status);
    return refusal ? refuse(folder, dir->path, refusal) : true;
}

/* mkdir's mode is cut by the umask, and the group of a shared folder must come through. */
static bool make_below(int parent, const char *name, const dllm_trust *trust)
{
    if (mkdirat(parent, name, 0700) != 0) return errno == EEXIST;
    return !trust->shared || fchmodat(parent, name, 02770, 0) == 0;
}

static bool descend(dllm_cache_folder *folder, const char *name, bool create)
{
    const int parent = folder->fd;
    folder->fd = openat(parent, name, OPEN_FOLDER | O_NOFOLLOW);
    int error = errno;
    if (folder->fd < 0 && error == ENOENT && create) {
        if (make_below(parent, name, &folder->trust))
            folder->fd = openat(parent, name, OPEN_FOLDER | O_NOFOLLOW);
        error = errno;
    }
    (void)close(parent);
    if (folder->fd < 0)
        return error == ENOENT && !create ? false : refuse_errno(folder, name, error);
    struct stat status;
    if (fstat(folder->fd, &status) != 0) return refuse_errno(folder, name, errno);
    const char *refusal = dllm__trust_refusal(&folder->trust, &status);
    return refusal ? refuse(folder, name, refusal) : true;
}

bool dllm__cache_folder_open(dllm_cache_folder *out, const dllm_cache_dir *dir, const char *below,
                             bool create)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
    bool open = open_top(out, dir, create);
    while (open && *below) {
        char name[NAME_MAX + 1];
        const size_t length = strcspn(below, "/");
        memcpy(name, below, length);
        name[length] = '\0';
        below += length + (below[length] == '/');
        open = descend(out, name, create);
    }
    if (!open) dllm__cache_folder_close(out);
    return open;
}

void dllm__cache_folder_close(dllm_cache_folder *folder)
{
    if (folder->fd >= 0) (void)close(folder->fd);
    folder->fd = -1;
}

/* ---- probing */

/* The nearest folder that exists must let us create the rest. */
static void probe_parent(dllm_cache_dir *dir)
{
    char path[PATH_MAX];
    memcpy(path, dir->path, sizeof path);
    for (;;) {
        char *slash = strrchr(path, '/');
        if (slash == path) slash++;
        *slash = '\0';
        const bool given = strlen(path) < dir->given_bytes;
        if (!given && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0) break;
        if (given || errno != ENOENT) {
            (void)snprintf(dir->why, sizeof dir->why, "cannot be created in %.120s: %s", path,
                           given ? "the home folder does not exist" : strerror(errno));
            return;
        }
    }
    dir->writable = true;
}

static void probe_by_writing(dllm_cache_dir *dir, const dllm_cache_folder *folder,
                             const char *below)
{
    char name[64];
    (void)snprintf(name, sizeof name, "probe-%ld", (long)getpid());
    const int fd =
        openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    dir->writable = fd >= 0 && write(fd, "x", 1) == 1;
    if (!dir->writable)
        (void)snprintf(dir->why, sizeof dir->why, "%s%s%s", below, *below ? ": " : "",
                       strerror(errno));
    if (fd < 0) return;
    (void)close(fd);
    (void)unlinkat(folder->fd, name, 0);
}

/* True if the folder is there, whether it may be used or not. */
static bool probe_folder(dllm_cache_dir *dir, const char *below)
{
    dllm_cache_folder folder;
    if (dllm__cache_folder_open(&folder, dir, below, false)) {
        probe_by_writing(dir, &folder, below);
        dllm__cache_folder_close(&folder);
        return true;
    }
    if (!folder.why[0]) return false;
    dir->writable = false;
    memcpy(dir->why, folder.why, sizeof dir->why);
    return true;
}

void dllm__cache_dir_probe(dllm_cache_dir *dir)
{
    static const char *const inner[] = {"v1", "v1/k", "v1/tmp"};
    if (!dir->usable) return;
    dir->why[0] = '\0';
    dir->writable = false;
    dir->exists = probe_folder(dir, "");
    if (!dir->exists) probe_parent(dir);
    for (size_t i = 0; dir->exists && dir->writable && i < sizeof inner / sizeof inner[0]; i++)
        (void)probe_folder(dir, inner[i]);
}
