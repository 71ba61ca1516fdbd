/*
 * row_params.h - the arguments of the kernels, one struct a kernel, for host and device
 *
 * Compiled by gcc, clang and NVRTC alike. Strides and counts are in elements, offsets 64-bit. A
 * head or sampler kernel writes one partial state a (split, row); combine reads them and writes the
 * outputs. sampler_finish does both, and has the arguments of both.
 */
#ifndef DLLM_ROW_PARAMS_H
#define DLLM_ROW_PARAMS_H

#ifdef __CUDACC_RTC__
#include "base.cuh"
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
#define DLLM_ALIGNED(bytes) alignas(bytes)
#else
#define DLLM_ALIGNED(bytes) _Alignas(bytes)
#endif

/**
 * State of a part of a row (numerics.md 6). Neutral: {-inf, 0, DLLM_NO_COLUMN, DLLM_NO_COLUMN}.
 * Columns count from this call's first column; they become global ids when the row is finished.
 */
typedef struct dllm_row_state {
    DLLM_ALIGNED(16) float max; /* m: largest candidate that is not NaN */
    float sum;                  /* d: sum of exp(z - m), relative to max */
    int32_t column;             /* lowest column with z = m */
    int32_t nan_column;         /* lowest column with NaN */
} dllm_row_state;

#define DLLM_NO_COLUMN 0x7fffffff

/** What of a part of a row is asked for beside its state. Members not asked for are neutral. */
typedef struct dllm_row_extra {
    DLLM_ALIGNED(16) float weighted; /* s / ln 2: sum of exp(x) x / ln 2 with x = (z - m) / T; 0 */
    float second;                    /* z of the second entry; -inf */
    int32_t second_column;           /* DLLM_NO_COLUMN */
    float target;                    /* z of the target; -inf */
    float score;                     /* largest z + T G; -inf */
    float gumbel;                    /* z of its column; -inf */
    int32_t gumbel_column;           /* DLLM_NO_COLUMN */
} dllm_row_extra;

/** An entry of a row; as the first of a list its threshold and its count (candidates.cuh). */
typedef struct dllm_candidate {
    DLLM_ALIGNED(8) float value;
    int32_t column;
} dllm_candidate;

/** DLLM_STATISTICS that have members in it. */
#define DLLM_EXTRA_STATISTICS 15

/**
 * Rows of a block of combine, a warp each. With extras a lane reads every state from lines of its own, and
 * warps that share a multiprocessor wait for one another.
 */
#define DLLM_COMBINE_ROWS(statistics) (((statistics)&DLLM_EXTRA_STATISTICS) != 0 ? 1 : 4)

/** Most entries of a list: the 256 best, and what one fold may add. */
#define DLLM_LIST_ENTRIES_MAX 512

/**
 * What transforms and further statistics read, for every head and sampler kernel and for combine.
 * Arrays of a row are indexed by the row of the run.
 */
typedef struct dllm_row_inputs {
    dllm_row_extra *extras; /* [splits][state_stride] */
    dllm_candidate *lists;  /* [splits][sharers][state_stride][list_stride] */
    const void *row_index;  /* without row_key row r's key is row_index[r]; NULL: r */
    const void *target;
    const float *temperatures;
    const float *bias; /* (vocab) */
    const int64_t *suppress;
    const void *penalty_id;
    const float *penalty;
    const uint64_t *row_key;
    const uint64_t *seed;
    const uint32_t *draw;  /* NULL: 0 */
    const uint32_t *noise; /* (rows, vocab, 2) */
    int64_t vocab_offset;
    int32_t vocab; /* columns, those that are masked included */
    int32_t suppress_count;
    float scale;
    float softcap;
    float temperature; /* of every row, without temperatures; 0 = greedy */
    int32_t ids_are_64;
    int32_t row_index_is_64;
    int32_t candidates;  /* K */
    int32_t sharers;     /* lists of a row and split */
    int32_t list_stride; /* entries, the header included */
} dllm_row_inputs;

/** Guidance (decode.md 2.4): how far rows are taken away from their unconditional ones. */
typedef struct dllm_guidance {
    const float *scales; /* (rows) s; NULL: the same of every row */
    float scale;
    int32_t is_packed; /* sampler: the logits are those of packed lines (pairs.cuh) */
} dllm_guidance;

/* Outputs of the base state, and the one that stands for the state of a shard: bits beside DLLM_OUT_. */
#define DLLM_PLAIN_OUTPUTS (1 + 2 + 4 + 8 + 2048)
#define DLLM_STATE_OUTPUT 8192

/* The last member of an argument struct is left out of a kernel that reads none of it. */
#if defined(__CUDACC_RTC__) && DLLM_STATISTICS + 0 == 0 && DLLM_TRANSFORMS + 0 == 0 &&             \
    ((DLLM_OUTPUTS + 0) & ~DLLM_PLAIN_OUTPUTS) == 0
#define DLLM_FURTHER(type)
#define DLLM_FURTHER_BYTES(type) 0
#else
#define DLLM_FURTHER(type) type further;
#define DLLM_FURTHER_BYTES(type) sizeof(type)
#endif

/* Behind it the guidance, which other kernels do not know of: their layout is the same with and without
   it. */
#if defined(__CUDACC_RTC__) && !((DLLM_TRANSFORMS + 0) & 4096)
#define DLLM_GUIDED
#define DLLM_GUIDED_BYTES 0
#else
#define DLLM_GUIDED dllm_guidance guidance;
#define DLLM_GUIDED_BYTES sizeof(dllm_guidance)
#endif

/** Arguments of head_naive, head_tiled and head_mma. */
typedef struct dllm_head_params {
    const void *hidden;
    const void *weight;
    const void *row_index;      /* NULL: row r is source row r */
    const int64_t *rows_device; /* (1) the row count, at most rows; NULL: it is rows */
    dllm_row_state *states;     /* [splits][state_stride] */
    int64_t hidden_stride;
    int64_t weight_stride;
    int64_t rows;
    int64_t source_rows;
    int64_t state_stride; /* states from one split to the next, >= rows */
    int32_t row_index_is_64;
    int32_t valid_vocab; /* candidates are columns 0 .. valid_vocab - 1 */
    int32_t depth;
    int32_t split_columns; /* columns of a split; the last may be short */
    DLLM_FURTHER(dllm_row_inputs)
    DLLM_GUIDED
} dllm_head_params;

/** Arguments of sampler_stream: all of the logits, or a chunk of rows and columns. */
typedef struct dllm_sampler_params {
    const void *logits; /* points at column `column_begin` of source row `row_begin` */
    const void *row_index;
    const int64_t *rows_device;
    dllm_row_state *states; /* [splits][state_stride] */
    int64_t logits_stride;
    int64_t rows;
    int64_t source_rows;
    int64_t state_stride;
    int64_t row_begin; /* the first row of this launch: 0, or the chunk's */
    int32_t row_limit; /* rows of this launch */
    int32_t row_index_is_64;
    int32_t column_begin; /* column of the first logit: 0, or the chunk's */
    int32_t columns;      /* candidates in this block */
    int32_t split_columns;
    int32_t continues; /* 1: the states of earlier columns are there, to be merged with */
    DLLM_FURTHER(dllm_row_inputs)
    DLLM_GUIDED
} dllm_sampler_params;

/** Further outputs of combine and merge, and what finishing them reads. */
typedef struct dllm_row_outputs {
    dllm_row_inputs inputs;
    float *entropy;
    float *second;
    void *second_id;
    float *margin;
    float *target_logprob;
    void *gumbel_id;
    float *gumbel_logprob;
    float *candidate_values; /* (rows, candidates) */
    void *candidate_ids;
    char *state; /* (rows, state_bytes) of dllm_state */
    int64_t state_bytes;
} dllm_row_outputs;

/** Arguments of combine. Outputs that were not asked for are not looked at. */
typedef struct dllm_combine_params {
    const dllm_row_state *states; /* [splits][state_stride] */
    const void *row_index;
    const int64_t *rows_device;
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    uint32_t *flags;
    int64_t rows;
    int64_t source_rows;
    int64_t state_stride;
    int64_t vocab_offset;
    int32_t row_index_is_64;
    int32_t splits;
    DLLM_FURTHER(dllm_row_outputs)
    DLLM_GUIDED
} dllm_combine_params;

/** Arguments of merge. */
typedef struct dllm_merge_params {
    const char *states; /* (shards, rows, state_bytes) of dllm_state */
    int64_t shard_stride_bytes;
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    uint32_t *flags;
    int64_t rows;
    int64_t shards;
    dllm_row_outputs further;
} dllm_merge_params;

/** Arguments of gather: a packed copy of gathered rows; one outside the source becomes zeros. With
 * guidance packed has the lines of pairs.cuh. */
typedef struct dllm_gather_params {
    const void *source;
    const void *row_index;
    const int64_t *rows_device;
    void *packed; /* (rows, packed_stride) of the same type, 16-byte aligned */
    int64_t source_stride;
    int64_t packed_stride;
    int64_t rows;
    int64_t source_rows;
    int32_t row_index_is_64;
    int32_t depth;
} dllm_gather_params;

#ifdef __cplusplus
static_assert(sizeof(dllm_row_state) == 16, "a state is read and written as one 16-byte word");
static_assert(sizeof(dllm_head_params) ==
                  96 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES,
              "host and device must agree on the layout");
static_assert(sizeof(dllm_sampler_params) ==
                  96 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES,
              "host and device must agree on the layout");
static_assert(sizeof(dllm_combine_params) ==
                  104 + DLLM_FURTHER_BYTES(dllm_row_outputs) + DLLM_GUIDED_BYTES,
              "host and device must agree on the layout");
static_assert(sizeof(dllm_row_extra) == 32, "an extra is read and written as two 16-byte words");
static_assert(sizeof(dllm_guidance) == 16, "host and device must agree on the layout");
static_assert(sizeof(dllm_row_inputs) == 152, "host and device must agree on the layout");
static_assert(sizeof(dllm_row_outputs) == 240, "host and device must agree on the layout");
static_assert(sizeof(dllm_merge_params) == 312, "host and device must agree on the layout");
static_assert(sizeof(dllm_gather_params) == 72, "host and device must agree on the layout");
#else
_Static_assert(sizeof(dllm_row_state) == 16, "a state is read and written as one 16-byte word");
_Static_assert(sizeof(dllm_head_params) ==
                   96 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES,
               "host and device must agree on the layout");
_Static_assert(sizeof(dllm_sampler_params) ==
                   96 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES,
               "host and device must agree on the layout");
_Static_assert(sizeof(dllm_combine_params) ==
                   104 + DLLM_FURTHER_BYTES(dllm_row_outputs) + DLLM_GUIDED_BYTES,
               "host and device must agree on the layout");
_Static_assert(sizeof(dllm_row_extra) == 32, "an extra is read and written as two 16-byte words");
_Static_assert(sizeof(dllm_guidance) == 16, "host and device must agree on the layout");
_Static_assert(sizeof(dllm_row_inputs) == 152, "host and device must agree on the layout");
_Static_assert(sizeof(dllm_row_outputs) == 240, "host and device must agree on the layout");
_Static_assert(sizeof(dllm_merge_params) == 312, "host and device must agree on the layout");
_Static_assert(sizeof(dllm_gather_params) == 72, "host and device must agree on the layout");
#endif

#endif
