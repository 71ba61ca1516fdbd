/* test_status.c - the thread's message is one line, whatever names it was given */
#include "check_suite.h"

#include "dllm.h"
#include "status.h"

#include <string.h>

START_TEST(a_control_character_is_written_as_an_escape)
{
    ck_assert_int_eq(dllm__fail(DLLM_UNSUPPORTED, "name \"%s\"", "a\nb\rc\td\x1b[1me\x7f"),
                     DLLM_UNSUPPORTED);
    ck_assert_str_eq(dllm_last_error(), "name \"a\\nb\\rc\\td\\x1b[1me\\x7f\"");
}
END_TEST

START_TEST(letters_of_every_language_stay)
{
    (void)dllm__fail(DLLM_UNSUPPORTED, "%s", "größe \\n 模型");
    ck_assert_str_eq(dllm_last_error(), "größe \\n 模型");
}
END_TEST

/* An escape is whole, or not there. */
START_TEST(a_long_message_is_cut)
{
    char name[3000];
    for (int first = 0; first < 4; first++) {
        memset(name, '\x01', sizeof name);
        memset(name, 'x', (size_t)first);
        name[sizeof name - 1] = '\0';
        (void)dllm__fail(DLLM_UNSUPPORTED, "%s", name);
        const char *message = dllm_last_error();
        const size_t length = strlen(message);
        ck_assert_uint_gt(length, 1000);
        ck_assert_str_eq(message + length - 4, "\\x01");
    }
}
END_TEST

START_TEST(names_of_the_caller_make_no_second_line)
{
    dllm_decode_options options;
    dllm_sequence sequence;
    dllm_model_information model = {.struct_size = sizeof model};
    ck_assert_int_eq(dllm_decode_preset(&options, &sequence, "lla\nda"), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "preset \"lla\\nda\" is none of llada"));
    ck_assert_int_eq(dllm_model_lookup(&model, "llada\n8b"), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "head \"llada\\n8b\" is not in the table");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *messages = tcase_create("messages");
    tcase_add_test(messages, a_control_character_is_written_as_an_escape);
    tcase_add_test(messages, letters_of_every_language_stay);
    tcase_add_test(messages, a_long_message_is_cut);
    tcase_add_test(messages, names_of_the_caller_make_no_second_line);
    suite_add_tcase(suite, messages);
    return check_suite_run(suite);
}
