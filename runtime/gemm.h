/*
 * gemm.h - the product of a chunk by cublasLt, its algorithms chosen and loaded by prepare
 *
 *     logits[r, v] = sum over h of hidden[r, h] * weight[v, h], fp32 sums and result
 */
#ifndef DLLM_GEMM_H
#define DLLM_GEMM_H

#include "context.h"

typedef struct dllm_gemm dllm_gemm;

/** What the algorithms are chosen for. */
typedef struct dllm_gemm_shape {
    dllm_type type;   /* of hidden and weight */
    int rows;         /* most rows of a chunk */
    int columns;      /* vocabulary columns of a chunk */
    int last_columns; /* of the last one, if that has fewer; 0: it has not */
    int depth;
    int alignment_bytes; /* of hidden and weight rows; the logits keep 16 */
} dllm_gemm_shape;

/** One chunk: device pointers, strides in elements. */
typedef struct dllm_gemm_call {
    const void *hidden;
    const void *weight;
    float *logits;
    void *scratch; /* DLLM_GEMM_SCRATCH_BYTES, 256-byte aligned */
    int64_t hidden_stride;
    int64_t weight_stride;
    int64_t logits_stride;
    int rows;    /* 1 .. shape.rows */
    int columns; /* shape.columns or shape.last_columns */
} dllm_gemm_call;

enum { DLLM_GEMM_SCRATCH_BYTES = 8 << 20 };

/**
 * Chooses an algorithm for each power of two of rows and each number of columns, for an algorithm need
 * not take other columns than those it was proposed for, and runs each once, so that later runs load
 * nothing.
 * The context is current and its cuBLAS open; device memory is taken for the duration.
 * Status   DLLM_UNSUPPORTED if cuBLAS has no algorithm for the shape
 */
dllm_status dllm__gemm_create(dllm_gemm **out, const dllm_context *context,
                              const dllm_gemm_shape *shape);
void dllm__gemm_destroy(dllm_gemm *gemm);

/** Enqueues one chunk's product; allocates nothing. */
dllm_status dllm__gemm_run(const dllm_gemm *gemm, const dllm_gemm_call *call, dllm_stream stream);

#endif
