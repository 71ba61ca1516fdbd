/* test_log.c - to the callback, else where DLLM_LOG says, else nowhere */
#include "check_suite.h"

#include "log.h"
#include "scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char seen[8192];
static char top[SCRATCH_BYTES];
static char path[SCRATCH_BYTES + 8];

static void keep_line(void *user, const char *line)
{
    (*(int *)user)++;
    (void)snprintf(seen, sizeof seen, "%s", line);
}

static void make_folder(void)
{
    scratch_make(top);
    (void)snprintf(path, sizeof path, "%s/log", top);
    ck_assert_int_eq(setenv("DLLM_LOG", path, 1), 0);
}

static void remove_folder(void)
{
    ck_assert_int_eq(unsetenv("DLLM_LOG"), 0);
    scratch_remove(top);
}

START_TEST(callback_gets_the_line_and_nobody_else)
{
    int lines = 0;
    const dllm_log log = {keep_line, &lines};
    dllm__log(&log, "kernel %d of %s", 3, "five");
    ck_assert_int_eq(lines, 1);
    ck_assert_str_eq(seen, "kernel 3 of five");
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(file_named_by_the_variable_is_appended_to)
{
    char text[64];
    const dllm_log log = {0};
    dllm__log(&log, "one");
    dllm__log(&log, "two %d", 2);
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    ck_assert_str_eq(text, "dllm: one\ndllm: two 2\n");
}
END_TEST

START_TEST(without_callback_and_variable_nothing_is_written)
{
    const dllm_log log = {0};
    ck_assert_int_eq(setenv("DLLM_LOG", "", 1), 0);
    dllm__log(&log, "nobody hears this");
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    char text[6000];
    int lines = 0;
    const dllm_log log = {keep_line, &lines};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dllm__log(&log, "%s", text);
    ck_assert_uint_eq(strlen(seen), 4000);
}
END_TEST

START_TEST(errno_survives)
{
    const dllm_log log = {0};
    ck_assert_int_eq(setenv("DLLM_LOG", "/nowhere/at/all", 1), 0);
    errno = EDOM;
    dllm__log(&log, "lost");
    ck_assert_int_eq(errno, EDOM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *lines = tcase_create("lines");
    tcase_add_checked_fixture(lines, make_folder, remove_folder);
    tcase_add_test(lines, callback_gets_the_line_and_nobody_else);
    tcase_add_test(lines, file_named_by_the_variable_is_appended_to);
    tcase_add_test(lines, without_callback_and_variable_nothing_is_written);
    tcase_add_test(lines, a_long_line_is_cut);
    tcase_add_test(lines, errno_survives);
    suite_add_tcase(suite, lines);
    return check_suite_run(suite);
}
