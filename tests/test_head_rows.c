/* test_head_rows.c - the model's 128 head rows on the CPU: real data with answers from elsewhere */
#include "head_rows.h"
#include "row_suite.h"

static head_rows rows;
static row_suite_device opened;

static void open_rows(void)
{
    dllm_message message;
    ck_assert_msg(head_rows_open(&rows, &message), "%s", message.text);
    row_suite_open(&opened, DLLM_DEVICE_CPU);
}

static void close_rows(void)
{
    row_suite_close(&opened);
    head_rows_close(&rows);
}

START_TEST(every_argmax_is_exact_and_the_rest_in_tolerance)
{
    dllm_message message;
    ck_assert_msg(head_rows_check(&rows, &opened.memory, opened.context, "cpu", &message), "%s",
                  message.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("head_rows");
    TCase *values = tcase_create("cpu");
    tcase_add_unchecked_fixture(values, open_rows, close_rows);
    tcase_set_timeout(values, 0);
    tcase_add_test(values, every_argmax_is_exact_and_the_rest_in_tolerance);
    suite_add_tcase(suite, values);
    return row_suite_run(suite);
}
