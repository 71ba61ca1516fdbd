/* test_kernel_layers.c - read-only folders behind the user's; processes that want one kernel at once */
#include "check_suite.h"

#include "fake_compiler.h"
#include "kernel_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- read-only folders */

/* Fills the folder, hands it out as the system's, and begins again with an empty one. */
static void make_system(kernel_fixture *f)
{
    kernel_fixture_make(f);
    ck_assert_int_eq(kernel_fixture_get(f, 0), DLLM_OK);
    ck_assert_int_eq(setenv("DLLM_SYSTEM_CACHE_PATH", f->folder.folder, 1), 0);
    (void)snprintf(f->folder.folder, sizeof f->folder.folder, "%s/own", f->folder.top);
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", f->folder.folder, 1), 0);
    kernel_fixture_restart(f);
}

static void unmake_system(kernel_fixture *f)
{
    ck_assert_int_eq(unsetenv("DLLM_SYSTEM_CACHE_PATH"), 0);
    kernel_fixture_unmake(f);
}

static void system_entry_path(char path[FIXTURE_PATH_BYTES], kernel_fixture *f)
{
    char own[sizeof f->folder.folder];
    memcpy(own, f->folder.folder, sizeof own);
    (void)snprintf(f->folder.folder, sizeof f->folder.folder, "%s",
                   getenv("DLLM_SYSTEM_CACHE_PATH"));
    kernel_fixture_path(path, f, "13.0.88");
    memcpy(f->folder.folder, own, sizeof own);
}

START_TEST(a_system_folder_serves_without_a_compiler)
{
    kernel_fixture f;
    make_system(&f);
    fake_compiler.build = NULL;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_SYSTEM, false);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).loaded_system, 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).loaded_disk, 0);
    unmake_system(&f);
}
END_TEST

START_TEST(a_system_folder_may_have_another_compilers_build)
{
    kernel_fixture f;
    make_system(&f);
    fake_compiler.build = "13.1.2";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_SYSTEM, false);
    ck_assert_int_eq(kernel_fixture_compiles(), 0);
    ck_assert_int_eq(access(f.folder.folder, F_OK), -1);
    unmake_system(&f);
}
END_TEST

START_TEST(the_users_folder_is_asked_first)
{
    kernel_fixture f;
    make_system(&f);
    ck_assert_int_eq(unsetenv("DLLM_SYSTEM_CACHE_PATH"), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    (void)snprintf(f.folder.folder, sizeof f.folder.folder, "%s/cache", f.folder.top);
    ck_assert_int_eq(setenv("DLLM_SYSTEM_CACHE_PATH", f.folder.folder, 1), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    unmake_system(&f);
}
END_TEST

START_TEST(a_corrupt_system_entry_is_passed_over_and_left_there)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture f;
    make_system(&f);
    system_entry_path(path, &f);
    fixture_write(path, "x", 1);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(f.folder.lines, 1);
    ck_assert_uint_eq(kernel_fixture_statistics(&f).quarantined, 0);
    unmake_system(&f);
}
END_TEST

START_TEST(a_system_entry_that_the_driver_refuses_costs_one_compile)
{
    kernel_fixture f;
    make_system(&f);
    f.refusal = DLLM_CU_NO_BINARY_FOR_GPU;
    f.refusals = 1;
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_ptr_nonnull(strstr(f.folder.last_line, "not used"));
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    unmake_system(&f);
}
END_TEST

START_TEST(compiling_ahead_fills_the_users_folder_all_the_same)
{
    dllm_kernel_cache *cache;
    dllm_kernel_origin origin;
    kernel_fixture f;
    make_system(&f);
    ck_assert_int_eq(dllm__kernel_cache_create(&cache, NULL, &f.folder.log), DLLM_OK);
    ck_assert_int_eq(dllm__kernel_prebuild(&origin, cache, &f.spec), DLLM_OK);
    ck_assert_int_eq(origin.source, DLLM_KERNEL_COMPILED);
    ck_assert(origin.stored);
    dllm__kernel_cache_destroy(cache);
    unmake_system(&f);
}
END_TEST

/* ---- a race */

/* What goes on between a look at the disk and the lock: another process makes the kernel, and lets go
   of its lock. The line of a bad entry is said in that place. */
static void make_elsewhere(void *user, const char *line)
{
    static const dllm_log mute;
    kernel_fixture *f = user;
    dllm_kernel_cache *other;
    dllm_kernel_origin origin;
    if (!strstr(line, "bad cache entry")) return;
    ck_assert_int_eq(dllm__kernel_cache_create(&other, NULL, &mute), DLLM_OK);
    ck_assert_int_eq(dllm__kernel_prebuild(&origin, other, &f->spec), DLLM_OK);
    ck_assert(origin.stored);
    dllm__kernel_cache_destroy(other);
}

/* A lock that is had at once was not free all the time. */
START_TEST(what_was_made_before_the_lock_is_not_made_again)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_path(path, &f, "13.0.88");
    fixture_write(path, "x", 1);
    f.folder.log = (dllm_log){.function = make_elsewhere, .user = &f};
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_DISK, false);
    ck_assert_int_eq(kernel_fixture_compiles(), 1); /* the other's */
    kernel_fixture_unmake(&f);
}
END_TEST

/* Another process trims the folder between a listing and the reading of what it names. */
static void evict_older(void *user, const char *line)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture *f = user;
    f->folder.lines++;
    if (!strstr(line, "bad cache entry")) return;
    kernel_fixture_path(path, f, "12.9.86");
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(an_entry_that_went_away_is_a_miss)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture f;
    kernel_fixture_make(&f);
    fake_compiler.build = "12.9.86";
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_path(path, &f, "13.0.88");
    fixture_write(path, "x", 1);
    f.folder.log = (dllm_log){.function = evict_older, .user = &f};
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_NOT_CACHED);
    ck_assert_int_eq(f.folder.lines, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(what_is_passed_over_is_told_once)
{
    char path[FIXTURE_PATH_BYTES];
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_path(path, &f, "13.0.88");
    ck_assert_int_eq(chmod(path, 0666), 0);
    kernel_fixture_restart(&f);
    ck_assert_int_eq(kernel_fixture_get(&f, 0), DLLM_OK);
    kernel_fixture_check_origin(&f, DLLM_KERNEL_COMPILED, true);
    ck_assert_int_eq(f.folder.lines, 1);
    kernel_fixture_unmake(&f);
}
END_TEST

/* ---- many processes */

enum { PROCESSES = 32, COMPILED = 1, WAITED = 2, FAILED = 4 };

/* A process's first call: what became of it, as bits. */
static int first_call(kernel_fixture *f)
{
    fake_compiler_start();
    fake_compiler.meet = PROCESSES; /* long enough for others to begin as well */
    fake_compiler.wait_ms = 200;
    if (dllm__kernel_cache_create(&f->cache, &f->driver, &f->folder.log) != DLLM_OK) return FAILED;
    const dllm_status status =
        dllm__kernel_get(&f->function, &f->origin, f->cache, &f->spec, 0, FIXTURE_SHARED_BYTES);
    const dllm_statistics statistics = kernel_fixture_statistics(f);
    if (status != DLLM_OK || f->wrong_images) return FAILED;
    return (statistics.compiled ? COMPILED : 0) | (statistics.waited ? WAITED : 0);
}

/* All begin at the same time, when the pipe's other end is closed. */
static void start_processes(pid_t processes[PROCESSES], kernel_fixture *f)
{
    int gate[2];
    char byte;
    ck_assert_int_eq(pipe(gate), 0);
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        ck_assert_int_ge(processes[i], 0);
        if (processes[i] != 0) continue;
        (void)close(gate[1]);
        (void)!read(gate[0], &byte, 1);
        _exit(first_call(f));
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
}

/* Returns how many compiled; all of them must be right. */
static int run_processes(kernel_fixture *f, int *waited)
{
    pid_t processes[PROCESSES];
    int compiled = 0;
    *waited = 0;
    start_processes(processes, f);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        ck_assert_int_eq(waitpid(processes[i], &status, 0), processes[i]);
        ck_assert(WIFEXITED(status) && !(WEXITSTATUS(status) & FAILED));
        compiled += (WEXITSTATUS(status) & COMPILED) != 0;
        *waited += (WEXITSTATUS(status) & WAITED) != 0;
    }
    return compiled;
}

START_TEST(processes_on_a_cold_folder_compile_once)
{
    int waited;
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(run_processes(&f, &waited), 1);
    ck_assert_int_gt(waited, 0);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/lock"), 0);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/tmp"), 0);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    kernel_fixture_unmake(&f);
}
END_TEST

START_TEST(without_locks_all_are_right)
{
    char path[FIXTURE_PATH_BYTES];
    int waited;
    kernel_fixture f;
    kernel_fixture_make(&f);
    ck_assert_int_eq(mkdir(f.folder.folder, 0700), 0);
    fixture_path(path, &f.folder, "v1");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    fixture_path(path, &f.folder, "v1/lock");
    fixture_write(path, "", 0);
    ck_assert_int_gt(run_processes(&f, &waited), 1);
    ck_assert_int_eq(waited, 0);
    ck_assert_int_eq(fixture_count(&f.folder, "v1/tmp"), 0);
    ck_assert_int_eq(kernel_fixture_get(&f, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    ck_assert_int_eq(kernel_fixture_compiles(), 0);
    kernel_fixture_unmake(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_layers");
    TCase *layers = tcase_create("system");
    tcase_add_test(layers, a_system_folder_serves_without_a_compiler);
    tcase_add_test(layers, a_system_folder_may_have_another_compilers_build);
    tcase_add_test(layers, the_users_folder_is_asked_first);
    tcase_add_test(layers, a_corrupt_system_entry_is_passed_over_and_left_there);
    tcase_add_test(layers, a_system_entry_that_the_driver_refuses_costs_one_compile);
    tcase_add_test(layers, compiling_ahead_fills_the_users_folder_all_the_same);
    suite_add_tcase(suite, layers);
    TCase *processes = tcase_create("processes");
    tcase_set_timeout(processes, 120);
    tcase_add_test(processes, what_was_made_before_the_lock_is_not_made_again);
    tcase_add_test(processes, an_entry_that_went_away_is_a_miss);
    tcase_add_test(processes, what_is_passed_over_is_told_once);
    tcase_add_test(processes, processes_on_a_cold_folder_compile_once);
    tcase_add_test(processes, without_locks_all_are_right);
    suite_add_tcase(suite, processes);
    return check_suite_run(suite);
}
