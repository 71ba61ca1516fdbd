/* entry_walk.c - every file under v1/k, read and checked by itself */
#include "entry_walk.h"

#include "entry_read.h"
#include "entry_store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BELOW_BYTES = 16 };

/* What a lookup finds out from the key that it wants, found out from the file alone. */
static const char *check_name(char build[DLLM_BUILD_BYTES], const dllm_entry *entry,
                              const char *folder_name, const char *name)
{
    char hex[DLLM_SHA256_HEX_BYTES];
    char own_name[DLLM_ENTRY_NAME_BYTES];
    if (!dllm__kernel_key_parse(hex, build, entry->key_text, entry->key_bytes))
        return "key text without a compiler's build";
    dllm__entry_name(own_name, hex, build);
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
        file.reason = check_name(build, &file.entry, folder_name, name);
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

static void visit_folder(const walk *w, const char *folder_name)
{
    char below[BELOW_BYTES];
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    (void)snprintf(below, sizeof below, "v1/k/%.2s", folder_name);
    if (!dllm__cache_folder_open(&folder, w->dir, below, false)) return;
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
    if (!dir->usable) return;
    for (unsigned i = 0; i < 256; i++) {
        char folder_name[8];
        (void)snprintf(folder_name, sizeof folder_name, "%02x", i);
        visit_folder(&w, folder_name);
    }
}
