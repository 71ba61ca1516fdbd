/*
 * tune_store.c - the folder that the environment names
 */
#include "tune_store.h"

#include <stdio.h>

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

void tune_print_json(json_t *object)
{
    (void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
}
