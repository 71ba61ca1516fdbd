/*
 * gemm.c - the product of a chunk by cublasLt
 *
 * cuBLAS is column-major: the row-major logits (rows, columns) are its matrix D (columns, rows),
 * the weight is A transposed and the hidden states are B.
 */
#include "gemm.h"

#include "status.h"

#include <stdlib.h>

enum {
    BUCKETS_MAX = 32,
    CANDIDATES = 8,
    WHOLE = 0,
    LAST = 1,
    WIDTHS = 2,
    /* From so many rows on the tiles fill the device: an algorithm with scratch is no faster, and its
       counters are cleared by a launch of its own. It is taken where there is no other. */
    ROWS_WITHOUT_SCRATCH = 768
};

struct dllm_gemm {
    const dllm_context *context;
    dllm_gemm_shape shape;
    int data_type; /* cudaDataType of hidden and weight */
    dllm_blas_object description;
    int bucket_count;
    struct {
        int rows; /* most rows this algorithm serves */
        dllm_blas_algorithm algorithm[WIDTHS];
    } buckets[BUCKETS_MAX];
};

typedef struct layouts {
    dllm_blas_layout weight, hidden, logits;
} layouts;

static dllm_status check(dllm_blas_status result, const char *call)
{
    if (result == 0) return DLLM_OK;
    return dllm__fail(DLLM_DRIVER_FAILED, "%s failed with cuBLAS status %d", call, result);
}

static dllm_status make_layouts(layouts *out, const dllm_gemm *gemm, const dllm_gemm_call *call)
{
    const dllm_cublas *blas = &gemm->context->cublas;
    const uint64_t depth = (uint64_t)gemm->shape.depth;
    const uint64_t rows = (uint64_t)call->rows, columns = (uint64_t)call->columns;
    DLLM_TRY(check(blas->layout_init(&out->weight, sizeof out->weight, gemm->data_type, depth,
                                     columns, call->weight_stride),
                   "cublasLtMatrixLayoutInit"));
    DLLM_TRY(check(blas->layout_init(&out->hidden, sizeof out->hidden, gemm->data_type, depth, rows,
                                     call->hidden_stride),
                   "cublasLtMatrixLayoutInit"));
    return check(blas->layout_init(&out->logits, sizeof out->logits, DLLM_BLAS_R_32F, columns, rows,
                                   call->logits_stride),
                 "cublasLtMatrixLayoutInit");
}

static dllm_status multiply(const dllm_gemm *gemm, const dllm_gemm_call *call,
                            const dllm_blas_algorithm *algorithm, dllm_stream stream)
{
    static const float one = 1.0f, zero = 0.0f;
    layouts layout;
    DLLM_TRY(make_layouts(&layout, gemm, call));
    return check(gemm->context->cublas.matmul(gemm->context->blas, gemm->description, &one,
                                              call->weight, &layout.weight, call->hidden,
                                              &layout.hidden, &zero, call->logits, &layout.logits,
                                              call->logits, &layout.logits, algorithm,
                                              call->scratch, DLLM_GEMM_SCRATCH_BYTES, stream),
                 "cublasLtMatmul");
}

dllm_status dllm__gemm_run(const dllm_gemm *gemm, const dllm_gemm_call *call, dllm_stream stream)
{
    int bucket = 0;
    while (bucket + 1 < gemm->bucket_count && gemm->buckets[bucket].rows < call->rows)
        bucket++;
    const int width = call->columns == gemm->shape.columns ? WHOLE : LAST;
    return multiply(gemm, call, &gemm->buckets[bucket].algorithm[width], stream);
}

/* Sums are never reduced in a type narrower than fp32: the result is fp32 and so is the scratch. */
static dllm_status make_preference(dllm_blas_object *out, const dllm_gemm *gemm,
                                   size_t scratch_bytes)
{
    const dllm_cublas *blas = &gemm->context->cublas;
    const uint32_t operand = (uint32_t)gemm->shape.alignment_bytes, result = 16;
    const struct {
        int attribute;
        const void *value;
        size_t bytes;
    } settings[] = {
        {DLLM_BLAS_PREF_WORKSPACE_BYTES, &scratch_bytes, sizeof scratch_bytes},
        {DLLM_BLAS_PREF_ALIGNMENT_A, &operand, sizeof operand},
        {DLLM_BLAS_PREF_ALIGNMENT_B, &operand, sizeof operand},
        {DLLM_BLAS_PREF_ALIGNMENT_C, &result, sizeof result},
        {DLLM_BLAS_PREF_ALIGNMENT_D, &result, sizeof result},
    };
    DLLM_TRY(check(blas->preference_create(out), "cublasLtMatmulPreferenceCreate"));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        DLLM_TRY(check(
            blas->preference_set(*out, settings[i].attribute, settings[i].value, settings[i].bytes),
            "cublasLtMatmulPreferenceSetAttribute"));
    return DLLM_OK;
}

/* The first algorithm of cuBLAS's list that it says will run. */
static dllm_status choose_algorithm(dllm_blas_algorithm *out, const dllm_gemm *gemm,
                                    dllm_blas_object preference, const dllm_gemm_call *call)
{
    dllm_blas_heuristic found[CANDIDATES];
    int count = 0;
    layouts layout;
    DLLM_TRY(make_layouts(&layout, gemm, call));
    const dllm_blas_status result = gemm->context->cublas.heuristic(
        gemm->context->blas, gemm->description, &layout.weight, &layout.hidden, &layout.logits,
        &layout.logits, preference, CANDIDATES, found, &count);
    for (int i = 0; result == 0 && i < count; i++) {
        if (found[i].state != 0) continue;
        *out = found[i].algorithm;
        return DLLM_OK;
    }
    return dllm__fail(DLLM_UNSUPPORTED,
                      "cuBLAS has no algorithm for %d rows x %d columns x depth %d at %d bytes of "
                      "alignment (status %d)",
                      call->rows, call->columns, gemm->shape.depth, gemm->shape.alignment_bytes,
                      result);
}

/* The algorithms of a bucket, each run once. */
static dllm_status fill_widths(dllm_gemm *gemm, dllm_blas_object preference, dllm_gemm_call *call)
{
    const int columns[WIDTHS] = {gemm->shape.columns, gemm->shape.last_columns};
    for (int width = 0; width < WIDTHS && columns[width] > 0; width++) {
        dllm_blas_algorithm *algorithm = &gemm->buckets[gemm->bucket_count].algorithm[width];
        call->columns = columns[width];
        DLLM_TRY(choose_algorithm(algorithm, gemm, preference, call));
        DLLM_TRY(multiply(gemm, call, algorithm, NULL));
    }
    gemm->buckets[gemm->bucket_count++].rows = call->rows;
    return DLLM_OK;
}

static dllm_status fill_with(dllm_gemm *gemm, dllm_gemm_call *call, size_t scratch_bytes)
{
    dllm_blas_object preference = NULL;
    dllm_status status = make_preference(&preference, gemm, scratch_bytes);
    if (status == DLLM_OK) status = fill_widths(gemm, preference, call);
    if (preference) (void)gemm->context->cublas.preference_destroy(preference);
    return status;
}

static dllm_status fill_bucket(dllm_gemm *gemm, dllm_gemm_call *call)
{
    if (call->rows >= ROWS_WITHOUT_SCRATCH) {
        const dllm_status status = fill_with(gemm, call, 0);
        if (status != DLLM_UNSUPPORTED) return status;
        dllm__clear_error();
    }
    return fill_with(gemm, call, DLLM_GEMM_SCRATCH_BYTES);
}

static dllm_status fill_buckets(dllm_gemm *gemm, dllm_gemm_call *call)
{
    for (int rows = 1;; rows *= 2) {
        call->rows = rows < gemm->shape.rows ? rows : gemm->shape.rows;
        DLLM_TRY(fill_bucket(gemm, call));
        if (call->rows == gemm->shape.rows) break;
    }
    return dllm__driver_check(&gemm->context->driver,
                              gemm->context->driver.stream_synchronize(NULL),
                              "cuStreamSynchronize");
}

/* One allocation that holds operands, result and scratch of the largest chunk. */
static dllm_status lay_out(dllm_gemm_call *call, dllm_cu_pointer *memory, const dllm_gemm *gemm)
{
    const dllm_gemm_shape *shape = &gemm->shape;
    const int64_t element = shape->type == DLLM_FP32 ? 4 : 2;
    const int64_t stride = ((int64_t)shape->depth + 15) / 16 * 16;
    const int64_t columns = ((int64_t)shape->columns + 15) / 16 * 16;
    const int64_t weight_bytes = columns * stride * element;
    const int64_t hidden_bytes = ((int64_t)shape->rows + 15) / 16 * 16 * stride * element;
    const int64_t logits_bytes = shape->rows * columns * 4;
    const int64_t total =
        weight_bytes + hidden_bytes + logits_bytes + DLLM_GEMM_SCRATCH_BYTES + 512;
    DLLM_TRY(dllm__driver_check(&gemm->context->driver,
                                gemm->context->driver.memory_allocate(memory, (size_t)total),
                                "cuMemAlloc"));
    char *base = (char *)(uintptr_t)*memory; /* NOLINT(performance-no-int-to-ptr) device address */
    call->scratch = base;
    call->weight = base + DLLM_GEMM_SCRATCH_BYTES;
    call->hidden = base + DLLM_GEMM_SCRATCH_BYTES + weight_bytes;
    call->logits = (float *)(void *)(base + DLLM_GEMM_SCRATCH_BYTES + weight_bytes + hidden_bytes);
    call->weight_stride = call->hidden_stride = stride;
    call->logits_stride = columns;
    return DLLM_OK;
}

static dllm_status describe(dllm_gemm *gemm)
{
    static const int data_types[] = {-1, DLLM_BLAS_R_16BF, DLLM_BLAS_R_16F, DLLM_BLAS_R_32F};
    const dllm_cublas *blas = &gemm->context->cublas;
    const int compute =
        gemm->shape.type == DLLM_FP32 ? DLLM_BLAS_COMPUTE_32F_PEDANTIC : DLLM_BLAS_COMPUTE_32F;
    const int32_t transpose = DLLM_BLAS_OP_T;
    gemm->data_type = data_types[gemm->shape.type];
    DLLM_TRY(check(blas->desc_create(&gemm->description, compute, DLLM_BLAS_R_32F),
                   "cublasLtMatmulDescCreate"));
    return check(
        blas->desc_set(gemm->description, DLLM_BLAS_DESC_TRANSA, &transpose, sizeof transpose),
        "cublasLtMatmulDescSetAttribute");
}

dllm_status dllm__gemm_create(dllm_gemm **out, const dllm_context *context,
                              const dllm_gemm_shape *shape)
{
    const dllm_driver *driver = &context->driver;
    dllm_cu_pointer memory = 0;
    dllm_gemm_call call = {0};
    dllm_status status;
    dllm_gemm *created = calloc(1, sizeof *created);
    if (!created) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a product");
    created->context = context;
    created->shape = *shape;
    status = describe(created);
    if (status == DLLM_OK) status = lay_out(&call, &memory, created);
    if (status == DLLM_OK) status = fill_buckets(created, &call);
    if (memory) (void)driver->memory_free(memory);
    if (status == DLLM_OK)
        *out = created;
    else
        dllm__gemm_destroy(created);
    return status;
}

void dllm__gemm_destroy(dllm_gemm *gemm)
{
    if (!gemm) return;
    if (gemm->description) (void)gemm->context->cublas.desc_destroy(gemm->description);
    free(gemm);
}
