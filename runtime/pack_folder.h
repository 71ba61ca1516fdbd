/*
 * pack_folder.h - a cache folder into a pack, and a pack into a cache folder
 */
#ifndef DLLM_PACK_FOLDER_H
#define DLLM_PACK_FOLDER_H

#include "log.h"
#include "pack_item.h"

/**
 * Adds what is good in a folder; false without memory.
 * report  counts as corrupt what is bad, as failed what may not be read, a folder as one; NULL: nobody
 *         wants to know
 */
bool dllm__pack_list_add_folder(dllm_pack_list *list, dllm_cache_report *report,
                                const dllm_cache_dir *dir);

/** Adds one kernel; false without memory. */
bool dllm__pack_list_add_kernel(dllm_pack_list *list, const dllm_kernel_key *key, const char *build,
                                const unsigned char *cubin, size_t cubin_bytes);

/** Adds one tuned choice of that folder ("v1/t/nvidia-h200"); false without memory. */
bool dllm__pack_list_add_plan(dllm_pack_list *list, const char *folder, const dllm_plan_file *plan);

/**
 * Publishes what is good in a pack, each entry whole or not at all, and counts.
 * dry_run  counts alone
 * Status   DLLM_INVALID_ARGUMENT if it is no pack
 */
dllm_status dllm__pack_import_folder(dllm_cache_report *report, const dllm_cache_dir *dir,
                                     const void *pack, size_t pack_bytes, bool dry_run,
                                     const dllm_log *log);

#endif
