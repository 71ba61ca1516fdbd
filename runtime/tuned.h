/*
 * tuned.h - choices that were measured: under which key, in which words, found again how
 *
 * A tuned choice belongs to a plain problem (operation, types, sizes, row bucket) on one kind of
 * device. It is soft data: what is found is held against space and legality before it is used, and
 * what does not pass is dropped with a log line.
 */
#ifndef DLLM_TUNED_H
#define DLLM_TUNED_H

#include "families.h"
#include "kernel_cache.h"
#include "plan_file.h"

/** A measured choice, and what it was measured at. */
typedef struct dllm_tuned {
    dllm_choice choice;
    double median_us;
    double spread_us;  /* median absolute deviation */
    double default_us; /* of the rule of thumb's choice in the same run; 0 if it could not run */
    bool is_builtin;   /* measured elsewhere, for the library itself (tuned_table.h) */
} dllm_tuned;

typedef struct dllm_tuned_list dllm_tuned_list;

dllm_status dllm__tuned_list_create(dllm_tuned_list **out);
/** Takes NULL. */
void dllm__tuned_list_destroy(dllm_tuned_list *list);

/** NULL if a problem has a choice that a measurement may make, else why it has none. */
const char *dllm__untunable(const dllm_problem *problem);

/**
 * The problem that is tuned in place of one that is asked for: rows_max rounded up to its bucket,
 * plain outputs, no inputs and transforms, which hardly move the best tile.
 */
void dllm__tuned_problem(dllm_problem *out, const dllm_problem *asked);

enum { DLLM_TUNED_TEXT_BYTES = 1024 };

/** The key of a tuned problem on a device, as sorted lines `name value`. */
void dllm__tuned_key(char out[DLLM_TUNED_TEXT_BYTES], const dllm_problem *tuned,
                     const dllm_device *device);

/** A tuned choice as sorted lines `name value`, and back. */
void dllm__tuned_text(char out[DLLM_TUNED_TEXT_BYTES], const dllm_tuned *tuned);

/** Reads the lines whole or refuses them: DLLM_INVALID_ARGUMENT with the reason. */
dllm_status dllm__tuned_parse(dllm_tuned *out, const char *text, dllm_operation operation);

/**
 * Finds the tuned choice of a problem: in this context, on disk, in the library's own table; with
 * DLLM_PREPARE_DETERMINISTIC in the table alone.
 * device   has_cublas is set when the choice needs cuBLAS and it could be opened. CUDA is current.
 */
bool dllm__tuned_find(dllm_tuned *out, dllm_context *context, const dllm_problem *problem,
                      dllm_device *device);

/**
 * Keeps a tuned choice for this context's further plans, in place of an older one.
 * stored   not NULL: it is published on disk too, unless NO_DISK is asked for; whether it was.
 */
dllm_status dllm__tuned_keep(dllm_context *context, const dllm_problem *problem,
                             const dllm_tuned *tuned, bool *stored);

/** Keeps a choice that was measured elsewhere, if it was on a device like this one. */
dllm_status dllm__tuned_give(dllm_gift *out, dllm_context *context, const dllm_plan_file *file);

typedef bool (*dllm_tuned_visit)(void *user, const char *folder, const dllm_plan_file *file);

/** Visits every choice that this context knows, as its file; false if a visit ended it. */
bool dllm__tuned_visit(const dllm_context *context, dllm_tuned_visit visit, void *user);

#endif
