/*
 * bench_cublas.c - cublasGemmEx behind four symbols
 */
#include "bench_cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* cublasOperation_t, cudaDataType, cublasComputeType_t and cublasGemmAlgo_t numbers */
enum { OP_N = 0, OP_T = 1, R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, DEFAULT = -1 };

/* A library with its soname, the newest first. */
static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};

static bool find(bench_cublas *cublas, const char *symbol, void *slot)
{
    void *found = dlsym(cublas->library, symbol);
    if (!found) {
        (void)snprintf(cublas->message, sizeof cublas->message, "libcublas has no %s", symbol);
        return false;
    }
    memcpy(slot, &found, sizeof found);
    return true;
}

bool bench_cublas_open(bench_cublas *out)
{
    int (*create)(void **) = NULL;
    int (*get_version)(void *, int *) = NULL;
    *out = (bench_cublas){0};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !out->library; i++)
        out->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!out->library) {
        (void)snprintf(out->message, sizeof out->message,
                       "neither libcublas.so.13 nor libcublas.so.12 can be opened");
        return false;
    }
    if (find(out, "cublasCreate_v2", &create) && find(out, "cublasDestroy_v2", &out->destroy) &&
        find(out, "cublasGetVersion_v2", &get_version) &&
        find(out, "cublasGemmEx", &out->product)) {
        const int status = create(&out->handle);
        if (status == 0 && get_version(out->handle, &out->version) == 0) return true;
        (void)snprintf(out->message, sizeof out->message, "cublasCreate answered %d", status);
    }
    bench_cublas_close(out);
    return false;
}

int bench_cublas_type(dllm_type type)
{
    return type == DLLM_BF16 ? R_16BF : type == DLLM_FP16 ? R_16F : R_32F;
}

bool bench_cublas_run(bench_cublas *cublas, const bench_product *product)
{
    const float one = 1.0f;
    const float zero = 0.0f;
    const int type = bench_cublas_type(product->type);
    const int vocab = (int)product->vocab;
    const int depth = (int)product->depth;
    /* cuBLAS counts columns first: a row-major weight is the (depth, vocab) matrix of its columns
     */
    const int status =
        cublas->product(cublas->handle, OP_T, OP_N, vocab, (int)product->rows, depth, &one,
                        product->weight, type, depth, product->hidden, type, depth, &zero,
                        product->logits, type, vocab, COMPUTE_32F, DEFAULT);
    if (status != 0)
        (void)snprintf(cublas->message, sizeof cublas->message, "cublasGemmEx answered %d", status);
    return status == 0;
}

void bench_cublas_close(bench_cublas *cublas)
{
    if (cublas->handle) (void)cublas->destroy(cublas->handle);
    cublas->handle = NULL;
    /* the library stays open: it keeps state of the CUDA context */
}
