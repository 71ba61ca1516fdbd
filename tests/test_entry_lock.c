/* test_entry_lock.c - one holder at a time, bounded waiting, and no harm where there is no lock */
#include "check_suite.h"

#include "cache_fixture.h"
#include "entry_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static dllm_entry_lock take(const cache_fixture *f, int number, int wait_ms)
{
    dllm_entry_lock lock;
    const dllm_kernel_key key = fixture_key(number);
    dllm__entry_lock_take(&lock, &f->dir, key.hex, wait_ms);
    return lock;
}

START_TEST(a_free_lock_is_had_at_once_and_leaves_nothing)
{
    cache_fixture f;
    fixture_make(&f);
    dllm_entry_lock lock = take(&f, 1, 0);
    ck_assert_int_ge(lock.fd, 0);
    ck_assert(!lock.waited && !lock.gave_up);
    ck_assert_int_eq(fixture_count(&f, "v1/lock"), 1);
    dllm__entry_lock_release(&lock);
    ck_assert_int_eq(fixture_count(&f, "v1/lock"), 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(waiting_for_a_holder_ends)
{
    cache_fixture f;
    fixture_make(&f);
    dllm_entry_lock first = take(&f, 1, 0);
    dllm_entry_lock second = take(&f, 1, 30);
    ck_assert_int_eq(second.fd, -1);
    ck_assert(second.waited && second.gave_up);
    dllm__entry_lock_release(&second);
    dllm__entry_lock_release(&first);
    fixture_remove(&f);
}
END_TEST

START_TEST(another_key_is_not_waited_for)
{
    cache_fixture f;
    fixture_make(&f);
    dllm_entry_lock first = take(&f, 1, 0);
    dllm_entry_lock second = take(&f, 2, 1000);
    ck_assert_int_ge(second.fd, 0);
    ck_assert(!second.waited);
    dllm__entry_lock_release(&second);
    dllm__entry_lock_release(&first);
    fixture_remove(&f);
}
END_TEST

START_TEST(a_dead_holder_is_not_waited_for)
{
    int ready[2];
    char byte;
    cache_fixture f;
    fixture_make(&f);
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)take(&f, 1, 0);
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    dllm_entry_lock lock = take(&f, 1, 0);
    ck_assert_int_ge(lock.fd, 0);
    dllm__entry_lock_release(&lock);
    (void)close(ready[0]);
    (void)close(ready[1]);
    fixture_remove(&f);
}
END_TEST

/* An application forks while it compiles: its child has the descriptor for as long as it lives. */
START_TEST(a_child_of_the_holder_does_not_keep_it)
{
    char below[DLLM_SHA256_HEX_BYTES + 8];
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    const dllm_kernel_key key = fixture_key(1);
    (void)snprintf(below, sizeof below, "v1/lock/%s", key.hex);
    fixture_path(path, &f, below);
    dllm_entry_lock lock = take(&f, 1, 0);
    const int waiter = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(waiter, 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        for (;;)
            (void)pause();
    dllm__entry_lock_release(&lock);
    ck_assert_int_eq(flock(waiter, LOCK_EX | LOCK_NB), 0);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(close(waiter), 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(where_none_can_be_had_there_is_none)
{
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    dllm_entry_lock lock = take(&f, 1, 0);
    dllm__entry_lock_release(&lock);
    fixture_path(path, &f, "v1/lock");
    ck_assert_int_eq(rmdir(path), 0);
    fixture_write(path, "", 0);
    lock = take(&f, 1, 1000);
    ck_assert_int_eq(lock.fd, -1);
    ck_assert(!lock.waited);
    dllm__entry_lock_release(&lock);
    fixture_remove(&f);
}
END_TEST

START_TEST(a_link_in_its_place_is_not_followed)
{
    char path[FIXTURE_PATH_BYTES], below[128], target[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    dllm_entry_lock lock = take(&f, 1, 0);
    (void)snprintf(below, sizeof below, "v1/lock/%s", lock.name);
    dllm__entry_lock_release(&lock);
    fixture_path(path, &f, below);
    (void)snprintf(target, sizeof target, "%s/planted", f.top);
    ck_assert_int_eq(symlink(target, path), 0);
    lock = take(&f, 1, 0);
    ck_assert_int_eq(lock.fd, -1);
    dllm__entry_lock_release(&lock);
    ck_assert_int_eq(access(target, F_OK), -1);
    fixture_remove(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entry_lock");
    TCase *lock = tcase_create("lock");
    tcase_add_test(lock, a_free_lock_is_had_at_once_and_leaves_nothing);
    tcase_add_test(lock, waiting_for_a_holder_ends);
    tcase_add_test(lock, another_key_is_not_waited_for);
    tcase_add_test(lock, a_dead_holder_is_not_waited_for);
    tcase_add_test(lock, a_child_of_the_holder_does_not_keep_it);
    tcase_add_test(lock, where_none_can_be_had_there_is_none);
    tcase_add_test(lock, a_link_in_its_place_is_not_followed);
    suite_add_tcase(suite, lock);
    return check_suite_run(suite);
}
