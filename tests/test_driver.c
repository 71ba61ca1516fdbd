/* test_driver.c - result codes in words; a driver that lacks an entry point */
#include "check_suite.h"

#include "driver.h"
#include "fake_driver.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

static const struct {
    dllm_cu_result code;
    dllm_status status;
    const char *words;
} results[] = {
    {2, DLLM_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {200, DLLM_DRIVER_FAILED, "CUDA_ERROR_INVALID_IMAGE: the driver cannot read"},
    {209, DLLM_DRIVER_FAILED, "compiled for another architecture"},
    {218, DLLM_DRIVER_FAILED, "cannot compile this kernel's assembly"},
    {221, DLLM_DRIVER_FAILED, "own compiler library is missing"},
    {222, DLLM_DRIVER_FAILED, "update the driver"},
    {300, DLLM_DRIVER_FAILED, "no device code"},
    {800, DLLM_CAPTURING, "stream capture"},
    {803, DLLM_DRIVER_FAILED, "differ in version"},
    {804, DLLM_DRIVER_FAILED, "forward compatibility"},
    {900, DLLM_CAPTURING, "being captured"},
    {12345, DLLM_DRIVER_FAILED, "failed with 12345 unknown error"},
};

START_TEST(failure_has_call_code_name_and_words)
{
    char code[16];
    dllm_driver driver;
    fake_driver_start(&driver);
    ck_assert_int_eq(dllm__driver_check(&driver, results[_i].code, "cuSomething"),
                     results[_i].status);
    (void)snprintf(code, sizeof code, " %d ", results[_i].code);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "cuSomething failed with "));
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), code));
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), results[_i].words));
}
END_TEST

START_TEST(success_leaves_the_message_alone)
{
    dllm_driver driver;
    fake_driver_start(&driver);
    (void)dllm__fail(DLLM_INVALID_ARGUMENT, "an older message");
    ck_assert_int_eq(dllm__driver_check(&driver, DLLM_CU_SUCCESS, "cuSomething"), DLLM_OK);
    ck_assert_str_eq(dllm_last_error(), "an older message");
}
END_TEST

/* The program's run path leads to a libcuda.so.1 that has cuInit alone. */
START_TEST(a_driver_without_an_entry_point_is_missing)
{
    dllm_driver driver;
    memset(&driver, 0, sizeof driver);
    ck_assert_int_eq(dllm__driver_open(&driver), DLLM_LIBRARY_MISSING);
    ck_assert_str_eq(dllm_last_error(),
                     "libcuda.so.1 has no entry point cuDriverGetVersion: the driver is too old");
    ck_assert_ptr_null(driver.library);
    ck_assert(!driver.init);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("driver");
    TCase *check = tcase_create("check");
    tcase_add_loop_test(check, failure_has_call_code_name_and_words, 0,
                        (int)(sizeof results / sizeof results[0]));
    tcase_add_test(check, success_leaves_the_message_alone);
    suite_add_tcase(suite, check);
    TCase *open = tcase_create("open");
    tcase_add_test(open, a_driver_without_an_entry_point_is_missing);
    suite_add_tcase(suite, open);
    return check_suite_run(suite);
}
