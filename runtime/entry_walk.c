/* entry_walk.c - every file under v1/k, read and checked by itself; folders that are refused */
#include "entry_walk.h"

#include "entry_read.h"
#include "entry_store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BELOW_BYTES = 16 };

const char *dllm__entry_check_name(dllm_kernel_key *key, char build[DLLM_BUILD_BYTES],
                                   const dllm_entry *entry, const char *folder_name,
                                   const char *name)
{
    char own_name[DLLM_ENTRY_NAME_BYTES];
    if (!dllm__kernel_key_parse(key, build, entry->key_text, entry->key_bytes))
        return "key text without a compiler's build";
    dllm__entry_name(own_name, key->hex, build);
    if (strcmp(name, own_name) != 0 || strncmp(name, folder_name, 2) != 0)
        return "name differs from its key text";
    return NULL;
}

typedef struct walk {
    const dllm_cache_dir *dir;
    dllm_entry_visit visit;
    void *user;
} walk;

static void visit_file(const walk *w, const dllm_cache_folder *folder, const char *folder_name,
                       const char *name)
{
    dllm_read_file file;
    char path[PATH_MAX + NAME_MAX + BELOW_BYTES];
    char text[DLLM_KEY_TEXT_BYTES] = "";
    char build[DLLM_BUILD_BYTES] = "";
    const dllm_read_outcome outcome = dllm__entry_read(&file, folder, name);
    if (outcome == DLLM_READ_ENTRY) {
        dllm_kernel_key key;
        file.reason = dllm__entry_check_name(&key, build, &file.entry, folder_name, name);
        (void)snprintf(text, sizeof text, "%.*s", (int)file.entry.key_bytes, file.entry.key_text);
    }
    (void)snprintf(path, sizeof path, "%s/v1/k/%s/%s", w->dir->path, folder_name, name);
    const dllm_entry_report report = {
        .folder = folder_name,
        .name = name,
        .path = path,
        .file_bytes = file.size,
        .key_text = text,
        .build = build,
        .reason = file.reason,
        .ignored = outcome == DLLM_READ_IGNORED,
    };
    if (outcome != DLLM_READ_ABSENT) w->visit(w->user, &report);
    free(file.bytes);
}

/* A folder that is there and may not be used is reported. */
static bool open_folder(dllm_cache_folder *out, const walk *w, const char *below,
                        const char *folder_name)
{
    char path[PATH_MAX + BELOW_BYTES];
    if (dllm__cache_folder_open(out, w->dir, below, false)) return true;
    if (!out->why[0]) return false;
    (void)snprintf(path, sizeof path, "%s/%s", w->dir->path, below);
    const dllm_entry_report report = {
        .folder = folder_name,
        .name = "",
        .path = path,
        .key_text = "",
        .build = "",
        .reason = out->why,
        .refused = true,
    };
    w->visit(w->user, &report);
    return false;
}

static void visit_folder(const walk *w, const char *folder_name)
{
    char below[BELOW_BYTES];
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    (void)snprintf(below, sizeof below, "v1/k/%.2s", folder_name);
    if (!open_folder(&folder, w, below, folder_name)) return;
    const int count = scandirat(folder.fd, ".", &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            visit_file(w, &folder, folder_name, name);
        free(names[i]);
    }
    free(names);
    dllm__cache_folder_close(&folder);
}

void dllm__entry_walk(const dllm_cache_dir *dir, dllm_entry_visit visit, void *user)
{
    const walk w = {dir, visit, user};
    dllm_cache_folder folder;
    if (!dir->usable) return;
    const bool found = open_folder(&folder, &w, "v1/k", "");
    dllm__cache_folder_close(&folder);
    if (!found && folder.why[0]) return;
    for (unsigned i = 0; found && i < 256; i++) {
        char folder_name[8];
        (void)snprintf(folder_name, sizeof folder_name, "%02x", i);
        visit_folder(&w, folder_name);
    }
    (void)open_folder(&folder, &w, "v1/tmp", "tmp");
    dllm__cache_folder_close(&folder);
}
