/* test_log.c - to the callback, else where DLLM_LOG says, else nowhere */
#include "check_suite.h"

#include "log.h"
#include "scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static bool is_pending(int number)
{
    sigset_t pending;
    ck_assert_int_eq(sigpending(&pending), 0);
    return sigismember(&pending, number) == 1;
}

/* Logs to standard error whose reader is gone. */
static void log_into_a_closed_pipe(void)
{
    const dllm_log log = {0};
    int ends[2];
    const int saved = dup(STDERR_FILENO);
    ck_assert_int_eq(setenv("DLLM_LOG", "stderr", 1), 0);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(close(ends[0]), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    dllm__log(&log, "nobody reads this");
    (void)dup2(saved, STDERR_FILENO);
    (void)close(ends[1]);
    (void)close(saved);
}

static volatile sig_atomic_t broken_pipes;

static void count_broken_pipe(int number)
{
    (void)number;
    broken_pipes = broken_pipes + 1;
}

START_TEST(a_closed_pipe_raises_no_signal)
{
    sigset_t mask;
    void (*before)(int) = signal(SIGPIPE, count_broken_pipe);
    broken_pipes = 0;
    log_into_a_closed_pipe();
    ck_assert_int_eq(broken_pipes, 0);
    ck_assert(!is_pending(SIGPIPE));
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    ck_assert_int_eq(sigismember(&mask, SIGPIPE), 0);
    (void)signal(SIGPIPE, before);
}
END_TEST

START_TEST(a_signal_that_was_pending_stays_so)
{
    sigset_t broken_pipe;
    sigset_t mask;
    void (*before)(int) = signal(SIGPIPE, count_broken_pipe);
    ck_assert_int_eq(sigemptyset(&broken_pipe) + sigaddset(&broken_pipe, SIGPIPE), 0);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &broken_pipe, &mask), 0);
    ck_assert_int_eq(raise(SIGPIPE), 0);
    broken_pipes = 0;
    log_into_a_closed_pipe();
    ck_assert(is_pending(SIGPIPE));
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
    ck_assert_int_eq(broken_pipes, 1);
    (void)signal(SIGPIPE, before);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_does_not_hold_the_caller)
{
    const dllm_log log = {0};
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    dllm__log(&log, "lost");
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
    tcase_add_test(lines, a_closed_pipe_raises_no_signal);
    tcase_add_test(lines, a_signal_that_was_pending_stays_so);
    tcase_add_test(lines, a_pipe_that_nobody_reads_does_not_hold_the_caller);
    suite_add_tcase(suite, lines);
    return check_suite_run(suite);
}
