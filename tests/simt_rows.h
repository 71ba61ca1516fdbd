/*
 * simt_rows.h - one head or sampler call by kernels on the host, with everything around it watched
 *
 * What row_run does on a device, without the library above the kernels: inputs end exactly where
 * their last element ends and are no better aligned than they must be, states beyond the rows and
 * inputs must stay as they are, outputs and states start poisoned.
 */
#ifndef DLLM_SIMT_ROWS_H
#define DLLM_SIMT_ROWS_H

#include "row_run.h"
#include "simt_inputs.h"
#include "simt_shim.h"

typedef struct simt_choice {
    const simt_variant *kernel;
    int splits;            /* at least; 0 = 1. Fewer where the columns do not give as many, or the
                              kernel finishes no more */
    int64_t chunk_columns; /* sampler: logits come in chunks of so many columns; 0 = all at once */
    int64_t chunk_rows;    /* sampler without a row index: and of so many rows; 0 = all at once */
    bool is_packed;        /* sampler of guided rows without an index: logits of packed lines */
    simt_order order;
    uint32_t plain; /* a kernel that finishes rows: these of the plain outputs alone; 0 = all */
    char *states;   /* (rows, state_bytes): written in place of the outputs; NULL: outputs */
    int64_t state_bytes;
} simt_choice;

/** The variant of that name; the running test fails if there is none. */
const simt_variant *simt_variant_find(const char *name);

/** The number-th variant of a head or the sampler that ends in outputs; NULL past the last. */
const simt_variant *simt_variant_of_rows(int number);

bool simt_variant_is_head(const simt_variant *variant);

/** Does it write finished rows, without combine? */
bool simt_variant_finishes(const simt_variant *variant);

/** Bytes that the variant wants of row starts. */
int simt_variant_alignment(const simt_variant *variant);

/** Has the problem the variant's operation and types, and do its strides keep the alignment? */
bool simt_variant_takes(const simt_variant *variant, const row_problem *problem);

/** Runs a problem that the variant takes, for all outputs. ROW_RAN, or ROW_FAILED with a message. */
row_outcome simt_row_run(row_result *out, const row_problem *problem, const simt_choice *choice);

#endif
