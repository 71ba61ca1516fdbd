/*
 * problem.h - arguments of the public calls, checked, as plain data
 *
 * Every rule of dllm.h about sizes, strides, alignment, types and pointers stands in problem.c and
 * nowhere else. Head and sampler become one struct, so that what lies below knows one shape.
 */
#ifndef DLLM_PROBLEM_H
#define DLLM_PROBLEM_H

#include "dllm.h"

#include <stdbool.h>

typedef enum dllm_operation { DLLM_OPERATION_HEAD, DLLM_OPERATION_SAMPLER } dllm_operation;

/** A checked problem: what prepare was asked for. */
typedef struct dllm_problem {
    dllm_operation operation;
    dllm_type hidden_type; /* sampler: type of the logits */
    dllm_type weight_type; /* sampler: DLLM_TYPE_NONE */
    dllm_id_type id_type;
    dllm_id_type index_type;
    int64_t vocab;
    int64_t valid_vocab; /* 1 .. vocab: the default is filled in */
    int64_t vocab_offset;
    int64_t depth; /* sampler: 0 */
    int64_t rows_max;
    uint32_t outputs;
    uint32_t inputs;
    uint32_t behaviour;
    uint32_t prepare;
    int alignment_bytes; /* 1, 2, 4, 8 or 16: the default is filled in */
    char family[24];     /* "" = the library chooses */
} dllm_problem;

/** One checked run: buffers with their strides filled in. rows > 0. */
typedef struct dllm_row_call {
    int64_t rows;
    const void *hidden; /* sampler: the logits */
    const void *weight; /* sampler: NULL */
    int64_t hidden_stride;
    int64_t weight_stride;
    const void *row_index;      /* NULL: row r is source row r */
    int64_t source_rows;        /* without row_index: rows */
    const int64_t *rows_device; /* NULL: there are rows of them, else at most */
    char *workspace;
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    uint32_t *flags;
} dllm_row_call;

/** The DLLM_OUT_ bits that this version implements. */
uint32_t dllm__outputs_built(void);

/** Element size in bytes of a known type, 0 of any other. */
int dllm__type_bytes(dllm_type type);

/** Checks options and fills defaults; on failure the message has name, value and rule. */
dllm_status dllm__head_problem(dllm_problem *out, const dllm_head_options *options);
dllm_status dllm__sampler_problem(dllm_problem *out, const dllm_sampler_options *options);

/**
 * Checks the buffers of a run against the problem it was prepared for.
 * workspace_bytes  what the plan needs.
 */
dllm_status dllm__head_call(dllm_row_call *out, const dllm_problem *problem, size_t workspace_bytes,
                            const dllm_head_buffers *buffers);
dllm_status dllm__sampler_call(dllm_row_call *out, const dllm_problem *problem,
                               size_t workspace_bytes, const dllm_sampler_buffers *buffers);

#endif
