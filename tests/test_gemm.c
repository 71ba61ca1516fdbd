/* test_gemm.c - which algorithms of cuBLAS are taken: a table of calls that stands in for it */
#include "check_suite.h"

#include "gemm.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, COLUMNS = 4096, LAST_COLUMNS = 512, FIRST_WITHOUT_SCRATCH = 768 };

static struct {
    size_t scratch_bytes; /* of the preference that was set last */
    int without_scratch;  /* algorithms that need none; the others need it */
    int with_scratch;
    int preferences; /* that were not destroyed */
    uint64_t taken[2];
    int products;
} blas;

/* NOLINTBEGIN(readability-function-size): parameters as cublasLt has them */

/* data[0] of an algorithm: the scratch it was proposed with. */
static dllm_blas_status propose(dllm_blas_handle handle, dllm_blas_object description,
                                const dllm_blas_layout *weight, const dllm_blas_layout *hidden,
                                const dllm_blas_layout *in, const dllm_blas_layout *out,
                                dllm_blas_object preference, int most, dllm_blas_heuristic *found,
                                int *count)
{
    (void)handle, (void)description, (void)weight, (void)hidden, (void)in, (void)out;
    ck_assert_ptr_nonnull(preference);
    *count = blas.scratch_bytes > 0 ? blas.with_scratch : blas.without_scratch;
    ck_assert_int_le(*count, most);
    memset(found, 0, (size_t)*count * sizeof *found);
    for (int i = 0; i < *count; i++)
        found[i].algorithm.data[0] = blas.scratch_bytes;
    return *count > 0 ? 0 : 15; /* CUBLAS_STATUS_NOT_SUPPORTED */
}

static dllm_blas_status
multiply(dllm_blas_handle handle, dllm_blas_object description, const void *one, const void *weight,
         const dllm_blas_layout *weight_layout, const void *hidden,
         const dllm_blas_layout *hidden_layout, const void *zero, const void *in,
         const dllm_blas_layout *in_layout, void *out, const dllm_blas_layout *out_layout,
         const dllm_blas_algorithm *algorithm, void *scratch, size_t bytes, dllm_stream stream)
{
    (void)handle, (void)description, (void)one, (void)weight, (void)weight_layout, (void)hidden;
    (void)hidden_layout, (void)zero, (void)in, (void)in_layout, (void)out, (void)out_layout;
    (void)scratch, (void)stream;
    ck_assert_uint_le(algorithm->data[0], bytes);
    blas.taken[blas.products++ % 2] = algorithm->data[0];
    return 0;
}

/* NOLINTEND(readability-function-size) */

static dllm_blas_status create_description(dllm_blas_object *out, int compute, int type)
{
    (void)compute, (void)type;
    *out = &blas;
    return 0;
}

static dllm_blas_status set_description(dllm_blas_object object, int attribute, const void *value,
                                        size_t bytes)
{
    (void)object, (void)attribute, (void)value, (void)bytes;
    return 0;
}

static dllm_blas_status destroy_description(dllm_blas_object object)
{
    (void)object;
    return 0;
}

static dllm_blas_status lay_out(dllm_blas_layout *out, size_t bytes, int type, uint64_t rows,
                                uint64_t columns, int64_t stride)
{
    (void)type, (void)rows, (void)columns, (void)stride;
    memset(out, 0, bytes);
    return 0;
}

static dllm_blas_status create_preference(dllm_blas_object *out)
{
    blas.preferences++;
    *out = &blas;
    return 0;
}

static dllm_blas_status set_preference(dllm_blas_object object, int attribute, const void *value,
                                       size_t bytes)
{
    (void)object;
    if (attribute == DLLM_BLAS_PREF_WORKSPACE_BYTES) {
        ck_assert_uint_eq(bytes, sizeof blas.scratch_bytes);
        memcpy(&blas.scratch_bytes, value, bytes);
    }
    return 0;
}

static dllm_blas_status destroy_preference(dllm_blas_object object)
{
    (void)object;
    blas.preferences--;
    return 0;
}

static dllm_cu_result allocate(dllm_cu_pointer *out, size_t bytes)
{
    (void)bytes;
    *out = 4096;
    return 0;
}

static dllm_cu_result release(dllm_cu_pointer pointer)
{
    (void)pointer;
    return 0;
}

static dllm_cu_result wait_for(dllm_stream stream)
{
    (void)stream;
    return 0;
}

/* The status of creating the products of chunks of so many rows. */
static dllm_status create(int rows)
{
    static dllm_context context;
    const dllm_gemm_shape shape = {.type = DLLM_BF16,
                                   .rows = rows,
                                   .columns = COLUMNS,
                                   .last_columns = LAST_COLUMNS,
                                   .depth = 256,
                                   .alignment_bytes = 16};
    dllm_gemm *gemm = NULL;
    blas.products = blas.preferences = 0;
    context.cublas = (dllm_cublas){.desc_create = create_description,
                                   .desc_destroy = destroy_description,
                                   .desc_set = set_description,
                                   .layout_init = lay_out,
                                   .preference_create = create_preference,
                                   .preference_destroy = destroy_preference,
                                   .preference_set = set_preference,
                                   .heuristic = propose,
                                   .matmul = multiply};
    context.driver.memory_allocate = allocate;
    context.driver.memory_free = release;
    context.driver.stream_synchronize = wait_for;
    const dllm_status status = dllm__gemm_create(&gemm, &context, &shape);
    dllm__gemm_destroy(gemm);
    ck_assert_int_eq(blas.preferences, 0);
    return status;
}

static void check_taken(size_t scratch_bytes)
{
    ck_assert_uint_eq(blas.taken[0], scratch_bytes);
    ck_assert_uint_eq(blas.taken[1], scratch_bytes);
}

START_TEST(many_rows_take_no_scratch)
{
    blas.without_scratch = blas.with_scratch = 3;
    ck_assert_int_eq(create(ROWS), DLLM_OK);
    check_taken(0);
    ck_assert_int_eq(create(FIRST_WITHOUT_SCRATCH), DLLM_OK);
    check_taken(0);
    ck_assert_int_eq(create(FIRST_WITHOUT_SCRATCH - 1), DLLM_OK);
    check_taken(DLLM_GEMM_SCRATCH_BYTES);
}
END_TEST

START_TEST(scratch_is_taken_where_nothing_else_is_there)
{
    blas.without_scratch = 0;
    blas.with_scratch = 1;
    ck_assert_msg(create(ROWS) == DLLM_OK, "%s", dllm_last_error());
    check_taken(DLLM_GEMM_SCRATCH_BYTES);
    ck_assert_str_eq(dllm_last_error(), "");
}
END_TEST

START_TEST(no_algorithm_is_said_with_the_shape)
{
    blas.without_scratch = blas.with_scratch = 0;
    ck_assert_int_eq(create(ROWS), DLLM_UNSUPPORTED);
    ck_assert_str_eq(dllm_last_error(),
                     "cuBLAS has no algorithm for 1 rows x 4096 columns x depth 256 at 16 bytes of "
                     "alignment (status 15)");
    ck_assert_int_eq(blas.products, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm");
    TCase *group = tcase_create("algorithms");
    tcase_add_test(group, many_rows_take_no_scratch);
    tcase_add_test(group, scratch_is_taken_where_nothing_else_is_there);
    tcase_add_test(group, no_algorithm_is_said_with_the_shape);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
