/*
 * row_run.h - one head, sampler or merge call on a device, with everything around it watched
 *
 * Inputs end exactly where their last element ends and lie no better aligned than they must,
 * outputs and workspace lie between guard bytes. The call is made twice with outputs and workspace
 * poisoned differently: an element that is not written, or that depends on the workspace, differs.
 */
#ifndef ROW_RUN_H
#define ROW_RUN_H

#include "device_memory.h"
#include "message.h"
#include "row_output.h"

/** A call: host data, which row_run copies to the device. Zero fields have dllm.h's defaults. */
typedef struct row_problem {
    bool is_head;
    bool
        repeated; /* hidden holds 2 rows: the second is the last source row, the first all others */
    dllm_type hidden_type; /* sampler: of the logits */
    dllm_type weight_type;
    dllm_id_type id_type;
    dllm_id_type index_type;
    int64_t rows;
    int64_t rows_max; /* 0 = rows */
    int64_t vocab;
    int64_t depth;
    int64_t valid_vocab;
    int64_t vocab_offset;
    int64_t source_rows; /* with row_index; else rows */
    int64_t hidden_stride;
    int64_t weight_stride;
    const void *hidden; /* sampler: the logits */
    const void *weight;
    const int64_t *row_index;   /* converted to index_type */
    const int64_t *rows_device; /* (1) NULL = rows */
    uint32_t outputs;
    uint32_t behaviour;
    int32_t alignment_bytes;
    const char *family;
    float scale;
    float softcap;
    dllm_type round_logits;
    const float *bias;       /* (vocab) */
    const int64_t *suppress; /* (suppress_count) */
    int64_t suppress_count;
    const int64_t *target;     /* (rows), converted to id_type */
    float plan_temperature;    /* of the options */
    const float *temperature;  /* (rows) */
    const int64_t *penalty_id; /* (rows), converted to id_type */
    const float *penalty;      /* (rows) */
    const uint64_t *row_key;   /* (rows) */
    const uint64_t *seed;      /* (1) of the draw, like the next: not given without one */
    const uint32_t *draw;      /* (1) */
    const uint32_t *noise;     /* (rows, vocab, 2) */
    float plan_cfg_scale; /* of the options; above 0, or with the next: hidden has twice the rows */
    const float *cfg_scale; /* (rows) */
    dllm_type cfg_round;
    int32_t candidates;
    const void *states; /* (shards, rows): a merge. vocab, ids, outputs and temperatures count */
    int64_t shards;
} row_problem;

/** Outputs of a call on the host. */
typedef struct row_result {
    void *data[ROW_BUFFERS]; /* NULL where it was not asked for */
    dllm_id_type id_type;
    int32_t candidates;
    size_t state_bytes; /* of a row */
    dllm_plan_information plan;
    size_t workspace_bytes;
    dllm_message message; /* why it was refused, or what went wrong */
} row_result;

typedef enum row_outcome {
    ROW_RAN,
    ROW_UNSUPPORTED, /* prepare answered DLLM_UNSUPPORTED */
    ROW_NO_MEMORY,   /* the device has no memory for the buffers */
    ROW_FAILED       /* another status, a guard overwritten, an input changed, unequal runs */
} row_outcome;

/** Prepares the problem's plan; prepare_bits are DLLM_PREPARE_ bits. */
dllm_status row_prepare(dllm_plan **out, dllm_context *context, const row_problem *problem,
                        uint32_t prepare_bits);

/** Rows that a run of the problem writes: those of rows_device, held within 0 .. rows. */
int64_t row_problem_written(const row_problem *problem);

/** Rows of hidden, or of logits, for each row of outputs: 2 with guidance. */
int row_problem_copies(const row_problem *problem);

/** Makes the call. Release out with row_result_release whatever is answered. */
row_outcome row_run(row_result *out, device_memory *memory, dllm_context *context,
                    const row_problem *problem);

/** Output of a row as a number: ids and flags are exact in a double. */
double row_result_value(const row_result *result, int output, int64_t row);

/** Entry k of a row's candidates. */
double row_result_candidate(const row_result *result, int output, int64_t row, int64_t k);

void row_result_release(row_result *result);

#endif
