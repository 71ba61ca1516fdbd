/*
 * pack_item.h - what a member of a pack is, and which of two is kept
 */
#ifndef DLLM_PACK_ITEM_H
#define DLLM_PACK_ITEM_H

#include "dllm.h"
#include "entry_file.h"
#include "kernel_key.h"
#include "pack_file.h"
#include "plan_file.h"

typedef enum dllm_pack_verdict {
    DLLM_PACK_GOOD,
    DLLM_PACK_INCOMPATIBLE, /* of a format that this library does not know */
    DLLM_PACK_CORRUPT
} dllm_pack_verdict;

/** A kernel or a tuned choice; `entry` points into the member. */
typedef struct dllm_pack_item {
    bool is_plan;
    dllm_entry entry; /* of a kernel, like the next */
    dllm_kernel_key key;
    char build[DLLM_BUILD_BYTES];
    char text[DLLM_PLAN_TEXT_BYTES]; /* of a plan, like the next */
    dllm_plan_file plan;
} dllm_pack_item;

/** Reads a member whole, its path included: nothing but what a cache folder may hold is good. */
dllm_pack_verdict dllm__pack_item_read(dllm_pack_item *out, const dllm_pack_member *member);

/** True if a tuned choice that is here gives way to another of the same key: it took longer. */
bool dllm__pack_plan_is_better(const dllm_plan_file *offered, const dllm_plan_file *here);

/**
 * Adds the members of a pack to a list, and counts what became of each.
 * Status   DLLM_INVALID_ARGUMENT if it is no pack: nothing was added. DLLM_OUT_OF_MEMORY
 */
dllm_status dllm__pack_list_merge(dllm_pack_list *list, dllm_cache_report *report, const void *pack,
                                  size_t pack_bytes);

#endif
