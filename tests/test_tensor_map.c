/* test_tensor_map.c - what the driver is told of a matrix, and what it is never told */
#include "check_suite.h"

#include "fake_driver.h"
#include "tensor_map.h"

#include <string.h>

enum { BOX_ROWS = 64 };

static _Alignas(16) const uint16_t elements[8];
static dllm_driver driver;

static dllm_tensor_view view(int64_t rows, int64_t columns, int64_t stride)
{
    return (dllm_tensor_view){.name = "weight",
                              .base = elements,
                              .type = DLLM_BF16,
                              .rows = rows,
                              .columns = columns,
                              .stride = stride};
}

static fake_tensor encoded(const dllm_tensor_view *matrix, int box_rows)
{
    dllm_tensor_map map;
    ck_assert_msg(dllm__tensor_map(&map, &driver, matrix, box_rows) == DLLM_OK, "%s",
                  dllm_last_error());
    return fake_driver_tensor(&map);
}

static void start(void)
{
    fake_driver_start(&driver);
}

START_TEST(columns_run_fastest)
{
    const dllm_tensor_view matrix = view(1000, 72, 80);
    const fake_tensor tensor = encoded(&matrix, BOX_ROWS);
    ck_assert_uint_eq(tensor.base, (uintptr_t)elements);
    ck_assert_uint_eq(tensor.columns, 72);
    ck_assert_uint_eq(tensor.rows, 1000);
    ck_assert_uint_eq(tensor.stride_bytes, 160);
}
END_TEST

START_TEST(a_box_is_lines_of_the_swizzles_width)
{
    const dllm_tensor_view matrix = view(1000, 4096, 4096);
    const fake_tensor tensor = encoded(&matrix, 136);
    ck_assert_uint_eq(tensor.box_columns * sizeof(uint16_t), DLLM_SM90_LINE_BYTES);
    ck_assert_uint_eq(tensor.box_rows, 136);
    ck_assert_int_eq(tensor.swizzle, DLLM_CU_TENSOR_SWIZZLE_128);
    ck_assert_int_eq(tensor.promotion, DLLM_CU_TENSOR_PROMOTION_256);
}
END_TEST

START_TEST(the_element_type_is_passed_on)
{
    dllm_tensor_view matrix = view(8, 64, 64);
    ck_assert_int_eq(encoded(&matrix, BOX_ROWS).type, DLLM_CU_TENSOR_BF16);
    matrix.type = DLLM_FP16;
    ck_assert_int_eq(encoded(&matrix, BOX_ROWS).type, DLLM_CU_TENSOR_FP16);
}
END_TEST

/* A single row's stride is not checked by anyone: 65 elements would be refused by the driver. */
START_TEST(the_stride_of_a_single_row_does_not_matter)
{
    static const int64_t strides[] = {65, 0, INT64_MAX};
    const dllm_tensor_view matrix = view(1, 64, strides[_i]);
    ck_assert_uint_eq(encoded(&matrix, BOX_ROWS).stride_bytes, 128);
}
END_TEST

START_TEST(a_stride_beyond_the_copy_engine_is_the_callers_error)
{
    const dllm_tensor_view matrix = view(2, 64, (int64_t)1 << 39);
    dllm_tensor_map map;
    ck_assert_int_eq(dllm__tensor_map(&map, &driver, &matrix, BOX_ROWS), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "weight stride of 549755813888 elements is 2^40 bytes or "
                                        "more, the copy engine's limit");
    ck_assert_int_eq(fake_driver_calls_of("cuTensorMapEncodeTiled"), 0);
}
END_TEST

START_TEST(a_refusal_names_the_call)
{
    const dllm_tensor_view matrix = view(2, 64, 64);
    dllm_tensor_map map;
    ck_assert_int_eq(dllm__tensor_map(&map, &driver, &matrix, 257), DLLM_DRIVER_FAILED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "cuTensorMapEncodeTiled"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_map");
    TCase *group = tcase_create("encode");
    tcase_add_checked_fixture(group, start, NULL);
    tcase_add_test(group, columns_run_fastest);
    tcase_add_test(group, a_box_is_lines_of_the_swizzles_width);
    tcase_add_test(group, the_element_type_is_passed_on);
    tcase_add_loop_test(group, the_stride_of_a_single_row_does_not_matter, 0, 3);
    tcase_add_test(group, a_stride_beyond_the_copy_engine_is_the_callers_error);
    tcase_add_test(group, a_refusal_names_the_call);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
