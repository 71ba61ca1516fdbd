/*
 * bench_cublas.h - cuBLAS's product alone: the denominator of every ratio
 *
 * libcublas is opened at run time and its few prototypes are written here, so that bench builds
 * where no toolkit is.
 */
#ifndef BENCH_CUBLAS_H
#define BENCH_CUBLAS_H

#include "dllm.h"

#include <stdbool.h>

typedef struct bench_cublas {
    void *library;
    void *handle;
    int version; /* 130101 for 13.1.1 */
    int (*destroy)(void *handle);
    int (*product)(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                   const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type,
                   int ldb, const void *beta, void *c, int c_type, int ldc, int compute_type,
                   int algorithm);
    char message[256];
} bench_cublas;

/** One product: logits (rows, vocab) = hidden (rows, depth) * weight (vocab, depth) transposed. */
typedef struct bench_product {
    const void *hidden;
    const void *weight;
    void *logits;
    int64_t rows;
    int64_t vocab;
    int64_t depth;
    dllm_type type; /* of all three; the sum is in fp32 */
} bench_product;

/** The cudaDataType of a type. */
int bench_cublas_type(dllm_type type);

/** For the CUDA context that is current, on the default stream; false with a message. */
bool bench_cublas_open(bench_cublas *out);

/** Enqueues a product by cuBLAS's default algorithm; false with a message. */
bool bench_cublas_run(bench_cublas *cublas, const bench_product *product);

void bench_cublas_close(bench_cublas *cublas);

#endif
