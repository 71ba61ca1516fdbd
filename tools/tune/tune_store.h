/*
 * tune_store.h - finds the user's cache folder for a subcommand, and prints a result as JSON
 */
#ifndef TUNE_STORE_H
#define TUNE_STORE_H

#include <jansson.h>

#include "cache_dirs.h"

/** TUNE_DONE if the folder may be read or does not exist yet; else TUNE_NO_CACHE, reason on stderr.
 */
int tune_store_find(dllm_cache_dir *out);

/** Prints an object on stdout and releases it. */
void tune_print_json(json_t *object);

#endif
