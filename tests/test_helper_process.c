/* test_helper_process.c - a compile in a process of its own: faults stay there, the host is left alone */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check_suite.h"
#include "helper_process.h"
#include "scratch.h"

#define REAL_HELPER DLLM_BINARY_DIR "/dllm-jit"
#define FAKE_LIBRARY DLLM_BINARY_DIR "/tests/libfake_nvrtc.so"

/* Long enough for a busy machine, and the short one for helpers that never answer. */
enum { PATIENT_MS = 60000, SHORT_MS = 300, PATH_BYTES = 512 };

static char folder[SCRATCH_BYTES];

static void make_folder(void)
{
    scratch_make(folder);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

static dllm_compile_request request_for(const char *text)
{
    dllm_compile_request request = {.library = FAKE_LIBRARY,
                                    .options = {1, {"--gpu-architecture=sm_80"}},
                                    .source_count = 2,
                                    .names = {"program.cu", "head.cuh"},
                                    .texts = {text, "int head;"}};
    return request;
}

/** Compiles with a helper; the caller releases the answer. */
static dllm_helper_end compile_by(dllm_compile_answer *answer, const char *path, int timeout_ms,
                                  const char *text)
{
    const dllm_helper helper = {path, timeout_ms, -1};
    const dllm_compile_request request = request_for(text);
    return dllm__helper_compile(answer, &helper, &request);
}

static bool report_has(const dllm_compile_answer *answer, const char *line)
{
    return answer->cubin && strstr((const char *)answer->cubin, line) != NULL;
}

/** Links a misbehaving helper under the name of its mode. */
static void link_mode(char path[PATH_BYTES], const char *mode)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, mode);
    ck_assert_int_eq(symlink(DLLM_BINARY_DIR "/tests/fake_jit", path), 0);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(entries);
    while (readdir(entries))
        count++;
    ck_assert_int_eq(closedir(entries), 0);
    return count;
}

/* ---- answers */

START_TEST(cubin_comes_back_with_what_was_sent)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "int a;"), DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(answer.outcome, DLLM_COMPILED);
    ck_assert(report_has(&answer, "option --gpu-architecture=sm_80\n"));
    ck_assert(report_has(&answer, "program program.cu\n"));
    ck_assert(report_has(&answer, "header head.cuh\ntext int head;\n"));
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(compile_error_is_an_answer_with_its_log)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_ERROR"),
                     DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(answer.outcome, DLLM_REJECTED);
    ck_assert_ptr_nonnull(strstr(answer.log, "program.cu(3): error"));
    ck_assert_ptr_null(answer.cubin);
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(empty_cubin_is_a_failed_compile)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_EMPTY"),
                     DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(answer.outcome, DLLM_REJECTED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "no cubin"));
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(library_that_cannot_be_opened_is_an_answer)
{
    const dllm_helper helper = {REAL_HELPER, PATIENT_MS, -1};
    dllm_compile_request request = request_for("int a;");
    dllm_compile_answer answer;
    request.library = "/no/such/libnvrtc.so";
    ck_assert_int_eq(dllm__helper_compile(&answer, &helper, &request), DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(answer.outcome, DLLM_CANNOT_COMPILE);
    ck_assert_ptr_nonnull(strstr(answer.reason, "/no/such/libnvrtc.so"));
    dllm__answer_release(&answer);
}
END_TEST

/* More than a socket holds in either direction. */
START_TEST(large_text_passes)
{
    enum { TEXT_BYTES = 4 << 20 };
    char *text = malloc(TEXT_BYTES);
    dllm_compile_answer answer;
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', TEXT_BYTES - 1);
    text[TEXT_BYTES - 1] = '\0';
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, text), DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(answer.outcome, DLLM_COMPILED);
    dllm__answer_release(&answer);
    free(text);
}
END_TEST

/* ---- the helper's own process */

START_TEST(helper_is_another_process_with_default_signals_and_no_core)
{
    dllm_compile_answer answer;
    char own[32];
    (void)snprintf(own, sizeof own, "process %d\n", (int)getpid());
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_REPORT"),
                     DLLM_HELPER_ANSWERED);
    (void)signal(SIGINT, before);
    ck_assert(!report_has(&answer, own));
    ck_assert(report_has(&answer, "interrupt_default 1\n"));
    ck_assert(report_has(&answer, "core 0\n"));
    ck_assert(report_has(&answer, "dumpable 0\n"));
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(helper_sees_no_variable_but_the_library_path)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(setenv("DLLM_TEST_SECRET", "1", 1), 0);
    ck_assert_int_eq(setenv("LD_LIBRARY_PATH", "/some/where", 1), 0);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_REPORT"),
                     DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(unsetenv("DLLM_TEST_SECRET"), 0);
    ck_assert_int_eq(unsetenv("LD_LIBRARY_PATH"), 0);
    ck_assert(report_has(&answer, "variable LD_LIBRARY_PATH=/some/where\n"));
    const char *first = strstr((const char *)answer.cubin, "variable ");
    ck_assert_ptr_null(strstr(first + 1, "variable "));
    dllm__answer_release(&answer);
}
END_TEST

/* Descriptors of the host without close-on-exec must not live on in the helper: 0, 1 and 2 are all. */
START_TEST(helper_holds_none_of_our_descriptors)
{
    dllm_compile_answer answer;
    int leaky[2];
    ck_assert_int_eq(pipe(leaky), 0);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_REPORT"),
                     DLLM_HELPER_ANSWERED);
    ck_assert(report_has(&answer, "descriptors 3\n"));
    ck_assert_int_eq(close(leaky[0]), 0);
    ck_assert_int_eq(close(leaky[1]), 0);
    dllm__answer_release(&answer);
}
END_TEST

/* ---- faults */

static const struct {
    const char *mode;
    int timeout_ms;
    dllm_helper_end end;
    const char *reason;
} faults[] = {
    {"exits", PATIENT_MS, DLLM_HELPER_NOT_STARTED, "no working helper"},
    {"other", PATIENT_MS, DLLM_HELPER_NOT_STARTED, "no working helper"},
    {"mute", SHORT_MS, DLLM_HELPER_STOPPED, "within 300 ms"},
    {"deaf", SHORT_MS, DLLM_HELPER_STOPPED, "within 300 ms"},
    {"hangs", SHORT_MS, DLLM_HELPER_STOPPED, "within 300 ms"},
    {"half_hang", SHORT_MS, DLLM_HELPER_STOPPED, "within 300 ms"},
    {"goes", PATIENT_MS, DLLM_HELPER_DIED, "ended without a whole answer"},
    {"aborts", PATIENT_MS, DLLM_HELPER_DIED, "died of signal 6"},
    {"leaves", PATIENT_MS, DLLM_HELPER_DIED, "ended without a whole answer"},
    {"no_frame", PATIENT_MS, DLLM_HELPER_DIED, "ended without a whole answer"},
    {"half", PATIENT_MS, DLLM_HELPER_DIED, "ended without a whole answer"},
    {"flipped", PATIENT_MS, DLLM_HELPER_DIED, "garbled"},
    {"garbage", PATIENT_MS, DLLM_HELPER_DIED, "garbled"},
    {"huge", PATIENT_MS, DLLM_HELPER_DIED, "garbled"},
    {"fails_after_answer", PATIENT_MS, DLLM_HELPER_ANSWERED, ""},
    {"lingers", PATIENT_MS, DLLM_HELPER_ANSWERED, ""},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(fault_ends_with_its_reason_and_leaves_nothing_behind)
{
    char path[PATH_BYTES];
    char text[1 << 18]; /* more than the socket holds, so that a deaf helper blocks the sender */
    dllm_compile_answer answer;
    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    link_mode(path, faults[_i].mode);
    const int before = open_descriptors();
    const dllm_helper_end end = compile_by(&answer, path, faults[_i].timeout_ms, text);
    ck_assert_msg(end == faults[_i].end, "%s ended %d: %s", faults[_i].mode, (int)end,
                  answer.reason);
    ck_assert_msg(strstr(answer.reason, faults[_i].reason) != NULL, "%s: %s", faults[_i].mode,
                  answer.reason);
    ck_assert_int_eq(answer.cubin != NULL, end == DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, not even a zombie */
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(path_without_a_program_is_not_started)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(compile_by(&answer, "/no/such/dllm-jit", PATIENT_MS, "int a;"),
                     DLLM_HELPER_NOT_STARTED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "/no/such/dllm-jit cannot be started: No such"));
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(compiler_that_aborts_kills_the_helper_alone)
{
    dllm_compile_answer answer;
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_ABORT"), DLLM_HELPER_DIED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "died of signal 6"));
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(compiler_that_hangs_is_killed_in_time)
{
    dllm_compile_answer answer;
    const time_t start = time(NULL);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, 3000, "FAKE_HANG"), DLLM_HELPER_STOPPED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "within 3000 ms"));
    ck_assert_int_lt(time(NULL) - start, 30);
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(cancelled_compile_ends_at_once)
{
    const int cancel = eventfd(1, EFD_CLOEXEC);
    const dllm_helper helper = {REAL_HELPER, PATIENT_MS, cancel};
    const dllm_compile_request request = request_for("FAKE_HANG");
    dllm_compile_answer answer;
    ck_assert_int_ge(cancel, 0);
    ck_assert_int_eq(dllm__helper_compile(&answer, &helper, &request), DLLM_HELPER_STOPPED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "cancelled"));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(close(cancel), 0);
    dllm__answer_release(&answer);
}
END_TEST

/* ---- the host */

static volatile sig_atomic_t terminations;
static volatile sig_atomic_t reaped;

static void count_termination(int number)
{
    (void)number;
    terminations = terminations + 1;
}

static void *terminate_soon(void *argument)
{
    const struct timespec moment = {0, 100000000};
    (void)nanosleep(&moment, NULL);
    (void)kill(getpid(), SIGTERM);
    return argument;
}

/* The compiler ignores SIGTERM for 300 ms of its compile; the host's handler must not notice. */
START_TEST(termination_during_a_compile_reaches_the_hosts_handler)
{
    struct sigaction mine = {.sa_handler = count_termination};
    struct sigaction before;
    struct sigaction after;
    pthread_t thread;
    dllm_compile_answer answer;
    terminations = 0;
    ck_assert_int_eq(sigaction(SIGTERM, &mine, &before), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, terminate_soon, NULL), 0);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_TAKES_SIGNALS"),
                     DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(sigaction(SIGTERM, &before, &after), 0);
    ck_assert_int_eq(terminations, 1);
    ck_assert(after.sa_handler == count_termination);
    ck_assert_int_eq(answer.outcome, DLLM_COMPILED);
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(host_that_ignores_children_gets_its_answer)
{
    dllm_compile_answer answer;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    const dllm_helper_end end = compile_by(&answer, REAL_HELPER, PATIENT_MS, "int a;");
    (void)signal(SIGCHLD, before);
    ck_assert_int_eq(end, DLLM_HELPER_ANSWERED);
    dllm__answer_release(&answer);
}
END_TEST

static void reap_all(int number)
{
    const int saved_errno = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        reaped = reaped + 1;
    errno = saved_errno;
}

/* Many servers reap whatever dies; then the helper's status is gone, and must not be missed. */
START_TEST(host_that_reaps_every_child_gets_its_answer)
{
    const struct sigaction mine = {.sa_handler = reap_all};
    struct sigaction before;
    char path[PATH_BYTES];
    dllm_compile_answer answer;
    link_mode(path, "aborts");
    ck_assert_int_eq(sigaction(SIGCHLD, &mine, &before), 0);
    const dllm_helper_end good = compile_by(&answer, REAL_HELPER, PATIENT_MS, "int a;");
    dllm__answer_release(&answer);
    const dllm_helper_end bad = compile_by(&answer, path, PATIENT_MS, "int a;");
    ck_assert_int_eq(sigaction(SIGCHLD, &before, NULL), 0);
    ck_assert_int_eq(good, DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(bad, DLLM_HELPER_DIED);
    dllm__answer_release(&answer);
}
END_TEST

START_TEST(other_children_of_the_host_are_left_alone)
{
    dllm_compile_answer answer;
    int status = 0;
    const pid_t other = fork();
    ck_assert_int_ge(other, 0);
    if (other == 0) _exit(7);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "int a;"), DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    dllm__answer_release(&answer);
}
END_TEST

static void *compile_in_thread(void *argument)
{
    dllm_compile_answer answer;
    const dllm_helper_end end = compile_by(&answer, REAL_HELPER, PATIENT_MS, argument);
    const bool right = end == DLLM_HELPER_ANSWERED && report_has(&answer, "program program.cu\n");
    dllm__answer_release(&answer);
    return right ? argument : NULL;
}

START_TEST(threads_compile_at_once_with_a_helper_each)
{
    enum { THREADS = 6 };
    static char text[] = "int a;";
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_in_thread, text), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_eq(result, text);
    }
}
END_TEST

static int inheritable_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++) {
        const int flags = fcntl(i, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

static void *count_inheritable_soon(void *argument)
{
    const struct timespec moment = {0, 100000000};
    (void)nanosleep(&moment, NULL);
    *(int *)argument = inheritable_descriptors();
    return NULL;
}

/* A child that the host makes meanwhile must not hold the channel open. */
START_TEST(channel_is_not_inherited_by_other_children)
{
    const int before = inheritable_descriptors();
    int meanwhile = -1;
    pthread_t thread;
    dllm_compile_answer answer;
    ck_assert_int_eq(pthread_create(&thread, NULL, count_inheritable_soon, &meanwhile), 0);
    ck_assert_int_eq(compile_by(&answer, REAL_HELPER, PATIENT_MS, "FAKE_TAKES_SIGNALS"),
                     DLLM_HELPER_ANSWERED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(meanwhile, before);
    dllm__answer_release(&answer);
}
END_TEST

/* Standard descriptors are closed in many daemons; the socket pair then takes their numbers. */
START_TEST(host_without_standard_descriptors_gets_its_answer)
{
    dllm_compile_answer answer;
    const int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    ck_assert_int_ge(saved, 0);
    ck_assert_int_eq(close(STDIN_FILENO), 0);
    const dllm_helper_end end = compile_by(&answer, REAL_HELPER, PATIENT_MS, "int a;");
    ck_assert_int_eq(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(close(saved), 0);
    ck_assert_int_eq(end, DLLM_HELPER_ANSWERED);
    dllm__answer_release(&answer);
}
END_TEST

static void add_faults(Suite *suite)
{
    TCase *group = tcase_create("faults");
    tcase_add_checked_fixture(group, make_folder, remove_folder);
    tcase_add_loop_test(group, fault_ends_with_its_reason_and_leaves_nothing_behind, 0, FAULTS);
    tcase_add_test(group, path_without_a_program_is_not_started);
    tcase_add_test(group, compiler_that_aborts_kills_the_helper_alone);
    tcase_add_test(group, compiler_that_hangs_is_killed_in_time);
    tcase_add_test(group, cancelled_compile_ends_at_once);
    suite_add_tcase(suite, group);
}

static void add_host(Suite *suite)
{
    TCase *group = tcase_create("host");
    tcase_add_checked_fixture(group, make_folder, remove_folder);
    tcase_add_test(group, termination_during_a_compile_reaches_the_hosts_handler);
    tcase_add_test(group, host_that_ignores_children_gets_its_answer);
    tcase_add_test(group, host_that_reaps_every_child_gets_its_answer);
    tcase_add_test(group, other_children_of_the_host_are_left_alone);
    tcase_add_test(group, threads_compile_at_once_with_a_helper_each);
    tcase_add_test(group, channel_is_not_inherited_by_other_children);
    tcase_add_test(group, host_without_standard_descriptors_gets_its_answer);
    suite_add_tcase(suite, group);
}

int main(void)
{
    Suite *suite = suite_create("helper_process");
    TCase *group = tcase_create("answers");
    tcase_add_test(group, cubin_comes_back_with_what_was_sent);
    tcase_add_test(group, compile_error_is_an_answer_with_its_log);
    tcase_add_test(group, empty_cubin_is_a_failed_compile);
    tcase_add_test(group, library_that_cannot_be_opened_is_an_answer);
    tcase_add_test(group, large_text_passes);
    suite_add_tcase(suite, group);
    group = tcase_create("process");
    tcase_add_test(group, helper_is_another_process_with_default_signals_and_no_core);
    tcase_add_test(group, helper_sees_no_variable_but_the_library_path);
    tcase_add_test(group, helper_holds_none_of_our_descriptors);
    suite_add_tcase(suite, group);
    add_faults(suite);
    add_host(suite);
    return check_suite_run(suite);
}
