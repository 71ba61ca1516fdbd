/*
 * family_parts.h - what the GPU families share: splitting the vocabulary, states, launch, combine
 *
 * A head kernel writes one partial state a (split, row) at the start of the workspace; the combine
 * kernel reads them and finishes the rows. So does the sampler where it does not finish them itself.
 */
#ifndef DLLM_FAMILY_PARTS_H
#define DLLM_FAMILY_PARTS_H

#include "families.h"
#include "row_params.h"

/** How a family wants the vocabulary cut. */
typedef struct dllm_split_rule {
    int64_t vocab;
    int64_t row_tiles;    /* blocks a split needs for all rows */
    int64_t slots;        /* blocks the device runs at once */
    int64_t splits_least; /* for other reasons than columns_max; 0: none */
    int64_t splits_most;  /* that are of use otherwise, unless columns_max wants more; 0: any */
    int columns_step;     /* a split is a multiple of this */
    int columns_max;      /* at most this many: the limit of terms in one fp32 sum */
    int columns_overhead; /* what starting a block costs, in columns */
} dllm_split_rule;

/** Fills splits and split_columns: the fewest column-waves, then the fewest splits. */
void dllm__split_vocab(dllm_choice *choice, const dllm_split_rule *rule);

/** Device memory for the partial states, a multiple of 256 bytes. */
size_t dllm__states_bytes(const dllm_problem *problem, const dllm_choice *choice);

/** The workspace of a family that needs its states alone. */
size_t dllm__states_workspace(const dllm_problem *problem, const dllm_choice *choice);

/** Rounds up to what every part of the workspace starts at. */
size_t dllm__round_256(size_t bytes);

/** Tells a head or sampler kernel the statistics and transforms of a problem. */
void dllm__define_request(dllm_kernel_spec *out, const dllm_problem *problem);

/** True if the problem asks for nothing beyond the base state of plain logits. */
bool dllm__is_plain(const dllm_problem *problem);

/** Lines that a kernel multiplies for so many rows: with guidance two a row, in groups of 16
 * (kernel_src/pairs.cuh). */
int64_t dllm__lines(const dllm_problem *problem, int64_t rows);

/** Words of 4 bytes that a state has beyond the base state (kernel_src/extra.cuh). */
int dllm__extra_words(const dllm_problem *problem);

/** What a head or sampler kernel reads for transforms and statistics. */
dllm_row_inputs dllm__row_inputs(const dllm_plan *plan, const dllm_row_call *call,
                                 const dllm_choice *choice);

/** And for guidance. is_packed: the sampler's logits are those of packed lines. */
dllm_guidance dllm__guidance(const dllm_plan *plan, const dllm_row_call *call, bool is_packed);

/** A kernel that finishes rows, but for its file. */
void dllm__finish_spec(dllm_kernel_spec *out, const char *entry, const dllm_problem *problem);

/** What it writes beyond the plain outputs. */
dllm_row_outputs dllm__row_outputs(const dllm_plan *plan, const dllm_row_call *call,
                                   const dllm_choice *choice);

/** The combine kernel of a problem. */
void dllm__combine_spec(dllm_kernel_spec *out, const dllm_problem *problem);

/** DLLM_UNSUPPORTED if so many blocks do not fit a grid, or so many splits combine. */
dllm_status dllm__check_grid(const char *family, int64_t row_tiles, int64_t splits);

/** A launch, without its arguments. */
typedef struct dllm_grid {
    int64_t blocks;
    unsigned threads;
    int shared_bytes;
    bool dependent; /* the kernel waits by griddepcontrol for the one in front: hides its launch */
} dllm_grid;

/** Launches one kernel of a plan; `params` is its one argument struct. The context is current. */
dllm_status dllm__launch(const dllm_plan *plan, dllm_cu_function function, const dllm_grid *grid,
                         void *params, dllm_stream stream);

/** Likewise a kernel of several argument structs, in clusters of so many blocks; 0: there are none. */
dllm_status dllm__launch_clusters(const dllm_plan *plan, dllm_cu_function function,
                                  const dllm_grid *grid, unsigned cluster, void **arguments,
                                  dllm_stream stream);

/** Launches a head kernel over row tiles x splits and then combine. */
dllm_status dllm__launch_head(const dllm_plan *plan, const dllm_plan_entry *entry,
                              const dllm_row_call *call, int rows_a_block, dllm_grid grid,
                              dllm_stream stream);

/** Rows of a block of combine. */
int dllm__combine_rows(const dllm_problem *problem);

/** Where the rows of a call are finished to, and the `splits` states a row to finish them from. */
dllm_combine_params dllm__combine_params(const dllm_plan *plan, const dllm_row_call *call,
                                         const dllm_choice *choice);

/**
 * Launches combine over `splits` states a row.
 * shared_bytes  what no one uses but keeps blocks apart; 0: none
 */
dllm_status dllm__launch_combine(const dllm_plan *plan, dllm_cu_function function,
                                 const dllm_row_call *call, const dllm_choice *choice,
                                 int shared_bytes, dllm_stream stream);

/** A block of logits for the sampler kernel: all columns of the problem, or one chunk. */
typedef struct dllm_logits_block {
    const void *logits;
    const void *row_index;
    int64_t logits_stride;
    int64_t row_begin; /* row of the call that the first logits are of */
    int64_t rows;
    int column_begin;
    int columns;
    bool continues; /* the states of earlier columns are there */
    bool dependent; /* the kernel in front of it on the stream is one of this run */
    bool is_packed; /* guidance: its rows are packed lines */
} dllm_logits_block;

enum {
    DLLM_SAMPLER_THREADS = 128,
    DLLM_SAMPLER_SPAN = 256, /* columns that a warp folds at a time where it keeps candidates */
    DLLM_SAMPLER_COLUMNS_STEP = 1024,      /* one 16-byte load of 2-byte logits a thread */
    DLLM_SAMPLER_COLUMNS_MAX = 1024 * 1024 /* no sum of a lane gets more than 1,024 terms */
};

/** The sampler kernel of a problem for one type of logits. */
void dllm__sampler_spec(dllm_kernel_spec *out, const dllm_problem *problem, dllm_type logits_type);

/** The lists of candidates that the sampler kernel keeps. */
dllm_list_shape dllm__sampler_lists(const dllm_choice *choice);

/** DLLM_UNSUPPORTED if columns beside the last would pass 2^31 where lanes stay together for lists. */
dllm_status dllm__check_lists(const char *family, const dllm_problem *problem);

/** Splits rows of `columns` logits of a type so that all of the device reads. */
void dllm__split_sampler(dllm_choice *choice, int64_t rows, int64_t columns, dllm_type type,
                         const dllm_device *device);

/** What a sampler kernel reads of a block of logits. */
dllm_sampler_params dllm__sampler_params(const dllm_plan *plan, const dllm_plan_entry *entry,
                                         const dllm_row_call *call, const dllm_logits_block *block);

/** Launches the sampler kernel over rows x splits of a call; combine is not launched. */
dllm_status dllm__launch_sampler(const dllm_plan *plan, const dllm_plan_entry *entry,
                                 const dllm_row_call *call, const dllm_logits_block *block,
                                 dllm_stream stream);

#endif
