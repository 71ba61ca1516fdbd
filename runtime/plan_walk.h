/*
 * plan_walk.h - the tuned choices of a cache folder, listed and verified
 */
#ifndef DLLM_PLAN_WALK_H
#define DLLM_PLAN_WALK_H

#include "plan_file.h"

/** What dllm__plan_walk found under one name; valid during the visit. */
typedef struct dllm_plan_report {
    const char *folder; /* "v1/t/nvidia-h200" */
    const char *name;
    const dllm_plan_file *plan; /* NULL if it cannot be read */
    const char *reason;         /* why not, or why its name is not its key's; NULL: it is good */
    bool refused; /* no file: `folder`, with all that is in it, may not be used; `name` is "" */
} dllm_plan_report;

typedef void (*dllm_plan_visit)(void *user, const dllm_plan_report *report);

/**
 * Visits every file of v1/t/<gpu> in order of name, and every folder from v1/t on that a lookup would
 * refuse; of v1 itself dllm__entry_walk tells. The visit may remove the file.
 */
void dllm__plan_walk(const dllm_cache_dir *dir, dllm_plan_visit visit, void *user);

#endif
