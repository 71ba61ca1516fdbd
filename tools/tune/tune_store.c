/*
 * tune_store.c - the folder that the environment names
 */
#include "tune_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

int tune_store_find(dllm_cache_dir *out)
{
    dllm_cache_folder folder;
    dllm__cache_dir_find(out);
    if (!out->usable)
        return tune_fail(TUNE_NO_CACHE, "no cache folder can be used (from %s): %s", out->variable,
                         out->why);
    if (dllm__cache_folder_open(&folder, out, "", false))
        dllm__cache_folder_close(&folder);
    else if (folder.why[0])
        return tune_fail(TUNE_NO_CACHE, "cache folder %s (from %s) is not used: %s", out->path,
                         out->variable, folder.why);
    return TUNE_DONE;
}

int tune_store_refused(const dllm_entry_report *report)
{
    return tune_fail(report->folder[0] ? TUNE_SOME_FAILED : TUNE_NO_CACHE,
                     "cache folder %s is not used: %s", report->path, report->reason);
}

int tune_store_refused_plans(const dllm_cache_dir *dir, const dllm_plan_report *report)
{
    return tune_fail(TUNE_SOME_FAILED, "cache folder %s/%s is not used: %s", dir->path,
                     report->folder, report->reason);
}

json_t *tune_json_text(const char *text)
{
    json_t *plain = json_string(text);
    char *escaped = plain ? NULL : malloc(4 * strlen(text) + 1);
    if (!escaped) return plain;
    char *end = escaped;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        end += sprintf(end, *at < 0x80 ? "%c" : "\\x%02X", *at);
    *end = '\0';
    plain = json_string(escaped);
    free(escaped);
    return plain;
}

int tune_print_json(json_t *object)
{
    if (!object) return tune_fail(TUNE_SOME_FAILED, "no memory for the result");
    (void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
    return TUNE_DONE;
}
