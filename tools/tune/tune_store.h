/*
 * tune_store.h - finds the user's cache folder for a subcommand, and prints a result as JSON
 */
#ifndef TUNE_STORE_H
#define TUNE_STORE_H

#include <jansson.h>

#include "cache_dirs.h"
#include "entry_walk.h"
#include "plan_walk.h"

/** TUNE_DONE if the folder may be read or does not exist yet; else TUNE_NO_CACHE, reason on stderr.
 */
int tune_store_find(dllm_cache_dir *out);

/** Says on stderr that a folder in it is not used; TUNE_NO_CACHE if nothing can be, else
    TUNE_SOME_FAILED. */
int tune_store_refused(const dllm_entry_report *report);
/** The same of a folder of tuned choices, which is a part. */
int tune_store_refused_plans(const dllm_cache_dir *dir, const dllm_plan_report *report);

/** A text for JSON. Of one that is not UTF-8 every byte beyond ASCII is written \xHH. */
json_t *tune_json_text(const char *text);

/** Prints an object on stdout and releases it; TUNE_SOME_FAILED for NULL, one that was not made. */
int tune_print_json(json_t *object);

#endif
