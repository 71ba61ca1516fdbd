/* test_kernel_cache.c - memory, disk, compiler, in that order; whatever is bad, the call succeeds */
#include "check_suite.h"

#include "cache_fixture.h"
#include "entry_store.h"
#include "fake_compiler.h"
#include "fake_driver.h"
#include "fake_memory.h"
#include "kernel_cache.h"
#include "status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARED_BYTES = 100 << 10, MORE_SHARED_BYTES = 200 << 10 };

typedef struct fixture {
    cache_fixture folder;
    dllm_driver driver;
    dllm_kernel_cache *cache;
    dllm_kernel_spec spec;
    dllm_cu_function function;
    dllm_kernel_origin origin;
    /* the driver's side */
    dllm_cu_result refusal; /* what it says to the next `refusals` images */
    int refusals;
    int wrong_images; /* images that no compile made */
} fixture;

static dllm_kernel_spec spec_of(int number)
{
    dllm_kernel_spec spec = {.file = "head_test.cu", .entry = "head_test", .arch = "sm_90a"};
    dllm__kernel_define(&spec, "DLLM_NUMBER", number);
    return spec;
}

static dllm_cu_result judge_image(void *user, const void *image)
{
    fixture *f = user;
    if (strncmp(image, "cubin of head_test.cu head_test ", 32) != 0) f->wrong_images++;
    if (f->refusals == 0) return DLLM_CU_SUCCESS;
    f->refusals--;
    return f->refusal;
}

static void open_cache(fixture *f)
{
    ck_assert_int_eq(dllm__kernel_cache_create(&f->cache, &f->driver, &f->folder.log), DLLM_OK);
}

static void make(fixture *f)
{
    memset(f, 0, sizeof *f);
    fixture_make(&f->folder);
    fake_compiler_start();
    fake_driver_start(&f->driver);
    fake_driver_on_image(judge_image, f);
    fake_driver_enter();
    f->spec = spec_of(1);
    open_cache(f);
}

/* What another process would see: nothing in memory, nothing counted. */
static void restart(fixture *f)
{
    dllm__kernel_cache_destroy(f->cache);
    ck_assert_int_eq(fake_driver_live(), 0);
    fake_compiler_start();
    f->folder.lines = 0;
    open_cache(f);
}

static void unmake(fixture *f)
{
    dllm__kernel_cache_destroy(f->cache);
    ck_assert_int_eq(fake_driver_live(), 0);
    ck_assert_int_eq(f->wrong_images, 0);
    fake_driver_leave();
    fixture_remove(&f->folder);
}

static dllm_status get(fixture *f, uint32_t prepare)
{
    return dllm__kernel_get(&f->function, &f->origin, f->cache, &f->spec, prepare, SHARED_BYTES);
}

static dllm_statistics statistics_of(const fixture *f)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    dllm__kernel_cache_statistics(f->cache, &statistics);
    return statistics;
}

static int compiles(void)
{
    return atomic_load(&fake_compiler.compiles);
}

static void check_origin(const fixture *f, dllm_kernel_source source, bool stored)
{
    ck_assert_int_eq(f->origin.source, source);
    ck_assert_int_eq(f->origin.stored, stored);
}

static void entry_path(char path[FIXTURE_PATH_BYTES], const fixture *f, const char *build)
{
    dllm_kernel_key key;
    ck_assert_int_eq(dllm__kernel_key(&key, &f->spec), DLLM_OK);
    fixture_entry_path(path, &f->folder, &key, build);
}

/* ---- layers */

START_TEST(first_request_compiles_and_stores)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, true);
    const dllm_statistics s = statistics_of(&f);
    ck_assert_uint_eq(s.compiled, 1);
    ck_assert_uint_eq(s.loaded_compiled, 1);
    ck_assert_uint_eq(s.stored, 1);
    ck_assert_uint_eq(s.store_failures + s.loaded_disk + s.loaded_memory + s.quarantined, 0);
    unmake(&f);
}
END_TEST

START_TEST(second_request_is_served_from_memory)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    const dllm_cu_function first = f.function;
    ck_assert_int_eq(get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_MEMORY, false);
    ck_assert_ptr_eq(f.function, first);
    ck_assert_int_eq(fake_driver_calls_of("cuModuleLoadData"), 1);
    ck_assert_uint_eq(statistics_of(&f).loaded_memory, 1);
    unmake(&f);
}
END_TEST

START_TEST(second_process_compiles_nothing)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_int_eq(compiles(), 0);
    ck_assert_uint_eq(statistics_of(&f).loaded_disk, 1);
    unmake(&f);
}
END_TEST

START_TEST(no_disk_neither_reads_nor_writes)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    ck_assert_uint_eq(statistics_of(&f).store_failures, 0);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    ck_assert_int_eq(compiles(), 1);
    unmake(&f);
}
END_TEST

START_TEST(cache_only_never_asks_the_compiler)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_NOT_CACHED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "head_test.cu"));
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), f.folder.folder));
    ck_assert_int_eq(compiles() + atomic_load(&fake_compiler.builds_asked), 0);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    unmake(&f);
}
END_TEST

START_TEST(cold_and_without_compiler_names_what_was_looked_for)
{
    fixture f;
    make(&f);
    fake_compiler.build = NULL;
    ck_assert_int_eq(get(&f, 0), DLLM_LIBRARY_MISSING);
    ck_assert_str_eq(dllm_last_error(), "no compiler: looked for libfake.so.13, libfake.so.12");
    unmake(&f);
}
END_TEST

/* ---- builds */

START_TEST(without_compiler_any_build_is_used)
{
    fixture f;
    make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    fake_compiler.build = NULL;
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_str_eq(dllm_last_error(), "");
    unmake(&f);
}
END_TEST

START_TEST(cache_only_accepts_any_build)
{
    fixture f;
    make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    unmake(&f);
}
END_TEST

START_TEST(two_compilers_in_turn_compile_once_each)
{
    static const char *const builds[] = {"13.0.88", "12.9.86"};
    fixture f;
    make(&f);
    for (int round = 0; round < 4; round++) {
        restart(&f);
        fake_compiler.build = builds[round % 2];
        ck_assert_int_eq(get(&f, 0), DLLM_OK);
        ck_assert_int_eq(compiles(), round < 2);
    }
    unmake(&f);
}
END_TEST

START_TEST(a_garbled_build_makes_no_file_name)
{
    fixture f;
    make(&f);
    fake_compiler.build = "../../x";
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_uint_eq(statistics_of(&f).store_failures, 1);
    unmake(&f);
}
END_TEST

/* ---- bad entries */

START_TEST(a_bad_entry_is_moved_aside_and_made_again)
{
    char path[FIXTURE_PATH_BYTES];
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    entry_path(path, &f, "13.0.88");
    ck_assert_int_eq(truncate(path, 300), 0);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_uint_eq(statistics_of(&f).quarantined, 1);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/bad"), 1);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    unmake(&f);
}
END_TEST

static const dllm_cu_result refusals[] = {DLLM_CU_INVALID_IMAGE, DLLM_CU_NO_BINARY_FOR_GPU,
                                          DLLM_CU_INVALID_PTX};

START_TEST(bytes_that_the_driver_refuses_are_compiled_once_more)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    f.refusal = refusals[_i];
    f.refusals = 1;
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(compiles(), 1);
    ck_assert_uint_eq(statistics_of(&f).quarantined, 1);
    ck_assert_str_eq(dllm_last_error(), "");
    unmake(&f);
}
END_TEST

START_TEST(a_driver_that_refuses_all_is_an_error_with_its_code)
{
    char number[16];
    fixture f;
    make(&f);
    f.refusal = refusals[_i];
    f.refusals = 100;
    (void)snprintf(number, sizeof number, " %d ", refusals[_i]);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(get(&f, 0), DLLM_DRIVER_FAILED);
        ck_assert_ptr_nonnull(strstr(dllm_last_error(), number));
        ck_assert_ptr_nonnull(strstr(dllm_last_error(), "head_test.cu"));
        ck_assert_int_eq(compiles(), 1);
    }
    ck_assert_uint_eq(statistics_of(&f).stored, 0);
    unmake(&f);
}
END_TEST

START_TEST(without_compiler_a_refused_build_gives_way_to_the_next)
{
    fixture f;
    make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    restart(&f);
    fake_compiler.build = NULL;
    f.refusal = DLLM_CU_NO_BINARY_FOR_GPU;
    f.refusals = 1;
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_uint_eq(statistics_of(&f).quarantined, 1);
    unmake(&f);
}
END_TEST

START_TEST(a_load_during_capture_may_be_repeated_without_a_compile)
{
    fixture f;
    make(&f);
    f.refusal = _i ? DLLM_CU_NOT_PERMITTED : DLLM_CU_CAPTURE_UNSUPPORTED;
    f.refusals = 2;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(get(&f, DLLM_PREPARE_NO_DISK), DLLM_CAPTURING);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_NO_DISK), DLLM_OK);
    ck_assert_int_eq(compiles(), 1);
    ck_assert_uint_eq(statistics_of(&f).quarantined, 0);
    unmake(&f);
}
END_TEST

START_TEST(a_failed_compile_is_remembered_in_memory_alone)
{
    char first[256];
    fixture f;
    make(&f);
    fake_compiler.fails = true;
    ck_assert_int_eq(get(&f, 0), DLLM_COMPILE_FAILED);
    (void)snprintf(first, sizeof first, "%s", dllm_last_error());
    dllm__clear_error();
    ck_assert_int_eq(get(&f, 0), DLLM_COMPILE_FAILED);
    ck_assert_str_eq(dllm_last_error(), first);
    ck_assert_int_eq(compiles(), 1);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    unmake(&f);
}
END_TEST

/* Killed by another for instance: nothing is known of the source. */
START_TEST(a_compile_that_died_is_tried_again_by_the_next_call)
{
    fixture f;
    make(&f);
    fake_compiler.dies = true;
    ck_assert_int_eq(get(&f, 0), DLLM_COMPILE_FAILED);
    fake_compiler.dies = false;
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(compiles(), 2);
    unmake(&f);
}
END_TEST

/* ---- no folder */

START_TEST(without_a_folder_kernels_live_in_memory)
{
    static const char *const homes[] = {"/", "relative", "."};
    fixture f;
    make(&f);
    ck_assert_int_eq(unsetenv("DLLM_CACHE_DIR"), 0);
    ck_assert_int_eq(unsetenv("XDG_CACHE_HOME"), 0);
    ck_assert_int_eq(setenv("HOME", homes[_i], 1), 0);
    ck_assert_int_eq(chdir(f.folder.top), 0);
    restart(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, false);
    ck_assert_int_eq(f.folder.lines, 1);
    ck_assert_int_eq(chdir(DLLM_BINARY_DIR), 0);
    ck_assert_int_eq(rmdir(f.folder.top), 0); /* it is still empty */
    ck_assert_int_eq(mkdir(f.folder.top, 0700), 0);
    unmake(&f);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_costs_one_line)
{
    fixture f;
    make(&f);
    fixture_write(f.folder.folder, "a file in the way", 17);
    for (int i = 1; i <= 3; i++) {
        f.spec = spec_of(i);
        ck_assert_int_eq(get(&f, 0), DLLM_OK);
        check_origin(&f, DLLM_KERNEL_COMPILED, false);
    }
    ck_assert_int_eq(f.folder.lines, 1);
    ck_assert_uint_eq(statistics_of(&f).store_failures, 3);
    unmake(&f);
}
END_TEST

/* ---- prebuilding */

START_TEST(prebuild_stores_without_a_driver)
{
    fixture f;
    make(&f);
    dllm__kernel_cache_destroy(f.cache);
    ck_assert_int_eq(dllm__kernel_cache_create(&f.cache, NULL, &f.folder.log), DLLM_OK);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    restart(&f);
    ck_assert_int_eq(get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    check_origin(&f, DLLM_KERNEL_DISK, false);
    unmake(&f);
}
END_TEST

START_TEST(prebuild_that_cannot_store_says_so)
{
    fixture f;
    make(&f);
    fixture_write(f.folder.folder, "a file in the way", 17);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), f.folder.folder));
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", "relative", 1), 0);
    restart(&f);
    ck_assert_int_eq(dllm__kernel_prebuild(&f.origin, f.cache, &f.spec), DLLM_UNSUPPORTED);
    unmake(&f);
}
END_TEST

/* ---- the driver */

START_TEST(shared_memory_limit_rises_and_never_falls)
{
    fixture f;
    make(&f);
    ck_assert_int_eq(get(&f, 0), DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), SHARED_BYTES);
    ck_assert_int_eq(dllm__kernel_get(&f.function, NULL, f.cache, &f.spec, 0, 1024), DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), SHARED_BYTES);
    ck_assert_int_eq(dllm__kernel_get(&f.function, NULL, f.cache, &f.spec, 0, MORE_SHARED_BYTES),
                     DLLM_OK);
    ck_assert_int_eq(fake_driver_shared_limit(f.function), MORE_SHARED_BYTES);
    ck_assert_int_eq(fake_driver_calls_of("cuFuncSetAttribute"), 2);
    unmake(&f);
}
END_TEST

START_TEST(every_failing_driver_call_is_an_error_and_leaves_nothing)
{
    int n = 1;
    dllm_status status = DLLM_DRIVER_FAILED;
    for (; status != DLLM_OK; n++) {
        fixture f;
        make(&f);
        fake_driver_fail_call(n, 999);
        status = get(&f, 0);
        fake_driver_fail_call(0, 0);
        if (status != DLLM_OK) ck_assert_ptr_nonnull(strstr(dllm_last_error(), " 999 "));
        if (status != DLLM_OK) ck_assert_int_eq(get(&f, 0), DLLM_OK);
        unmake(&f);
    }
    ck_assert_int_eq(n, 3 + 2); /* load, function, attribute; then the round that passes */
}
END_TEST

START_TEST(every_failing_allocation_is_an_error_or_costs_nothing)
{
    int n = 1;
    int failures = 0;
    for (bool reached = true; reached; n++) {
        fixture f;
        make(&f);
        dllm__kernel_cache_destroy(f.cache);
        f.cache = NULL;
        fake_memory_fail_allocation(n);
        dllm_status status = dllm__kernel_cache_create(&f.cache, &f.driver, &f.folder.log);
        if (status == DLLM_OK) status = get(&f, 0);
        reached = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        if (status != DLLM_OK) ck_assert_int_eq(status, DLLM_OUT_OF_MEMORY);
        failures += status != DLLM_OK;
        unmake(&f);
    }
    ck_assert_int_ge(failures, 6); /* cache, store, compiler, slot, cubin, module */
}
END_TEST

START_TEST(an_allocation_that_fails_on_reading_costs_a_compile)
{
    bool reached = true;
    for (int n = 1; reached; n++) {
        fixture f;
        make(&f);
        ck_assert_int_eq(get(&f, 0), DLLM_OK);
        restart(&f);
        fake_memory_fail_allocation(n);
        const dllm_status status = get(&f, 0);
        reached = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        ck_assert(status == DLLM_OK || status == DLLM_OUT_OF_MEMORY);
        ck_assert_uint_eq(statistics_of(&f).quarantined, 0);
        unmake(&f);
    }
}
END_TEST

/* ---- threads */

enum { THREADS = 16 };

typedef struct worker {
    fixture *f;
    int number;
    dllm_status status;
    dllm_cu_function function;
} worker;

static void *fetch_kernel(void *user)
{
    worker *w = user;
    const dllm_kernel_spec spec = spec_of(w->number);
    fake_driver_enter();
    w->status = dllm__kernel_get(&w->function, NULL, w->f->cache, &spec, 0, SHARED_BYTES);
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
    fixture f;
    worker workers[THREADS];
    make(&f);
    fake_compiler.meet = 2; /* time for a second compile to begin, if one could */
    fake_compiler.wait_ms = 100;
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.f = &f, .number = 1};
    run_workers(workers);
    ck_assert_int_eq(compiles(), 1);
    ck_assert_int_eq(fake_driver_calls_of("cuModuleLoadData"), 1);
    for (int i = 1; i < THREADS; i++)
        ck_assert_ptr_eq(workers[i].function, workers[0].function);
    ck_assert_uint_eq(statistics_of(&f).loaded_memory, THREADS - 1);
    unmake(&f);
}
END_TEST

START_TEST(threads_with_other_keys_do_not_wait)
{
    fixture f;
    worker workers[THREADS];
    make(&f);
    /* two threads a key, and no compile ends before all have begun: one that waits for its key must
       not hold up the others */
    fake_compiler.meet = THREADS / 2;
    fake_compiler.wait_ms = 10000;
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.f = &f, .number = i / 2};
    run_workers(workers);
    ck_assert_int_eq(atomic_load(&fake_compiler.met), THREADS / 2);
    ck_assert_uint_eq(statistics_of(&f).stored, THREADS / 2);
    unmake(&f);
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
