/*
 * bench_cublaslt.h - the product alone by the fastest algorithm that cuBLASLt proposes
 *
 * Stands beside the denominator of the ratios: what a user could gain by timing algorithms himself.
 */
#ifndef BENCH_CUBLASLT_H
#define BENCH_CUBLASLT_H

#include "bench_cublas.h"
#include "device_memory.h"

/* cublasLtMatmulHeuristicResult_t; a chosen one is passed back as it came */
typedef struct bench_lt_algorithm {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} bench_lt_algorithm;

typedef struct bench_cublaslt {
    void *library;
    void *handle;
    void *scratch;
    int (*destroy)(void *handle);
    int (*desc_create)(void **desc, int compute_type, int scale_type);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t stride);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*preference_destroy)(void *preference);
    int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                     int wanted, bench_lt_algorithm *out, int *found);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                  const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                  void *d, void *d_layout, const uint64_t *algorithm, void *scratch,
                  size_t scratch_bytes, dllm_stream stream);
    char message[256];
} bench_cublaslt;

/** A product with its descriptors and the algorithm that was fastest. */
typedef struct bench_lt_product {
    bench_product product;
    void *desc;
    void *weight, *hidden, *logits; /* layouts */
    bench_lt_algorithm best;
} bench_lt_product;

/** For the CUDA context that is current; false with a message. */
bool bench_cublaslt_open(bench_cublaslt *out, device_memory *memory);
void bench_cublaslt_close(bench_cublaslt *lt, device_memory *memory);

/** Asks for algorithms, runs each a few times and keeps the fastest; false with a message. */
bool bench_cublaslt_choose(bench_lt_product *out, bench_cublaslt *lt, device_memory *memory,
                           const bench_product *product);
void bench_cublaslt_release(bench_cublaslt *lt, bench_lt_product *product);

/** Enqueues the product with that weight; false with a message. */
bool bench_cublaslt_run(bench_cublaslt *lt, const bench_lt_product *product, const void *weight);

#endif
