/*
 * problem.h - arguments of the public calls, checked, as plain data
 *
 * Every rule of dllm.h about options stands in problem.c, every rule about buffers in row_call.c, and
 * nowhere else. Head, sampler and merge become one struct, so that what lies below knows one shape.
 */
#ifndef DLLM_PROBLEM_H
#define DLLM_PROBLEM_H

#include "dllm.h"

#include <stdbool.h>

typedef enum dllm_operation {
    DLLM_OPERATION_HEAD,
    DLLM_OPERATION_SAMPLER,
    DLLM_OPERATION_MERGE
} dllm_operation;

/** A checked problem: what prepare was asked for. */
typedef struct dllm_problem {
    dllm_operation operation;
    dllm_type hidden_type; /* sampler: type of the logits; merge: DLLM_TYPE_NONE */
    dllm_type weight_type; /* sampler: DLLM_TYPE_NONE */
    dllm_id_type id_type;
    dllm_id_type index_type;
    dllm_type round_logits;
    int64_t vocab;
    int64_t valid_vocab; /* 1 .. vocab: the default is filled in */
    int64_t vocab_offset;
    int64_t depth; /* sampler: 0 */
    int64_t rows_max;
    int64_t shards_max; /* merge */
    uint32_t outputs;
    uint32_t inputs;
    uint32_t behaviour;
    uint32_t prepare;
    float scale;       /* 0 = none */
    float softcap;     /* 0 = none */
    float temperature; /* 0 = greedy; else normal and positive */
    float cfg_scale;   /* where no array says it */
    dllm_type cfg_round;
    int candidates;
    int suppress_max;
    int time_limit_ms;   /* of measuring, 0 = none */
    int alignment_bytes; /* 1, 2, 4, 8 or 16: the default is filled in */
    char family[24];     /* "" = the library chooses */
    bool is_guided;      /* each row has an unconditional one */
} dllm_problem;

/** What of a state a problem needs beside max, sum, id and nan_id. */
enum {
    DLLM_STATISTIC_ENTROPY = 1 << 0, /* weighted */
    DLLM_STATISTIC_SECOND = 1 << 1,  /* second, second_id */
    DLLM_STATISTIC_TARGET = 1 << 2,  /* target, and its bits */
    DLLM_STATISTIC_GUMBEL = 1 << 3,  /* score, gumbel, gumbel_id; not where every row is greedy */
    DLLM_STATISTIC_CANDIDATES = 1 << 4
};

/** What happens to a logit, and what a row brings along for its statistics. */
enum {
    DLLM_TRANSFORM_ROUND_BF16 = 1 << 0,
    DLLM_TRANSFORM_ROUND_FP16 = 1 << 1,
    DLLM_TRANSFORM_SCALE = 1 << 2,
    DLLM_TRANSFORM_SOFTCAP = 1 << 3,
    DLLM_TRANSFORM_BIAS = 1 << 4,
    DLLM_TRANSFORM_SUPPRESS = 1 << 5,
    DLLM_TRANSFORM_PENALTY = 1 << 6,
    DLLM_TRANSFORM_TEMPERED = 1 << 7,
    DLLM_TRANSFORM_ROW_TEMPERATURE = 1 << 8,
    DLLM_TRANSFORM_ROW_KEY = 1 << 9,
    DLLM_TRANSFORM_NOISE = 1 << 10,
    DLLM_TRANSFORM_ROW_SEED = 1 << 11,
    DLLM_TRANSFORM_GUIDANCE = 1 << 12,
    DLLM_TRANSFORM_GUIDANCE_BF16 = 1 << 13
};

/**
 * The two sets of bits that follow from a problem. Both are 0 for argmax, max, lse, confidence and
 * flags of plain logits. A row without a gumbel_id in its state draws its argmax.
 */
uint32_t dllm__statistics(const dllm_problem *problem);
uint32_t dllm__transforms(const dllm_problem *problem);

/** Bytes of the state of a row that is exported or merged, 0 if there is none. */
size_t dllm__state_bytes(const dllm_problem *problem);

/** Output buffers that head, sampler and merge have in common, by name. */
#define DLLM_OUTPUT_BUFFERS(X)                                                                     \
    X(argmax)                                                                                      \
    X(max)                                                                                         \
    X(lse)                                                                                         \
    X(confidence)                                                                                  \
    X(entropy)                                                                                     \
    X(second)                                                                                      \
    X(second_id)                                                                                   \
    X(margin)                                                                                      \
    X(target_logprob)                                                                              \
    X(gumbel_id)                                                                                   \
    X(gumbel_logprob)                                                                              \
    X(flags)                                                                                       \
    X(candidate_values)                                                                            \
    X(candidate_ids)

/** Input buffers, and the state, that head and sampler have in common. */
#define DLLM_INPUT_BUFFERS(X)                                                                      \
    X(state)                                                                                       \
    X(row_index)                                                                                   \
    X(rows_device)                                                                                 \
    X(target)                                                                                      \
    X(temperature)                                                                                 \
    X(bias)                                                                                        \
    X(suppress)                                                                                    \
    X(penalty_id)                                                                                  \
    X(penalty)                                                                                     \
    X(row_key)                                                                                     \
    X(seed)                                                                                        \
    X(draw)                                                                                        \
    X(noise)                                                                                       \
    X(suppress_count)                                                                              \
    X(cfg_scale)

/** One checked run: buffers with their strides filled in. rows > 0. */
typedef struct dllm_row_call {
    int64_t rows;
    const void *hidden; /* sampler: the logits */
    const void *weight; /* sampler: NULL */
    int64_t hidden_stride;
    int64_t weight_stride;
    const void *row_index; /* NULL: row r is source row r */
    int64_t source_rows;   /* without row_index: rows. Guidance: their unconditional ones follow */
    const int64_t *rows_device; /* NULL: there are rows of them, else at most */
    char *workspace;
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    float *entropy;
    float *second;
    void *second_id;
    float *margin;
    float *target_logprob;
    void *gumbel_id;
    float *gumbel_logprob;
    uint32_t *flags;
    float *candidate_values;
    void *candidate_ids;
    void *state;
    const void *target;
    const float *temperature; /* NULL: the problem's */
    const float *bias;
    const int64_t *suppress;
    const void *penalty_id;
    const float *penalty;
    const uint64_t *row_key;
    const uint64_t *seed;
    const uint32_t *draw; /* NULL: 0 */
    const uint32_t *noise;
    int64_t suppress_count;
    const float *cfg_scale; /* NULL: the problem's */
    const char *states;     /* merge: (shards, rows) of dllm__state_bytes */
    int64_t shards;
    int64_t shard_stride_bytes;
} dllm_row_call;

/** Rows of hidden states, or of logits, for each row of outputs. */
static inline int dllm__copies(const dllm_problem *problem)
{
    return problem->is_guided ? 2 : 1;
}

/** Element size in bytes of a known type, 0 of any other. */
int dllm__type_bytes(dllm_type type);

/** Checks options and fills defaults; on failure the message has name, value and rule. */
dllm_status dllm__head_problem(dllm_problem *out, const dllm_head_options *options);
dllm_status dllm__sampler_problem(dllm_problem *out, const dllm_sampler_options *options);
dllm_status dllm__merge_problem(dllm_problem *out, const dllm_merge_options *options);

/**
 * Checks the buffers of a run against the problem it was prepared for.
 * workspace_bytes  what the plan needs.
 */
dllm_status dllm__head_call(dllm_row_call *out, const dllm_problem *problem, size_t workspace_bytes,
                            const dllm_head_buffers *buffers);
dllm_status dllm__sampler_call(dllm_row_call *out, const dllm_problem *problem,
                               size_t workspace_bytes, const dllm_sampler_buffers *buffers);
dllm_status dllm__merge_call(dllm_row_call *out, const dllm_problem *problem,
                             const dllm_merge_buffers *buffers);

/** "bf16", "fp16", "fp32" or "none". */
const char *dllm__type_name(dllm_type type);

#endif
