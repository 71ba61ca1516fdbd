/* test_compiler_failures.c - what a compile that fails is called, and a machine without a compiler */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_suite.h"
#include "compiler_fixture.h"
#include "fake_memory.h"
#include "status.h"

enum { SHORT_MS = 3000 };

/* ---- a machine with the older compiler alone */

static bool only_older;

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
void *__real_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags);

void *__wrap_dlopen(const char *file, int flags)
{
    if (only_older && strcmp(file, "libnvrtc.so.13") == 0) file = "/no/such/libnvrtc.so.13";
    if (only_older && strcmp(file, "libnvrtc.so.12") == 0) file = FAKE("fake_nvrtc_12");
    return __real_dlopen(file, flags);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- failures */

START_TEST(compile_error_names_file_line_and_first_error)
{
    compiler_make(compiler_ways[_i], FAKE("fake_nvrtc"), NULL);
    scratch_write(compiler_folder, "bad.cu", "FAKE_ERROR");
    compiler_expect_failure(
        "bad.cu", DLLM_COMPILE_FAILED,
        "program.cu(3): error: identifier \"zz\" is undefined (compiling bad.cu with "
        "--gpu-architecture=sm_80)");
    ck_assert_ptr_null(strstr(dllm_last_error(), "another"));
    ck_assert_ptr_nonnull(strstr(compiler_lines, "program.cu(4): error: another\n"));
}
END_TEST

START_TEST(compile_without_a_cubin_fails)
{
    compiler_make(compiler_ways[_i], FAKE("fake_nvrtc"), NULL);
    scratch_write(compiler_folder, "empty.cu", "FAKE_EMPTY");
    compiler_expect_failure("empty.cu", DLLM_COMPILE_FAILED, "empty.cu: NVRTC 13.9 made no cubin");
}
END_TEST

START_TEST(unknown_kernel_is_unsupported)
{
    compiler_make("inproc", FAKE("fake_nvrtc"), NULL);
    compiler_expect_failure("gone.cu", DLLM_UNSUPPORTED, "gone.cu");
}
END_TEST

START_TEST(compiler_that_crashes_fails_the_compile_and_serves_the_next)
{
    dllm_compiled compiled;
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    scratch_write(compiler_folder, "crash.cu", "FAKE_ABORT");
    compiler_expect_failure("crash.cu", DLLM_COMPILE_FAILED, "died of signal 6");
    ck_assert_int_eq(compiler_compile(&compiled, "good.cu"), DLLM_OK);
    dllm__compiled_release(&compiled);
}
END_TEST

/** A helper that goes wrong in the way that its name says. */
static void use_fake_helper(const char *mode)
{
    char path[2 * SCRATCH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", compiler_folder, mode);
    ck_assert_int_eq(symlink(DLLM_BINARY_DIR "/tests/fake_jit", path), 0);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, path, PATIENT_MS), DLLM_OK);
}

START_TEST(helper_that_dies_once_is_tried_again)
{
    dllm_compiled compiled;
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    use_fake_helper("aborts_once");
    ck_assert_int_eq(compiler_compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_ptr_nonnull(
        strstr(compiler_lines, "aborts_once died of signal 6 while compiling; trying"));
    ck_assert_str_eq(compiled.build, "13.9.42");
    dllm__compiled_release(&compiled);
}
END_TEST

START_TEST(helper_that_dies_during_the_probe_is_no_missing_compiler)
{
    char build[32];
    compiler_make("helper", FAKE("fake_nvrtc"), compiler_folder);
    use_fake_helper("aborts");
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_COMPILE_FAILED);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, REAL_HELPER, PATIENT_MS), DLLM_OK);
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "13.9.42");
}
END_TEST

/* Only the compiler's own no is final: what died may be well tomorrow. */
START_TEST(verdict_is_told_from_an_accident)
{
    static const struct {
        const char *file;
        bool rejected;
    } sources[] = {{"bad.cu", true}, {"empty.cu", true}, {"crash.cu", false}, {"good.cu", false}};
    dllm_compiled compiled;
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    scratch_write(compiler_folder, "bad.cu", "FAKE_ERROR");
    scratch_write(compiler_folder, "empty.cu", "FAKE_EMPTY");
    scratch_write(compiler_folder, "crash.cu", "FAKE_ABORT");
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        (void)compiler_compile(&compiled, sources[i].file);
        ck_assert_msg(compiled.rejected == sources[i].rejected, "%s", sources[i].file);
        dllm__compiled_release(&compiled);
    }
}
END_TEST

START_TEST(every_failing_allocation_is_lack_of_memory_and_passes)
{
    static const char *const libraries[] = {FAKE("fake_nvrtc"), FAKE("fake_nvrtc_12")};
    int failures = 0;
    compiler_make(compiler_ways[_i % 2], libraries[_i / 2], NULL);
    for (int n = 1; n < 1000; n++) {
        dllm_compiled compiled;
        fake_memory_fail_allocation(n);
        const dllm_status status = compiler_compile(&compiled, "good.cu");
        const bool reached = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        ck_assert_msg(status == DLLM_OK || status == DLLM_OUT_OF_MEMORY, "%d, %d: %s", n,
                      (int)status, dllm_last_error());
        ck_assert(!compiled.rejected);
        dllm__compiled_release(&compiled);
        failures += status != DLLM_OK;
        if (!reached) break;
    }
    ck_assert_int_ge(failures, 4); /* sources, the probe's answer, log, cubin */
    ck_assert_int_lt(failures, 100);
}
END_TEST

START_TEST(compiler_that_hangs_fails_the_compile_in_time)
{
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, REAL_HELPER, SHORT_MS), DLLM_OK);
    scratch_write(compiler_folder, "hang.cu", "FAKE_HANG");
    compiler_expect_failure("hang.cu", DLLM_COMPILE_FAILED,
                            "hang.cu: " REAL_HELPER " gave no answer");
}
END_TEST

static void *cancel_soon(void *argument)
{
    ck_assert_int_eq(usleep(100000), 0);
    dllm__compiler_cancel(compiler);
    return argument;
}

START_TEST(cancelled_compiler_fails_what_runs_and_what_follows)
{
    char build[32];
    pthread_t thread;
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    scratch_write(compiler_folder, "hang.cu", "FAKE_HANG");
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    compiler_expect_failure("hang.cu", DLLM_COMPILE_FAILED, "hang.cu: the compile was cancelled");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    compiler_expect_failure("good.cu", DLLM_COMPILE_FAILED, "cancelled");
}
END_TEST

/* ---- no compiler */

static const struct {
    const char *jit;
    const char *library;
    const char *message;
} absences[] = {
    {"off", FAKE("fake_nvrtc"), "DLLM_JIT=off"},
    {"helper", "/no/such/libnvrtc.so", "/no/such/libnvrtc.so"},
    {"inproc", "/no/such/libnvrtc.so", "/no/such/libnvrtc.so"},
    {"helper", "libm.so.6", "libm.so.6 has no function nvrtcVersion"},
    {"helper", FAKE("fake_nvrtc_no_builtins"), "failed to open libnvrtc-builtins.so"},
    {"inproc", FAKE("fake_nvrtc_no_builtins"),
     "answered 7 (NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)"},
};

enum { ABSENCES = sizeof absences / sizeof absences[0] };

START_TEST(missing_compiler_is_said_once_and_again)
{
    static dllm_compiler_description description;
    char build[32];
    compiler_make(absences[_i].jit, absences[_i].library, compiler_folder);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_LIBRARY_MISSING);
        ck_assert_msg(strstr(dllm_last_error(), absences[_i].message) != NULL, "%s",
                      dllm_last_error());
        compiler_expect_failure("good.cu", DLLM_LIBRARY_MISSING, absences[_i].message);
    }
    dllm__compiler_describe(&description, compiler);
    ck_assert_int_eq(description.status, DLLM_LIBRARY_MISSING);
    ck_assert_str_eq(description.mode, absences[_i].jit);
    ck_assert_ptr_nonnull(strstr(description.reason, absences[_i].message));
    ck_assert_str_eq(dllm_last_error(), "");
}
END_TEST

START_TEST(older_compiler_that_is_found_leaves_no_message)
{
    char build[32];
    compiler_make("inproc", "", NULL);
    only_older = true;
    dllm__clear_error();
    const dllm_status status = dllm__compiler_build(compiler, build);
    only_older = false;
    ck_assert_int_eq(status, DLLM_OK);
    ck_assert_str_eq(build, "12.3.7");
    ck_assert_str_eq(dllm_last_error(), "");
}
END_TEST

/* The build puts a link to the helper beside the tests, which hold the library's code themselves. */
START_TEST(helper_is_found_beside_the_program)
{
    static dllm_compiler_description description;
    char *real = realpath(REAL_HELPER, NULL);
    ck_assert_ptr_nonnull(real);
    ck_assert_int_eq(setenv("DLLM_NVRTC", FAKE("fake_nvrtc"), 1), 0);
    ck_assert_int_eq(dllm__compiler_create(&compiler, NULL, &compiler_log), DLLM_OK);
    dllm__compiler_describe(&description, compiler);
    ck_assert_str_eq(description.helper, real);
    ck_assert_str_eq(description.helper_reason, "");
    free(real);
}
END_TEST

START_TEST(unknown_way_is_logged_and_taken_as_helper)
{
    static dllm_compiler_description description;
    compiler_make("hlper", FAKE("fake_nvrtc"), NULL);
    dllm__compiler_describe(&description, compiler);
    ck_assert_str_eq(description.mode, "helper");
    ck_assert_ptr_nonnull(strstr(compiler_lines, "DLLM_JIT is \"hlper\""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compiler_failures");
    TCase *group = compiler_group(suite, "failures");
    tcase_add_loop_test(group, compile_error_names_file_line_and_first_error, 0, 2);
    tcase_add_loop_test(group, compile_without_a_cubin_fails, 0, 2);
    tcase_add_test(group, unknown_kernel_is_unsupported);
    tcase_add_test(group, compiler_that_crashes_fails_the_compile_and_serves_the_next);
    tcase_add_test(group, helper_that_dies_once_is_tried_again);
    tcase_add_test(group, helper_that_dies_during_the_probe_is_no_missing_compiler);
    tcase_add_test(group, verdict_is_told_from_an_accident);
    tcase_add_loop_test(group, every_failing_allocation_is_lack_of_memory_and_passes, 0, 4);
    tcase_add_test(group, compiler_that_hangs_fails_the_compile_in_time);
    tcase_add_test(group, cancelled_compiler_fails_what_runs_and_what_follows);
    group = compiler_group(suite, "absence");
    tcase_add_loop_test(group, missing_compiler_is_said_once_and_again, 0, ABSENCES);
    tcase_add_test(group, older_compiler_that_is_found_leaves_no_message);
    tcase_add_test(group, helper_is_found_beside_the_program);
    tcase_add_test(group, unknown_way_is_logged_and_taken_as_helper);
    return check_suite_run(suite);
}
