/* test_compiler.c - by which way a compiler works, what is remembered of it, threads that share it */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "check_suite.h"
#include "compiler_fixture.h"

/* ---- ways to compile */

START_TEST(kernel_is_compiled_with_its_options_and_headers)
{
    dllm_compiled compiled;
    compiler_make(compiler_ways[_i], FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(compiler_compile(&compiled, "good.cu"), DLLM_OK);
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
        compiler_remake(compiler_ways[i], FAKE("fake_nvrtc"), NULL);
        ck_assert_int_eq(compiler_compile(&compiled[i], "good.cu"), DLLM_OK);
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
    compiler_make("helper", FAKE("fake_nvrtc"), NULL);
    ck_assert_int_eq(dllm__compiler_use_helper(compiler, paths[_i], PATIENT_MS), DLLM_OK);
    ck_assert_int_eq(compiler_compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_ptr_nonnull(strstr(compiler_lines, paths[_i]));
    ck_assert_ptr_nonnull(strstr(compiler_lines, "compiling in this process"));
    dllm__compiled_release(&compiled);
}
END_TEST

START_TEST(compiler_without_the_no_cache_option_is_served)
{
    dllm_compiled compiled;
    compiler_make(compiler_ways[_i], FAKE("fake_nvrtc_12"), NULL);
    ck_assert_int_eq(compiler_compile(&compiled, "good.cu"), DLLM_OK);
    ck_assert_str_eq(compiled.build, "12.3.7");
    ck_assert_ptr_null(strstr((const char *)compiled.cubin, "-no-cache"));
    ck_assert_ptr_nonnull(strstr((const char *)compiled.cubin, "option -default-device\n"));
    dllm__compiled_release(&compiled);
}
END_TEST

/* ---- the build's memory */

/* With the same folder, a library that can no longer compile still has its name: no probe was made. */
START_TEST(remembered_build_needs_no_compile)
{
    char build[32];
    static dllm_compiler_description description;
    compiler_make("helper", FAKE("fake_nvrtc"), compiler_folder);
    dllm__compiler_describe(&description, compiler);
    ck_assert(!description.remembered);
    ck_assert_str_eq(description.build, "13.9.42");
    ck_assert_str_eq(description.version, "13.9");
    ck_assert_str_eq(description.library, FAKE("fake_nvrtc"));
    ck_assert_str_eq(description.helper, REAL_HELPER);
    compiler_remake("helper", FAKE("fake_nvrtc"), compiler_folder);
    dllm__compiler_cancel(compiler); /* from here on any compile would fail */
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "13.9.42");
    ck_assert_int_eq(dllm__compiler_probe(compiler, build), DLLM_COMPILE_FAILED);
}
END_TEST

START_TEST(folder_that_takes_no_memory_is_logged_and_done_without)
{
    char build[32];
    compiler_make("inproc", FAKE("fake_nvrtc"), "/proc/no_such_folder");
    ck_assert_int_eq(dllm__compiler_build(compiler, build), DLLM_OK);
    ck_assert_str_eq(build, "13.9.42");
    dllm__compiler_destroy(compiler);
    compiler = NULL;
    ck_assert_ptr_nonnull(
        strstr(compiler_lines, "build 13.9.42 is not remembered: /proc/no_such_folder"));
}
END_TEST

/* The first kernel stored makes the cache folder, and that is after the build was learned. */
START_TEST(folder_made_later_is_remembered_in)
{
    char late[2 * SCRATCH_BYTES];
    static dllm_compiler_description description;
    (void)snprintf(late, sizeof late, "%s/late", compiler_folder);
    compiler_make("inproc", FAKE("fake_nvrtc"), late);
    dllm__compiler_describe(&description, compiler);
    ck_assert_int_eq(mkdir(late, 0700), 0);
    compiler_remake("inproc", FAKE("fake_nvrtc"), late);
    dllm__compiler_describe(&description, compiler);
    ck_assert(description.remembered);
    ck_assert_str_eq(compiler_lines, "");
}
END_TEST

/* ---- threads, and the real compiler */

static void *compile_in_thread(void *file)
{
    dllm_compiled compiled;
    const dllm_status status = compiler_compile(&compiled, file);
    dllm__compiled_release(&compiled);
    return status == DLLM_OK ? file : NULL;
}

START_TEST(threads_share_a_compiler)
{
    enum { THREADS = 6 };
    static char file[] = "good.cu";
    pthread_t threads[THREADS];
    compiler_make(compiler_ways[_i], FAKE("fake_nvrtc"), compiler_folder);
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
    scratch_write(compiler_folder, "real.cu",
                  "extern \"C\" __global__ void kernel(float *x)"
                  "{ x[threadIdx.x] *= DLLM_B; }\n");
    for (int i = 0; i < 2; i++) {
        compiler_remake(compiler_ways[i], "", NULL);
        const dllm_status status = compiler_compile(&compiled[i], "real.cu");
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

int main(void)
{
    Suite *suite = suite_create("compiler");
    TCase *group = compiler_group(suite, "ways");
    tcase_add_loop_test(group, kernel_is_compiled_with_its_options_and_headers, 0, 2);
    tcase_add_test(group, both_ways_give_equal_bytes);
    tcase_add_loop_test(group, helper_that_does_not_start_leaves_the_compile_to_this_process, 0, 3);
    tcase_add_loop_test(group, compiler_without_the_no_cache_option_is_served, 0, 2);
    group = compiler_group(suite, "memory");
    tcase_add_test(group, remembered_build_needs_no_compile);
    tcase_add_test(group, folder_that_takes_no_memory_is_logged_and_done_without);
    tcase_add_test(group, folder_made_later_is_remembered_in);
    group = compiler_group(suite, "work");
    tcase_add_loop_test(group, threads_share_a_compiler, 0, 2);
    tcase_add_test(group, real_compiler_makes_equal_cubins_both_ways);
    return check_suite_run(suite);
}
