/*
 * bench_cublaslt.c - cublasLtMatmul behind eleven symbols, and the choice of its algorithm
 */
#include "bench_cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t, cublasOperation_t,
   cudaDataType and cublasComputeType_t numbers */
enum { DESC_TRANSA = 3, PREFERENCE_WORKSPACE = 1, OP_T = 1, R_32F = 0, COMPUTE_32F = 68 };
enum { CANDIDATES = 16, TRIALS = 5, SCRATCH_BYTES = 32 << 20 }; /* cuBLAS's own scratch on sm_90 */

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

static bool look_up(bench_cublaslt *lt, int (**create)(void **))
{
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
        {"cublasLtCreate", create},
        {"cublasLtDestroy", &lt->destroy},
        {"cublasLtMatmulDescCreate", &lt->desc_create},
        {"cublasLtMatmulDescSetAttribute", &lt->desc_set},
        {"cublasLtMatmulDescDestroy", &lt->desc_destroy},
        {"cublasLtMatrixLayoutCreate", &lt->layout_create},
        {"cublasLtMatrixLayoutDestroy", &lt->layout_destroy},
        {"cublasLtMatmulPreferenceCreate", &lt->preference_create},
        {"cublasLtMatmulPreferenceSetAttribute", &lt->preference_set},
        {"cublasLtMatmulPreferenceDestroy", &lt->preference_destroy},
        {"cublasLtMatmulAlgoGetHeuristic", &lt->heuristic},
        {"cublasLtMatmul", &lt->matmul},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *found = dlsym(lt->library, table[i].symbol);
        if (!found) {
            (void)snprintf(lt->message, sizeof lt->message, "libcublasLt has no %s",
                           table[i].symbol);
            return false;
        }
        memcpy(table[i].slot, &found, sizeof found);
    }
    return true;
}

bool bench_cublaslt_open(bench_cublaslt *out, device_memory *memory)
{
    int (*create)(void **) = NULL;
    *out = (bench_cublaslt){0};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !out->library; i++)
        out->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!out->library) {
        (void)snprintf(out->message, sizeof out->message,
                       "neither libcublasLt.so.13 nor libcublasLt.so.12 can be opened");
        return false;
    }
    if (!look_up(out, &create)) return false;
    const int status = create(&out->handle);
    if (status != 0) {
        (void)snprintf(out->message, sizeof out->message, "cublasLtCreate answered %d", status);
        return false;
    }
    out->scratch = device_allocate(memory, SCRATCH_BYTES);
    if (out->scratch) return true;
    (void)snprintf(out->message, sizeof out->message, "%s", memory->message);
    bench_cublaslt_close(out, memory);
    return false;
}

void bench_cublaslt_close(bench_cublaslt *lt, device_memory *memory)
{
    if (lt->handle) (void)lt->destroy(lt->handle);
    device_free(memory, lt->scratch);
    lt->handle = NULL;
    lt->scratch = NULL;
    /* the library stays open: it keeps state of the CUDA context */
}

bool bench_cublaslt_run(bench_cublaslt *lt, const bench_lt_product *product, const void *weight)
{
    const float one = 1.0f;
    const float zero = 0.0f;
    void *logits = product->product.logits;
    const int status =
        lt->matmul(lt->handle, product->desc, &one, weight, product->weight,
                   product->product.hidden, product->hidden, &zero, logits, product->logits, logits,
                   product->logits, product->best.algorithm, lt->scratch, SCRATCH_BYTES, NULL);
    if (status != 0)
        (void)snprintf(lt->message, sizeof lt->message, "cublasLtMatmul answered %d", status);
    return status == 0;
}

/* cuBLAS counts columns first: a row-major weight is the (depth, vocab) matrix of its columns. */
static int describe(bench_lt_product *out, const bench_cublaslt *lt)
{
    const bench_product *product = &out->product;
    const int type = bench_cublas_type(product->type);
    const int32_t transpose = OP_T;
    const uint64_t vocab = (uint64_t)product->vocab;
    const uint64_t depth = (uint64_t)product->depth;
    const uint64_t rows = (uint64_t)product->rows;
    int status = lt->desc_create(&out->desc, COMPUTE_32F, R_32F);
    if (status == 0) status = lt->desc_set(out->desc, DESC_TRANSA, &transpose, sizeof transpose);
    if (status == 0) status = lt->layout_create(&out->weight, type, depth, vocab, product->depth);
    if (status == 0) status = lt->layout_create(&out->hidden, type, depth, rows, product->depth);
    if (status == 0) status = lt->layout_create(&out->logits, type, vocab, rows, product->vocab);
    return status;
}

static int list_algorithms(bench_lt_algorithm *out, int *count, const bench_cublaslt *lt,
                           const bench_lt_product *product)
{
    const size_t scratch_bytes = SCRATCH_BYTES;
    void *preference = NULL;
    int status = lt->preference_create(&preference);
    if (status == 0)
        status = lt->preference_set(preference, PREFERENCE_WORKSPACE, &scratch_bytes,
                                    sizeof scratch_bytes);
    if (status == 0)
        status =
            lt->heuristic(lt->handle, product->desc, product->weight, product->hidden,
                          product->logits, product->logits, preference, CANDIDATES, out, count);
    if (preference) (void)lt->preference_destroy(preference);
    return status;
}

/* ms of a few runs, negative if it cannot run. */
static double time_algorithm(bench_cublaslt *lt, device_memory *memory,
                             const bench_lt_product *product, device_event pair[2])
{
    bool ran = bench_cublaslt_run(lt, product, product->product.weight) &&
               device_event_record(memory, &pair[0], NULL);
    for (int i = 0; ran && i < TRIALS; i++)
        ran = bench_cublaslt_run(lt, product, product->product.weight);
    if (!ran || !device_event_record(memory, &pair[1], NULL)) return -1;
    return device_elapsed_ms(memory, &pair[0], &pair[1]);
}

bool bench_cublaslt_choose(bench_lt_product *out, bench_cublaslt *lt, device_memory *memory,
                           const bench_product *product)
{
    bench_lt_algorithm found[CANDIDATES];
    bench_lt_product tried = {.product = *product};
    device_event pair[2] = {{0}, {0}};
    double least = -1;
    int count = 0;
    lt->message[0] = '\0';
    const int status = describe(&tried, lt) || list_algorithms(found, &count, lt, &tried);
    const bool timed = status == 0 && device_event_create(memory, &pair[0]) &&
                       device_event_create(memory, &pair[1]);
    *out = tried;
    for (int i = 0; timed && i < count; i++) {
        if (found[i].state != 0) continue;
        tried.best = found[i];
        const double ms = time_algorithm(lt, memory, &tried, pair);
        if (ms < 0 || (least >= 0 && ms >= least)) continue;
        least = ms;
        out->best = found[i];
    }
    device_event_destroy(memory, &pair[0]);
    device_event_destroy(memory, &pair[1]);
    if (least >= 0) return true;
    if (!lt->message[0])
        (void)snprintf(lt->message, sizeof lt->message,
                       "cuBLASLt proposed %d algorithms and none ran", count);
    bench_cublaslt_release(lt, out);
    return false;
}

void bench_cublaslt_release(bench_cublaslt *lt, bench_lt_product *product)
{
    if (product->desc) (void)lt->desc_destroy(product->desc);
    if (product->weight) (void)lt->layout_destroy(product->weight);
    if (product->hidden) (void)lt->layout_destroy(product->hidden);
    if (product->logits) (void)lt->layout_destroy(product->logits);
    *product = (bench_lt_product){0};
}
