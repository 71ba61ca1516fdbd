/*
 * tune_show.c - show: one entry of the user's cache folder with all that it says of itself
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "entry_walk.h"
#include "plan_walk.h"
#include "tune.h"
#include "tune_store.h"

typedef struct search {
    const dllm_cache_dir *dir;
    const char *wanted; /* the beginning of a name */
    json_t *rows;
} search;

static bool is_wanted(const search *s, const char *name)
{
    return strncmp(name, s->wanted, strlen(s->wanted)) == 0;
}

static void keep(search *s, const char *name, const char *text, const char *reason)
{
    (void)json_array_append_new(s->rows,
                                json_pack("{so so so}", "file", tune_json_text(name), "text",
                                          tune_json_text(text), "reason", tune_json_text(reason)));
}

static void print_row(const json_t *row)
{
    const char *reason = json_string_value(json_object_get(row, "reason"));
    (void)printf("%s%s%s\n%s", json_string_value(json_object_get(row, "file")),
                 reason[0] ? ": " : "", reason, json_string_value(json_object_get(row, "text")));
}

static void show_kernel(void *user, const dllm_entry_report *report)
{
    search *s = user;
    if (report->refused)
        (void)tune_store_refused(report);
    else if (is_wanted(s, report->name))
        keep(s, report->name, report->key_text, report->reason ? report->reason : "");
}

static void show_plan(void *user, const dllm_plan_report *report)
{
    search *s = user;
    char text[DLLM_PLAN_TEXT_BYTES] = "";
    if (report->refused) {
        (void)tune_store_refused_plans(s->dir, report);
        return;
    }
    if (!is_wanted(s, report->name)) return;
    if (report->plan) (void)dllm__plan_file_text(text, report->plan);
    keep(s, report->name, text, report->reason ? report->reason : "");
}

int tune_show(const tune_options *options)
{
    dllm_cache_dir dir;
    search s = {.dir = &dir};
    if (options->files.count != 1)
        return tune_fail(TUNE_USAGE, "show needs one key, or the beginning of one");
    int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    s.wanted = options->files.text[0];
    s.rows = json_array();
    dllm__entry_walk(&dir, show_kernel, &s);
    dllm__plan_walk(&dir, show_plan, &s);
    const size_t found = json_array_size(s.rows);
    if (options->json)
        status = tune_print_json(json_pack("{sO}", "entries", s.rows));
    else if (found == 1)
        print_row(json_array_get(s.rows, 0));
    json_decref(s.rows);
    if (found == 0)
        return tune_fail(TUNE_SOME_FAILED, "no entry of %s begins with %s", dir.path, s.wanted);
    if (found > 1)
        return tune_fail(TUNE_SOME_FAILED,
                         "%zu entries of %s begin with %s: more of one is needed, and "
                         "dllm-tune list -q prints their names whole",
                         found, dir.path, s.wanted);
    return status;
}
