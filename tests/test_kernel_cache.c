/* test_kernel_cache.c - memory, disk, compiler, in that order; whatever is bad, the call succeeds */
#include "check_suite.h"

#include "entry_store.h"
#include "fake_compiler.h"
#include "fake_memory.h"
#include "kernel_fixture.h"
#include "status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MORE_SHARED_BYTES = 200 << 10 };

/* ---- layers */

START_TEST(first_request_compiles_and_stores)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    const dllm_statistics s = kernel_fixture_statistics(&f);
    ck_assert_uint_eq(s.compiled, 1);
    ck_assert_uint_eq(s.loaded_compiled, 1);
    ck_assert_uint_eq(s.stored, 1);
    ck_assert_uint_eq(s.store_failures + s.loaded_disk + s.loaded_memory + s.quarantined, 0);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(second_request_is_served_from_memory)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    const dllm_cu_function first = f.function;
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_MEMORY, false);
    ck_assert_ptr_eq(f.function, first);
    ck_assert_int_eq(fake_driver_calls_of("cuModuleLoadData"), 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).loaded_memory, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(second_process_compiles_nothing)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_int_eq(kernel_fixture_compiles(), 0);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).loaded_disk, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(no_disk_neither_reads_nor_writes)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).store_failures, 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    ck_assert_int_eq(kernel_fixture_compiles(), 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(cache_only_never_asks_the_compiler)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_NOT_CACHED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "head_test.cu"));
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), f.folder.folder));
    ck_assert_int_eq(kernel_fixture_compiles() + atomic_load(&fake_compiler.builds_asked), 0);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(cold_and_without_compiler_names_what_was_looked_for)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = NULL;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_LIBRARY_MISSING);
    ck_assert_str_eq(dllm_last_error(), "no compiler: looked for libfake.so.13, libfake.so.12");
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- builds */

START_TEST(without_compiler_any_build_is_used)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    fake_compiler.build = NULL;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_str_eq(dllm_last_error(), "");
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(cache_only_accepts_any_build)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(two_compilers_in_turn_compile_once_each)
{
    static const char *const builds[] = {"13.0.88", "12.9.86"};
    kernel_fixture f;
    kernel_fixture_make(&f);
    for (int round = 0; round < 4; round++) {
        kernel_fixture_restart(&f);
        fake_compiler.build = builds[round % 2];
        ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
        ck_assert_int_eq(kernel_fixture_compiles(), round < 2);
    }
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(a_garbled_build_makes_no_file_name)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = "../../x";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).store_failures, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- bad entries */

START_TEST(a_bad_entry_is_moved_aside_and_made_again)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    kernel_fixture_path(path, &f, "13.0.88");
    ck_assert_int_eq(truncate(path, 300), 0);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 1);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/bad"), 1);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    kernel_fixture_unmake(&f);
}
END_TEST

static const dllm_cu_result refusals[] = {DLLM_CU_INVALID_IMAGE, DLLM_CU_NO_BINARY_FOR_GPU,
                                          DLLM_CU_INVALID_PTX};

START_TEST(bytes_that_the_driver_refuses_are_compiled_once_more)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    f.refusal = refusals[_i];
    f.refusals = 1;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(kernel_fixture_compiles(), 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 1);
    ck_assert_str_eq(dllm_last_error(), "");
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(a_driver_that_refuses_all_is_an_error_with_its_code)
{
    char number[16];
    kernel_fixture f;
    kernel_fixture_make(&f);
    f.refusal = refusals[_i];
    f.refusals = 100;
    (void)snprintf(number, sizeof number, " %d ", refusals[_i]);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_DRIVER_FAILED);
        ck_assert_ptr_nonnull(strstr(dllm_last_error(), number));
        ck_assert_ptr_nonnull(strstr(dllm_last_error(), "head_test.cu"));
        ck_assert_int_eq(kernel_fixture_compiles(), 1);
    }
    ck_assert_uint_eq(kernel_fixture_statistics(&f).stored, 0);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(without_compiler_a_refused_build_gives_way_to_the_next)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    fake_compiler.build = NULL;
    f.refusal = DLLM_CU_NO_BINARY_FOR_GPU;
    f.refusals = 1;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(a_load_during_capture_may_be_repeated_without_a_compile)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    f.refusal = _i ? DLLM_CU_NOT_PERMITTED : DLLM_CU_CAPTURE_UNSUPPORTED;
    f.refusals = 2;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_NO_DISK), DLLM_CAPTURING);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    ck_assert_int_eq(kernel_fixture_compiles(), 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 0);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(a_failed_compile_is_remembered_in_memory_alone)
{
    char first[256];
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.fails = true;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_COMPILE_FAILED);
    (void)snprintf(first, sizeof first, "%s", dllm_last_error());
    dllm__clear_error();
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_COMPILE_FAILED);
    ck_assert_str_eq(dllm_last_error(), first);
    ck_assert_int_eq(kernel_fixture_compiles(), 1);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/k") + fixture_count(&f.folder, "v1/tmp"), 0);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/lock"), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_unmake(&f);
}
END_TEST

/* Killed by another for instance: nothing is known of the source. */
START_TEST(a_compile_that_died_is_tried_again_by_the_next_call)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.dies = true;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_COMPILE_FAILED);
    fake_compiler.dies = false;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(kernel_fixture_compiles(), 2);
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- no folder */

START_TEST(without_a_folder_kernels_live_in_memory)
{
    static const char *const homes[] = {"/", "relative", "."};
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(unsetenv("DLLM_CACHE_DIR"), 0);
    ck_assert_int_eq(unsetenv("XDG_CACHE_HOME"), 0);
    ck_assert_int_eq(setenv("HOME", homes[_i], 1), 0);
    ck_assert_int_eq(chdir(f.folder.top), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_int_eq(f.folder.lines, 1);
    ck_assert_int_eq(chdir(DLLM_BINARY_DIR), 0);
    ck_assert_int_eq(rmdir(f.folder.top), 0); /* it is still empty */
    ck_assert_int_eq(mkdir(f.folder.top, 0700), 0);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_costs_one_line)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fixture_write(f.folder.folder, "a file in the way", 17);
    for (int i = 1; i <= 3; i++) {
        f.spec = kernel_fixture_spec(i);
        ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
        kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, false);
    }
    ck_assert_int_eq(f.folder.lines, 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).store_failures, 3);
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- prebuilding */

START_TEST(prebuild_stores_without_a_driver)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    dllm__kernel_cache_destroy(f.cache);
    ck_assert_int_eq(dllm__kernel_cache_create(&f.cache, NULL, &f.folder.log), DLLM_OK);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(prebuild_that_cannot_store_says_so)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    fixture_write(f.folder.folder, "a file in the way", 17);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), f.folder.folder));
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", "relative", 1), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_UNSUPPORTED);
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- the driver */

START_TEST(shared_memory_limit_rises_and_never_falls)
{
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), FIXTURE_SHARED_BYTES);
    ck_assert_int_eq(dllm__kernel_get(&f.function, NULL, f.cache, &f.spec, 0, 1024), DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), FIXTURE_SHARED_BYTES);
    ck_assert_int_eq(dllm__kernel_get(&f.function, NULL, f.cache, &f.spec, 0, MORE_SHARED_BYTES),
                     DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), MORE_SHARED_BYTES);
    ck_assert_int_eq(fake_driver_calls_of("cuFuncSetAttribute"), 2);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(every_failing_driver_call_is_an_error_and_leaves_nothing)
{
    int n = 1;
    dllm_status status = DLLM_DRIVER_FAILED;
    for (; status != DLLM_OK; n++) {
        kernel_fixture f;
        kernel_fixture_make(&f);
        fake_driver_fail_call(n, 999);
        status = kernel_fixture_get(&f, 0);
        fake_driver_fail_call(0, 0);
        if (status != DLLM_OK) ck_assert_ptr_nonnull(strstr(dllm_last_error(), " 999 "));
        if (status != DLLM_OK) ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
        kernel_fixture_unmake(&f);
    }
    ck_assert_int_eq(n, 3 + 2); /* load, function, attribute; then the round that passes */
}
END_TEST

START_TEST(every_failing_allocation_is_an_error_or_costs_nothing)
{
    int n = 1;
    int failures = 0;
    for (bool reached = true; reached; n++) {
        kernel_fixture f;
        kernel_fixture_make(&f);
        dllm__kernel_cache_destroy(f.cache);
        f.cache = NULL;
        fake_memory_fail_allocation(n);
        dllm_status status = dllm__kernel_cache_create(&f.cache, &f.driver, &f.folder.log);
        if (status == DLLM_OK) status = kernel_fixture_get(&f, 0);
        reached = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        if (status != DLLM_OK) ck_assert_int_eq(status, DLLM_OUT_OF_MEMORY);
        failures += status != DLLM_OK;
        kernel_fixture_unmake(&f);
    }
    ck_assert_int_ge(failures, 6); /* cache, store, compiler, slot, cubin, module */
}
END_TEST

START_TEST(an_allocation_that_fails_on_reading_costs_a_compile)
{
    bool reached = true;
    for (int n = 1; reached; n++) {
        kernel_fixture f;
        kernel_fixture_make(&f);
        ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
        kernel_fixture_restart(&f);
        fake_memory_fail_allocation(n);
        const dllm_status status = kernel_fixture_get(&f, 0);
        reached = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        ck_assert(status == DLLM_OK || status == DLLM_OUT_OF_MEMORY);
        ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 0);
        kernel_fixture_unmake(&f);
    }
}
END_TEST

/* ---- threads */

enum { THREADS = 64 };

typedef struct worker {
    kernel_fixture *f;
    int number;
    dllm_status status;
    dllm_cu_function function;
} worker;

static void *fetch_kernel(void *user)
{
    worker *w = user;
    const dllm_kernel_spec spec = kernel_fixture_spec(w->number);
    fake_driver_enter();
    w->status = dllm__kernel_get(&w->function, NULL, w->f->cache, &spec, 0, FIXTURE_SHARED_BYTES);
    fake_driver_leave();
    return NULL;
}

static void run_workers(worker workers[THREADS])
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, fetch_kernel, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(workers[i].status, DLLM_OK);
}

START_TEST(threads_with_one_key_compile_once)
{
    kernel_fixture f;
    worker workers[THREADS];
    kernel_fixture_make(&f);
    fake_compiler.meet = 2; /* time for a second compile to begin, if one could */
    fake_compiler.wait_ms = 100;
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.f = &f, .number = 1};
    run_workers(workers);
    ck_assert_int_eq(kernel_fixture_compiles(), 1);
    ck_assert_int_eq(fake_driver_calls_of("cuModuleLoadData"), 1);
    for (int i = 1; i < THREADS; i++)
        ck_assert_ptr_eq(workers[i].function, workers[0].function);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).loaded_memory, THREADS - 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(threads_with_other_keys_do_not_wait)
{
    kernel_fixture f;
    worker workers[THREADS];
    kernel_fixture_make(&f);
    /* two threads a key, and no compile ends before all have begun: one that waits for its key must
       not hold up the others */
    fake_compiler.meet = THREADS / 2;
    fake_compiler.wait_ms = 10000;
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.f = &f, .number = i / 2};
    run_workers(workers);
    ck_assert_int_eq(atomic_load(&fake_compiler.met), THREADS / 2);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).stored, THREADS / 2);
    kernel_fixture_unmake(&f);
}
END_TEST

static void add_layers(Suite *suite)
{
    TCase *layers = tcase_create("layers");
    tcase_add_test(layers, first_request_compiles_and_stores);
    tcase_add_test(layers, second_request_is_served_from_memory);
    tcase_add_test(layers, second_process_compiles_nothing);
    tcase_add_test(layers, no_disk_neither_reads_nor_writes);
    tcase_add_test(layers, cache_only_never_asks_the_compiler);
    tcase_add_test(layers, cold_and_without_compiler_names_what_was_looked_for);
    suite_add_tcase(suite, layers);
    TCase *builds = tcase_create("builds");
    tcase_add_test(builds, without_compiler_any_build_is_used);
    tcase_add_test(builds, cache_only_accepts_any_build);
    tcase_add_test(builds, two_compilers_in_turn_compile_once_each);
    tcase_add_test(builds, a_garbled_build_makes_no_file_name);
    suite_add_tcase(suite, builds);
}

static void add_faults(Suite *suite)
{
    TCase *bad = tcase_create("bad");
    tcase_add_test(bad, a_bad_entry_is_moved_aside_and_made_again);
    tcase_add_loop_test(bad, bytes_that_the_driver_refuses_are_compiled_once_more, 0, 3);
    tcase_add_loop_test(bad, a_driver_that_refuses_all_is_an_error_with_its_code, 0, 3);
    tcase_add_test(bad, without_compiler_a_refused_build_gives_way_to_the_next);
    tcase_add_loop_test(bad, a_load_during_capture_may_be_repeated_without_a_compile, 0, 2);
    tcase_add_test(bad, a_failed_compile_is_remembered_in_memory_alone);
    tcase_add_test(bad, a_compile_that_died_is_tried_again_by_the_next_call);
    suite_add_tcase(suite, bad);
    TCase *none = tcase_create("no_folder");
    tcase_add_loop_test(none, without_a_folder_kernels_live_in_memory, 0, 3);
    tcase_add_test(none, a_folder_that_cannot_be_written_costs_one_line);
    tcase_add_test(none, prebuild_stores_without_a_driver);
    tcase_add_test(none, prebuild_that_cannot_store_says_so);
    suite_add_tcase(suite, none);
}

int main(void)
{
    Suite *suite = suite_create("kernel_cache");
    add_layers(suite);
    add_faults(suite);
    TCase *driver = tcase_create("driver");
    tcase_add_test(driver, shared_memory_limit_rises_and_never_falls);
    tcase_add_test(driver, every_failing_driver_call_is_an_error_and_leaves_nothing);
    tcase_add_test(driver, every_failing_allocation_is_an_error_or_costs_nothing);
    tcase_add_test(driver, an_allocation_that_fails_on_reading_costs_a_compile);
    suite_add_tcase(suite, driver);
    TCase *threads = tcase_create("threads");
    tcase_set_timeout(threads, 60);
    tcase_add_test(threads, threads_with_one_key_compile_once);
    tcase_add_test(threads, threads_with_other_keys_do_not_wait);
    suite_add_tcase(suite, threads);
    return check_suite_run(suite);
}
