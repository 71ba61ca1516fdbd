/*
 * plan.h - the choice made for a problem, and the plan that run reads
 *
 * A plan holds a table of entries by row bucket; run takes the one whose bucket holds its rows. A
 * family (families.h) makes the choice, names its kernels and launches them.
 */
#ifndef DLLM_PLAN_H
#define DLLM_PLAN_H

#include "context.h"
#include "kernel_cache.h"
#include "problem.h"

struct dllm_family;
struct dllm_gemm; /* cuBLAS state of gemm_chunk (gemm.h) */

/** Tile and split of one kernel family; what the tuner will vary. */
typedef struct dllm_choice {
    const struct dllm_family *family;
    int tile_rows;
    int tile_vocab;
    int tile_depth;
    int stages;
    int splits;        /* parts of the vocabulary (of a chunk), the same at every R of this entry */
    int split_columns; /* columns of a part, the last may be short */
    int finishes;      /* sampler: 1: its kernel ends the rows, 0: combine does */
    int chunk_rows;    /* gemm_chunk: rows and columns of the chunk of logits */
    int chunk_vocab;
} dllm_choice;

/** Are all members of two choices the same? */
bool dllm__choice_equal(const dllm_choice *a, const dllm_choice *b);

enum {
    DLLM_PLAN_ENTRIES_MAX = 16,
    DLLM_PLAN_KERNELS_MAX = 3,
    DLLM_WORKSPACE_ALIGNMENT = 256 /* bytes; the caller's may lie anywhere, so one less is slack */
};

/** One row bucket: the choice and its loaded functions. */
typedef struct dllm_plan_entry {
    dllm_problem
        problem; /* the plan's, but rows_max is the bucket's: its workspace is laid out by it */
    dllm_choice choice;
    dllm_cu_function kernels[DLLM_PLAN_KERNELS_MAX]; /* in the order of the family's kernels() */
    struct dllm_gemm *gemm;
} dllm_plan_entry;

struct dllm_plan {
    dllm_context *context;
    dllm_problem problem;
    int entry_count;
    dllm_plan_entry entries[DLLM_PLAN_ENTRIES_MAX];
    size_t workspace_bytes; /* slack for alignment included */
    bool is_tuned;          /* some entry's choice was measured */
    dllm_plan_information information;
};

/**
 * Most rows of each bucket of a problem, ascending, the last one rows_max; returns their number. One
 * bucket for a family asked for by name and for DLLM_BATCH_INVARIANT: there the choice, and with it
 * the bits of a row, are the same for any number of rows.
 */
int dllm__row_buckets(int64_t out[DLLM_PLAN_ENTRIES_MAX], const dllm_problem *problem);

/** Chooses, compiles or loads; the problem has been checked. */
dllm_status dllm__plan_create(dllm_plan **out, dllm_context *context, const dllm_problem *problem);

/** Most rows of the bucket that holds so many rows; the largest bucket holds all beyond it. */
int64_t dllm__row_bucket(int64_t rows);

/** A plan of one bucket with a choice that has been checked (dllm__check_choice). */
dllm_status dllm__plan_create_with(dllm_plan **out, dllm_context *context,
                                   const dllm_problem *problem, const dllm_choice *choice);

/** Launches one checked call. */
dllm_status dllm__plan_run(const dllm_plan *plan, const dllm_row_call *call, dllm_stream stream);

#endif
