/* plan_walk.c - every file under v1/t, read by itself */
#include "plan_walk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void visit_file(const dllm_cache_folder *folder, const char *below, const char *name,
                       dllm_plan_visit visit, void *user)
{
    dllm_plan_file plan;
    char why[DLLM_WHY_BYTES];
    char own_name[DLLM_PLAN_NAME_BYTES];
    const bool read = dllm__plan_file_read(&plan, folder, name, why);
    if (!read && !why[0]) return; /* it went away */
    if (read) dllm__plan_name(own_name, plan.key);
    const dllm_plan_report report = {
        .folder = below,
        .name = name,
        .plan = read ? &plan : NULL,
        .reason = !read                         ? why
                  : strcmp(own_name, name) == 0 ? NULL
                                                : "name differs from its key's",
    };
    visit(user, &report);
}

/* A folder that is there and may not be used is reported. */
static bool open_folder(dllm_cache_folder *out, const dllm_cache_dir *dir, const char *below,
                        dllm_plan_visit visit, void *user)
{
    if (dllm__cache_folder_open(out, dir, below, false)) return true;
    if (!out->why[0]) return false;
    const dllm_plan_report report = {
        .folder = below, .name = "", .reason = out->why, .refused = true};
    visit(user, &report);
    return false;
}

static void visit_folder(const dllm_cache_dir *dir, const char *below, dllm_plan_visit visit,
                         void *user)
{
    dllm_cache_folder folder;
    struct dirent **names = NULL;
    if (!open_folder(&folder, dir, below, visit, user)) return;
    const int count = scandirat(folder.fd, ".", &names, not_hidden, alphasort);
    for (int i = 0; i < count; i++) {
        visit_file(&folder, below, names[i]->d_name, visit, user);
        free(names[i]);
    }
    free(names);
    dllm__cache_folder_close(&folder);
}

void dllm__plan_walk(const dllm_cache_dir *dir, dllm_plan_visit visit, void *user)
{
    dllm_cache_folder top;
    struct dirent **names = NULL;
    if (!dir->usable || !dllm__cache_folder_open(&top, dir, "v1", false)) return;
    dllm__cache_folder_close(&top);
    if (!open_folder(&top, dir, "v1/t", visit, user)) return;
    const int count = scandirat(top.fd, ".", &names, not_hidden, alphasort);
    dllm__cache_folder_close(&top);
    for (int i = 0; i < count; i++) {
        char below[DLLM_PLAN_FOLDER_BYTES + NAME_MAX];
        (void)snprintf(below, sizeof below, "v1/t/%s", names[i]->d_name);
        visit_folder(dir, below, visit, user);
        free(names[i]);
    }
    free(names);
}
