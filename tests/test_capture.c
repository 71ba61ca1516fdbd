/* test_capture.c - each problem once, in words that dllm-tune reads; never a failed call */
#include "check_suite.h"

#include "cache_fixture.h"
#include "capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static cache_fixture fixture;
static char path[FIXTURE_PATH_BYTES];

static void make(void)
{
    fixture_make(&fixture);
    (void)snprintf(path, sizeof path, "%s/capture", fixture.top);
    ck_assert_int_eq(setenv("DLLM_CAPTURE", path, 1), 0);
}

static void clean(void)
{
    ck_assert_int_eq(unsetenv("DLLM_CAPTURE"), 0);
    fixture_remove(&fixture);
}

static void capture_guided(int64_t rows_max, float cfg_scale)
{
    dllm_problem problem;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = 1000;
    options.depth = 64;
    options.rows_max = rows_max;
    options.hidden_type = DLLM_FP32;
    options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    options.alignment_bytes = 16;
    options.cfg_scale = cfg_scale;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    dllm__capture(&problem, &fixture.log);
}

static void capture(int64_t rows_max)
{
    capture_guided(rows_max, 0.0f);
}

static void check_file(const char *wanted)
{
    size_t size = 0;
    unsigned char *text = fixture_read(&size, path);
    text[size] = '\0';
    ck_assert_str_eq((const char *)text, wanted);
    free(text);
}

#define LINE(rows)                                                                                 \
    "head vocab 1000 valid_vocab 1000 depth 64 hidden_type fp32 weight_type bf16 rows_max " rows   \
    " alignment_bytes 16\n"

START_TEST(each_problem_is_noted_once)
{
    capture(8);
    capture(64);
    capture(8);
    check_file(LINE("8") LINE("64"));
    ck_assert_int_eq(fixture.lines, 0);
}
END_TEST

START_TEST(many_processes_note_it_once)
{
    pid_t children[16];
    for (int i = 0; i < 16; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            capture(8);
            _exit(0);
        }
    }
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(waitpid(children[i], NULL, 0), children[i]);
    check_file(LINE("8"));
}
END_TEST

START_TEST(without_the_variable_nothing_is_written)
{
    ck_assert_int_eq(setenv("DLLM_CAPTURE", "", 1), 0);
    capture(8);
    ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_int_eq(fixture.lines, 0);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_costs_a_line)
{
    ck_assert_int_eq(setenv("DLLM_CAPTURE", "/no/such/folder/capture", 1), 0);
    capture(8);
    ck_assert_int_eq(fixture.lines, 1);
    ck_assert_ptr_nonnull(strstr(fixture.last_line, "/no/such/folder/capture: No such file"));
}
END_TEST

START_TEST(a_line_is_not_glued_to_a_torn_one)
{
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("# half a line", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    capture(8);
    check_file("# half a line\n" LINE("8"));
}
END_TEST

START_TEST(a_file_too_large_to_be_a_list_costs_a_line)
{
    fixture_write(path, "", 0);
    ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
    capture(8);
    ck_assert_int_eq(fixture.lines, 1);
    ck_assert_ptr_nonnull(strstr(fixture.last_line, "File too large"));
}
END_TEST

START_TEST(a_holder_of_the_lock_is_not_waited_for_without_end)
{
    const int holder = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(flock(holder, LOCK_EX), 0);
    capture(8);
    ck_assert_int_eq(fixture.lines, 1);
    ck_assert_int_eq(flock(holder, LOCK_UN), 0);
    capture(8);
    check_file(LINE("8"));
    ck_assert_int_eq(close(holder), 0);
}
END_TEST

START_TEST(a_guided_problem_costs_a_line)
{
    capture_guided(8, 1.5f);
    ck_assert_int_eq(fixture.lines, 1);
    ck_assert_ptr_nonnull(strstr(fixture.last_line, "guided ones are not tuned"));
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(what_is_no_file_costs_a_line)
{
    ck_assert_int_eq(setenv("DLLM_CAPTURE", "/dev/zero", 1), 0);
    capture(8);
    ck_assert_int_eq(fixture.lines, 1);
    ck_assert_ptr_nonnull(strstr(fixture.last_line, "/dev/zero: Invalid argument"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture");
    TCase *lines = tcase_create("lines");
    tcase_add_checked_fixture(lines, make, clean);
    tcase_add_test(lines, each_problem_is_noted_once);
    tcase_add_test(lines, many_processes_note_it_once);
    tcase_add_test(lines, without_the_variable_nothing_is_written);
    tcase_add_test(lines, a_file_that_cannot_be_written_costs_a_line);
    tcase_add_test(lines, a_line_is_not_glued_to_a_torn_one);
    tcase_add_test(lines, a_file_too_large_to_be_a_list_costs_a_line);
    tcase_add_test(lines, a_holder_of_the_lock_is_not_waited_for_without_end);
    tcase_add_test(lines, a_guided_problem_costs_a_line);
    tcase_add_test(lines, what_is_no_file_costs_a_line);
    suite_add_tcase(suite, lines);
    return check_suite_run(suite);
}
