/*
 * cublas.h - the part of cublasLt that gemm_chunk calls, opened at run time
 *
 * Types are declared here for the reason given in driver.h.
 */
#ifndef DLLM_CUBLAS_H
#define DLLM_CUBLAS_H

#include "dllm.h"

typedef int dllm_blas_status;
typedef struct cublasLtContext *dllm_blas_handle;
typedef void *dllm_blas_object; /* matmul descriptor or preference */

/* Filled in place by layout_init, so that a run allocates none. */
typedef struct dllm_blas_layout {
    uint64_t data[8];
} dllm_blas_layout;

typedef struct dllm_blas_algorithm {
    uint64_t data[8];
} dllm_blas_algorithm;

typedef struct dllm_blas_heuristic {
    dllm_blas_algorithm algorithm;
    size_t workspace_bytes;
    dllm_blas_status state;
    float waves;
    int reserved[4];
} dllm_blas_heuristic;

enum {
    DLLM_BLAS_R_32F = 0, /* cudaDataType */
    DLLM_BLAS_R_16F = 2,
    DLLM_BLAS_R_16BF = 14,
    DLLM_BLAS_COMPUTE_32F = 68,          /* cublasComputeType_t */
    DLLM_BLAS_COMPUTE_32F_PEDANTIC = 69, /* no tf32, no emulation */
    DLLM_BLAS_DESC_TRANSA = 3,           /* cublasLtMatmulDescAttributes_t */
    DLLM_BLAS_PREF_WORKSPACE_BYTES = 1,  /* cublasLtMatmulPreferenceAttributes_t */
    DLLM_BLAS_PREF_REDUCTION_MASK = 3,
    DLLM_BLAS_PREF_ALIGNMENT_A = 5,
    DLLM_BLAS_PREF_ALIGNMENT_B = 6,
    DLLM_BLAS_PREF_ALIGNMENT_C = 7,
    DLLM_BLAS_PREF_ALIGNMENT_D = 8,
    DLLM_BLAS_OP_T = 1
};

#define DLLM_CUBLAS_CALLS(X)                                                                       \
    X(create, cublasLtCreate, (dllm_blas_handle *))                                                \
    X(destroy, cublasLtDestroy, (dllm_blas_handle))                                                \
    X(desc_create, cublasLtMatmulDescCreate, (dllm_blas_object *, int, int))                       \
    X(desc_destroy, cublasLtMatmulDescDestroy, (dllm_blas_object))                                 \
    X(desc_set, cublasLtMatmulDescSetAttribute, (dllm_blas_object, int, const void *, size_t))     \
    X(layout_init, cublasLtMatrixLayoutInit_internal,                                              \
      (dllm_blas_layout *, size_t, int, uint64_t, uint64_t, int64_t))                              \
    X(preference_create, cublasLtMatmulPreferenceCreate, (dllm_blas_object *))                     \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, (dllm_blas_object))                     \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                        \
      (dllm_blas_object, int, const void *, size_t))                                               \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                   \
      (dllm_blas_handle, dllm_blas_object, const dllm_blas_layout *, const dllm_blas_layout *,     \
       const dllm_blas_layout *, const dllm_blas_layout *, dllm_blas_object, int,                  \
       dllm_blas_heuristic *, int *))                                                              \
    X(matmul, cublasLtMatmul,                                                                      \
      (dllm_blas_handle, dllm_blas_object, const void *, const void *, const dllm_blas_layout *,   \
       const void *, const dllm_blas_layout *, const void *, const void *,                         \
       const dllm_blas_layout *, void *, const dllm_blas_layout *, const dllm_blas_algorithm *,    \
       void *, size_t, dllm_stream))

/** Entry points of libcublasLt; library is NULL until it was opened whole. */
typedef struct dllm_cublas {
    void *library;
    size_t (*version)(void);
#define DLLM_CUBLAS_SLOT(name, symbol, parameters) dllm_blas_status(*name) parameters;
    DLLM_CUBLAS_CALLS(DLLM_CUBLAS_SLOT)
#undef DLLM_CUBLAS_SLOT
} dllm_cublas;

/** Opens libcublasLt.so.13, then .12. DLLM_LIBRARY_MISSING names what was looked for. */
dllm_status dllm__cublas_open(dllm_cublas *out);

#endif
