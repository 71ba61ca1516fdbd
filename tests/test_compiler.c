/* test_compiler.c - which compiler is taken, by which way it compiles, and the words for its failures */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_suite.h"
#include "compiler.h"
#include "fake_memory.h"
#include "scratch.h"
#include "status.h"

#define REAL_HELPER DLLM_BINARY_DIR "/dllm-jit"
#define FAKE(name) DLLM_BINARY_DIR "/tests/lib" name ".so"

enum { PATIENT_MS = 60000, SHORT_MS = 3000 };

static char folder[SCRATCH_BYTES];
static char lines[8192]; /* what was logged, a line each */
static dllm_compiler *compiler;

static void take_line(void *user, const char *line)
{
    (void)user;
    const size_t used = strlen(lines);
    (void)snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static void make(const char *jit, const char *library, const char *cache_folder)
{
    const dllm_log log = {take_line, NULL};
    ck_assert_int_eq(setenv("DLLM_NVRTC", library, 1), 0);
    ck_assert_int_eq(setenv("DLLM_JIT", jit, 1), 0);
    ck_assert_int_eq(dllm__compiler_create(&compiler, cache_folder, &log), DLLM_OK);
    if (strcmp(jit, "helper") == 0)
        ck_assert_int_eq(dllm__compiler_use_helper(compiler, REAL_HELPER, PATIENT_MS), DLLM_OK);
}

static void remake(const char *jit, const char *library, const char *cache_folder)
{
    dllm__compiler_destroy(compiler);
    compiler = NULL;
    make(jit, library, cache_folder);
}

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

static void set_up(void)
{
    scratch_make(folder);
    ck_assert_int_eq(setenv("DLLM_KERNEL_DIR", folder, 1), 0);
    scratch_write(folder, "good.cu", "#include \"good.cuh\"\nint good;");
    scratch_write(folder, "good.cuh", "int header;");
    lines[0] = '\0';
    only_older = false;
    compiler = NULL;
}

static void tear_down(void)
{
    dllm__compiler_destroy(compiler);
    ck_assert_int_eq(unsetenv("DLLM_NVRTC"), 0);
    ck_assert_int_eq(unsetenv("DLLM_JIT"), 0);
    ck_assert_int_eq(unsetenv("DLLM_KERNEL_DIR"), 0);
    scratch_remove(folder);
}

static dllm_kernel_spec spec_of(const char *file)
{
    dllm_kernel_spec spec = {.file = file, .entry = "kernel", .arch = "sm_80"};
    dllm__kernel_define(&spec, "DLLM_B", 2);
    dllm__kernel_define(&spec, "DLLM_A", 1);
    return spec;
}

static dllm_status compile(dllm_compiled *out, const char *file)
{
    const dllm_kernel_spec spec = spec_of(file);
    return dllm__compile(out, compiler, &spec);
}

static void expect_failure(const char *file, dllm_status status, const char *message)
{
    dllm_compiled compiled;
    const dllm_status got = compile(&compiled, file);
    ck_assert_msg(got == status, "%d: %s", (int)got, dllm_last_error());
    ck_assert_msg(strstr(dllm_last_error(), message) != NULL, "%s", dllm_last_error());
    ck_assert_ptr_null(compiled.cubin);
}

/* ---- ways to compile */

static const char *const ways[] = {"helper", "inproc"};

START_TEST(kernel_is_compiled_with_its_options_and_headers)
{
    dllm_compiled compiled;
    make(ways[_i], FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(compile(&compiled, "good.cu"), DLLM_OK);
    const char *report = (const char *)compiled.cubin;
    ck_assert_str_eq(compiled.build, "13.9.42");
    ck_assert_str_eq(compiled.log, "");
    ck_assert_ptr_nonnull(strstr(report, "option --gpu-architecture=sm_80\n"));
    ck_assert_ptr_nonnull(strstr(report, "option -DDLLM_A=1\noption -DDLLM_B=2\n"));
    ck_assert_ptr_nonnull(strstr(report, "option -no-source-include\n"));
    ck_assert_ptr_nonnull(strstr(report, "program good.cu\nheader good.cuh\ntext int header;\n"));
    dllm__compiled_release(&compiled);
    ck_assert_ptr_null(compiled.cubin);
}
END_TEST

START_TEST(both_ways_give_equal_bytes)
{
    dllm_compiled compiled[2];
    for (int i = 0; i < 2; i++) {
        remake(ways[i], FAKE("fake_nvrtc"), NULL);
        ck_assert_int_eq(compile(&compiled[i], "good.cu"), DLLM_OK);
    }
    ck_assert_uint_eq(compiled[0].cubin_bytes, compiled[1].cubin_bytes);
    ck_assert_mem_eq(compiled[0].cubin, compiled[1].cubin, compiled[0].cubin_bytes);
    for (int i = 0; i < 2; i++)
        dllm__compiled_release(&compiled[i]);
}
END_TEST

START_TEST(helper_that_does_not_start_leaves_the_compile_to_this_process)
{
    static const char *const paths[] = {"/no/such/dllm-jit", "/bin/true", "/etc/passwd"};
    dllm_compiled compiled;
    make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, paths[_i], PATIENT_MS), DLLM_OK);
    ck_assert_int_eq(compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_ptr_nonnull(strstr(lines, paths[_i]));
    ck_assert_ptr_nonnull(strstr(lines, "compiling in this process"));
    dllm__compiled_release(&compiled);
}
END_TEST

START_TEST(compiler_without_the_no_cache_option_is_served)
{
    dllm_compiled compiled;
    make(ways[_i], FAKE("fake_nvrtc_12"), NULL);
    ck_assert_int_eq(compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_str_eq(compiled.build, "12.3.7");
    ck_assert_ptr_null(strstr((const char *)compiled.cubin, "-no-cache"));
    ck_assert_ptr_nonnull(strstr((const char *)compiled.cubin, "option -default-device\n"));
    dllm__compiled_release(&compiled);
}
END_TEST

/* ---- failures */

START_TEST(compile_error_names_file_line_and_first_error)
{
    make(ways[_i], FAKE("fake_nvrtc"), NULL);
    scratch_write(folder, "bad.cu", "FAKE_ERROR");
    expect_failure("bad.cu", DLLM_COMPILE_FAILED,
                   "program.cu(3): error: identifier \"zz\" is undefined (compiling bad.cu with "
                   "--gpu-architecture=sm_80)");
    ck_assert_ptr_null(strstr(dllm_last_error(), "another"));
    ck_assert_ptr_nonnull(strstr(lines, "program.cu(4): error: another\n"));
}
END_TEST

START_TEST(compile_without_a_cubin_fails)
{
    make(ways[_i], FAKE("fake_nvrtc"), NULL);
    scratch_write(folder, "empty.cu", "FAKE_EMPTY");
    expect_failure("empty.cu", DLLM_COMPILE_FAILED, "empty.cu: NVRTC 13.9 made no cubin");
}
END_TEST

START_TEST(unknown_kernel_is_unsupported)
{
    make("inproc", FAKE("fake_nvrtc"), NULL);
    expect_failure("gone.cu", DLLM_UNSUPPORTED, "gone.cu");
}
END_TEST

START_TEST(compiler_that_crashes_fails_the_compile_and_serves_the_next)
{
    dllm_compiled compiled;
    make("helper", FAKE("fake_nvrtc"), NULL);
    scratch_write(folder, "crash.cu", "FAKE_ABORT");
    expect_failure("crash.cu", DLLM_COMPILE_FAILED, "died of signal 6");
    ck_assert_int_eq(compile(&compiled, "good.cu"), DLLM_OK);
    dllm__compiled_release(&compiled);
}
END_TEST

/** A helper that goes wrong in the way that its name says. */
static void use_fake_helper(const char *mode)
{
    char path[2 * SCRATCH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, mode);
    ck_assert_int_eq(symlink(DLLM_BINARY_DIR "/tests/fake_jit", path), 0);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, path, PATIENT_MS), DLLM_OK);
}

START_TEST(helper_that_dies_once_is_tried_again)
{
    dllm_compiled compiled;
    make("helper", FAKE("fake_nvrtc"), NULL);
    use_fake_helper("aborts_once");
    ck_assert_int_eq(compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_ptr_nonnull(strstr(lines, "aborts_once died of signal 6 while compiling; trying"));
    ck_assert_str_eq(compiled.build, "13.9.42");
    dllm__compiled_release(&compiled);
}
END_TEST

START_TEST(helper_that_dies_during_the_probe_is_no_missing_compiler)
{
    char build[32];
    make("helper", FAKE("fake_nvrtc"), folder);
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
    make("helper", FAKE("fake_nvrtc"), NULL);
    scratch_write(folder, "bad.cu", "FAKE_ERROR");
    scratch_write(folder, "empty.cu", "FAKE_EMPTY");
    scratch_write(folder, "crash.cu", "FAKE_ABORT");
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        (void)compile(&compiled, sources[i].file);
        ck_assert_msg(compiled.rejected == sources[i].rejected, "%s", sources[i].file);
        dllm__compiled_release(&compiled);
    }
}
END_TEST

START_TEST(every_failing_allocation_is_lack_of_memory_and_passes)
{
    static const char *const libraries[] = {FAKE("fake_nvrtc"), FAKE("fake_nvrtc_12")};
    int failures = 0;
    make(ways[_i % 2], libraries[_i / 2], NULL);
    for (int n = 1; n < 1000; n++) {
        dllm_compiled compiled;
        fake_memory_fail_allocation(n);
        const dllm_status status = compile(&compiled, "good.cu");
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
    make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, REAL_HELPER, SHORT_MS), DLLM_OK);
    scratch_write(folder, "hang.cu", "FAKE_HANG");
    expect_failure("hang.cu", DLLM_COMPILE_FAILED, "hang.cu: " REAL_HELPER " gave no answer");
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
    make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    scratch_write(folder, "hang.cu", "FAKE_HANG");
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    expect_failure("hang.cu", DLLM_COMPILE_FAILED, "hang.cu: the compile was cancelled");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_failure("good.cu", DLLM_COMPILE_FAILED, "cancelled");
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
    make(absences[_i].jit, absences[_i].library, folder);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_LIBRARY_MISSING);
        ck_assert_msg(strstr(dllm_last_error(), absences[_i].message) != NULL, "%s",
                      dllm_last_error());
        expect_failure("good.cu", DLLM_LIBRARY_MISSING, absences[_i].message);
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
    make("inproc", "", NULL);
    only_older = true;
    dllm__clear_error();
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "12.3.7");
    ck_assert_str_eq(dllm_last_error(), "");
}
END_TEST

/* The build puts a link to the helper beside the tests, which hold the library's code themselves. */
START_TEST(helper_is_found_beside_the_program)
{
    const dllm_log log = {take_line, NULL};
    static dllm_compiler_description description;
    char *real = realpath(REAL_HELPER, NULL);
    ck_assert_ptr_nonnull(real);
    ck_assert_int_eq(setenv("DLLM_NVRTC", FAKE("fake_nvrtc"), 1), 0);
    ck_assert_int_eq(dllm__compiler_create(&compiler, NULL, &log), DLLM_OK);
    dllm__compiler_describe(&description, compiler);
    ck_assert_str_eq(description.helper, real);
    ck_assert_str_eq(description.helper_reason, "");
    free(real);
}
END_TEST

START_TEST(unknown_way_is_logged_and_taken_as_helper)
{
    static dllm_compiler_description description;
    make("hlper", FAKE("fake_nvrtc"), NULL);
    dllm__compiler_describe(&description, compiler);
    ck_assert_str_eq(description.mode, "helper");
    ck_assert_ptr_nonnull(strstr(lines, "DLLM_JIT is \"hlper\""));
}
END_TEST

/* ---- the build's memory */

/* With the same folder, a library that can no longer compile still has its name: no probe was made. */
START_TEST(remembered_build_needs_no_compile)
{
    char build[32];
    static dllm_compiler_description description;
    make("helper", FAKE("fake_nvrtc"), folder);
    dllm__compiler_describe(&description, compiler);
    ck_assert(!description.remembered);
    ck_assert_str_eq(description.build, "13.9.42");
    ck_assert_str_eq(description.version, "13.9");
    ck_assert_str_eq(description.library, FAKE("fake_nvrtc"));
    ck_assert_str_eq(description.helper, REAL_HELPER);
    remake("helper", FAKE("fake_nvrtc"), folder);
    dllm__compiler_cancel(compiler); /* from here on any compile would fail */
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "13.9.42");
    ck_assert_int_eq(dllm__compiler_probe(compiler, build), DLLM_COMPILE_FAILED);
}
END_TEST

START_TEST(folder_that_takes_no_memory_is_logged_and_done_without)
{
    char build[32];
    make("inproc", FAKE("fake_nvrtc"), "/proc/no_such_folder");
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "13.9.42");
    dllm__compiler_destroy(compiler);
    compiler = NULL;
    ck_assert_ptr_nonnull(strstr(lines, "build 13.9.42 is not remembered: /proc/no_such_folder"));
}
END_TEST

/* The first kernel stored makes the cache folder, and that is after the build was learned. */
START_TEST(folder_made_later_is_remembered_in)
{
    char late[2 * SCRATCH_BYTES];
    static dllm_compiler_description description;
    (void)snprintf(late, sizeof late, "%s/late", folder);
    make("inproc", FAKE("fake_nvrtc"), late);
    dllm__compiler_describe(&description, compiler);
    ck_assert_int_eq(mkdir(late, 0700), 0);
    remake("inproc", FAKE("fake_nvrtc"), late);
    dllm__compiler_describe(&description, compiler);
    ck_assert(description.remembered);
    ck_assert_str_eq(lines, "");
}
END_TEST

/* ---- threads, and the real compiler */

static void *compile_in_thread(void *file)
{
    dllm_compiled compiled;
    const dllm_status status = compile(&compiled, file);
    dllm__compiled_release(&compiled);
    return status == DLLM_OK ? file : NULL;
}

START_TEST(threads_share_a_compiler)
{
    enum { THREADS = 6 };
    static char file[] = "good.cu";
    pthread_t threads[THREADS];
    make(ways[_i], FAKE("fake_nvrtc"), folder);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_in_thread, file), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_eq(result, file);
    }
}
END_TEST

/* On a machine without NVRTC this shows what its absence looks like instead. */
START_TEST(real_compiler_makes_equal_cubins_both_ways)
{
    dllm_compiled compiled[2];
    scratch_write(folder, "real.cu",
                  "extern \"C\" __global__ void kernel(float *x)"
                  "{ x[threadIdx.x] *= DLLM_B; }\n");
    for (int i = 0; i < 2; i++) {
        remake(ways[i], "", NULL);
        const dllm_status status = compile(&compiled[i], "real.cu");
        if (status == DLLM_LIBRARY_MISSING) {
            ck_assert_ptr_nonnull(strstr(dllm_last_error(), "libnvrtc.so.12"));
            return;
        }
        ck_assert_msg(status == DLLM_OK, "%s", dllm_last_error());
    }
    ck_assert_uint_eq(compiled[0].cubin_bytes, compiled[1].cubin_bytes);
    ck_assert_mem_eq(compiled[0].cubin, compiled[1].cubin, compiled[0].cubin_bytes);
    ck_assert_mem_eq(compiled[0].cubin, "\177ELF", 4);
    for (int i = 0; i < 2; i++)
        dllm__compiled_release(&compiled[i]);
}
END_TEST

static TCase *group_of(Suite *suite, const char *name)
{
    TCase *group = tcase_create(name);
    tcase_add_checked_fixture(group, set_up, tear_down);
    suite_add_tcase(suite, group);
    return group;
}

int main(void)
{
    Suite *suite = suite_create("compiler");
    TCase *group = group_of(suite, "ways");
    tcase_add_loop_test(group, kernel_is_compiled_with_its_options_and_headers, 0, 2);
    tcase_add_test(group, both_ways_give_equal_bytes);
    tcase_add_loop_test(group, helper_that_does_not_start_leaves_the_compile_to_this_process, 0, 3);
    tcase_add_loop_test(group, compiler_without_the_no_cache_option_is_served, 0, 2);
    group = group_of(suite, "failures");
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
    group = group_of(suite, "absence");
    tcase_add_loop_test(group, missing_compiler_is_said_once_and_again, 0, ABSENCES);
    tcase_add_test(group, older_compiler_that_is_found_leaves_no_message);
    tcase_add_test(group, helper_is_found_beside_the_program);
    tcase_add_test(group, unknown_way_is_logged_and_taken_as_helper);
    group = group_of(suite, "memory");
    tcase_add_test(group, remembered_build_needs_no_compile);
    tcase_add_test(group, folder_that_takes_no_memory_is_logged_and_done_without);
    tcase_add_test(group, folder_made_later_is_remembered_in);
    group = group_of(suite, "work");
    tcase_add_loop_test(group, threads_share_a_compiler, 0, 2);
    tcase_add_test(group, real_compiler_makes_equal_cubins_both_ways);
    return check_suite_run(suite);
}
