/* test_entry_publish.c - an entry is there whole or not at all, whatever fails or whoever dies */
#include "check_suite.h"

#include "cache_fixture.h"
#include "entry_publish.h"
#include "entry_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char build[] = "13.0.88";

/* ---- system calls of which the n-th fails */

static int calls;
static int fail_at;
static int fail_errno;
static size_t write_most; /* of one call; short writes are legal */

static bool fails(void)
{
    if (++calls != fail_at) return false;
    errno = fail_errno;
    return true;
}

static int create_or_fail(int folder, const char *name)
{
    return fails() ? -1 : dllm__file_calls.create(folder, name);
}

static ssize_t write_or_fail(int fd, const void *bytes, size_t size)
{
    return fails() ? -1 : write(fd, bytes, size < write_most ? size : write_most);
}

static int sync_or_fail(int fd)
{
    return fails() ? -1 : fsync(fd);
}

/* As the system does: the descriptor is gone, whatever close says. */
static int close_or_fail(int fd)
{
    const int closed = close(fd);
    return fails() ? -1 : closed;
}

static int rename_or_fail(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails() ? -1 : renameat(from_folder, from, to_folder, to);
}

static const dllm_file_calls failing = {create_or_fail, write_or_fail, sync_or_fail, close_or_fail,
                                        rename_or_fail};

static void fail_nth(int n, int error)
{
    calls = 0;
    fail_at = n;
    fail_errno = error;
    write_most = SIZE_MAX;
}

/* ---- publishing */

static bool publish_bytes(cache_fixture *f, const dllm_file_calls *with, int number,
                          const void *cubin, size_t size)
{
    char name[80 + DLLM_BUILD_BYTES];
    char why[DLLM_WHY_BYTES] = "";
    dllm_kernel_key text;
    const dllm_kernel_key key = fixture_key(number);
    dllm__kernel_key_with_build(&text, &key, build);
    (void)snprintf(name, sizeof name, "%s-%s.dk", key.hex, build);
    const dllm_entry entry = {text.text, text.text_bytes, cubin, size};
    const bool published = dllm__entry_publish(&f->dir, with, name, &entry, why);
    (void)snprintf(f->last_line, sizeof f->last_line, "%s", why);
    ck_assert_int_eq(published, why[0] == '\0');
    return published;
}

static bool publish(cache_fixture *f, const dllm_file_calls *with, int number)
{
    static const char cubin[] = "a cubin of some length, say";
    return publish_bytes(f, with, number, cubin, sizeof cubin);
}

typedef struct tally {
    int valid;
    int other;
} tally;

static void count_report(void *user, const dllm_entry_report *report)
{
    tally *t = user;
    *(report->reason ? &t->other : &t->valid) += 1;
}

static tally tally_of(const cache_fixture *f)
{
    tally t = {0};
    dllm__entry_walk(&f->dir, count_report, &t);
    return t;
}

START_TEST(entry_lies_under_its_name_alone)
{
    char path[FIXTURE_PATH_BYTES];
    struct stat status;
    cache_fixture f;
    fixture_make(&f);
    const dllm_kernel_key key = fixture_key(1);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    fixture_entry_path(path, &f, &key, build);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(fixture_count(&f, "v1/tmp"), 0);
    ck_assert_int_eq(tally_of(&f).valid, 1);
    fixture_remove(&f);
}
END_TEST

START_TEST(folder_is_tagged_as_a_cache)
{
    static const char signature[] = "Signature: 8a477f597d28d172789f06886806bc55";
    char path[FIXTURE_PATH_BYTES];
    size_t size = 0;
    cache_fixture f;
    fixture_make(&f);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    fixture_path(path, &f, "v1/CACHEDIR.TAG");
    unsigned char *tag = fixture_read(&size, path);
    ck_assert_uint_gt(size, sizeof signature);
    ck_assert_mem_eq(tag, signature, sizeof signature - 1);
    free(tag);
    fixture_remove(&f);
}
END_TEST

START_TEST(publishing_again_replaces_the_entry)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert(publish_bytes(&f, &dllm__file_calls, 1, "first", 5));
    ck_assert(publish_bytes(&f, &dllm__file_calls, 1, "second", 6));
    const tally t = tally_of(&f);
    ck_assert_int_eq(t.valid, 1);
    ck_assert_int_eq(t.other, 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(short_and_interrupted_writes_are_continued)
{
    cache_fixture f;
    fixture_make(&f);
    fail_nth(2, EINTR); /* the first write */
    write_most = 7;
    ck_assert(publish(&f, &failing, 1));
    ck_assert_int_eq(tally_of(&f).valid, 1);
    fixture_remove(&f);
}
END_TEST

static const int errors[] = {ENOSPC, EDQUOT, EIO, EROFS, EXDEV};

/* Calls of one file: create, its writes, fsync, close, rename, fsync of the folder. */
enum { TAG_CALLS = 6, ENTRY_CALLS = 8 };

static void check_nothing_is_left(const cache_fixture *f, int n, int entries)
{
    const tally t = tally_of(f);
    ck_assert_msg(t.valid == entries && t.other == 0, "call %d failed and a name is there", n);
    ck_assert_msg(fixture_count(f, "v1/tmp") == 0, "call %d left a temporary file", n);
    ck_assert_msg(strstr(f->last_line, strerror(fail_errno)) != NULL, "call %d: %s", n,
                  f->last_line);
}

START_TEST(nth_failing_call_leaves_no_name_behind)
{
    cache_fixture f;
    int n = 1;
    fixture_make(&f);
    ck_assert(publish(&f, &dllm__file_calls, 2)); /* the tag is there */
    for (fail_nth(n, errors[_i]); !publish(&f, &failing, 1); fail_nth(++n, errors[_i]))
        check_nothing_is_left(&f, n, 1);
    ck_assert_int_eq(n, ENTRY_CALLS + 1);
    ck_assert_int_eq(tally_of(&f).valid, 2);
    fixture_remove(&f);
}
END_TEST

START_TEST(nth_failing_call_of_the_first_publication_leaves_no_name_behind)
{
    for (int n = 1; n <= TAG_CALLS + ENTRY_CALLS; n++) {
        cache_fixture f;
        fixture_make(&f);
        fail_nth(n, ENOSPC);
        ck_assert(!publish(&f, &failing, 1));
        check_nothing_is_left(&f, n, 0);
        fixture_remove(&f);
    }
}
END_TEST

START_TEST(a_folder_that_cannot_be_synced_is_no_failure)
{
    cache_fixture f;
    fixture_make(&f);
    fail_nth(TAG_CALLS, EINVAL);
    ck_assert(publish(&f, &failing, 1));
    fail_nth(ENTRY_CALLS, EINVAL);
    ck_assert(publish(&f, &failing, 2));
    ck_assert_int_eq(calls, ENTRY_CALLS);
    ck_assert_int_eq(tally_of(&f).valid, 2);
    fixture_remove(&f);
}
END_TEST

/* ---- what others planted */

static char planted_target[FIXTURE_PATH_BYTES];

/* Puts a link where the temporary file is about to be made. */
static int create_after_planting(int folder, const char *name)
{
    if (symlinkat(planted_target, folder, name) != 0) return -1;
    return dllm__file_calls.create(folder, name);
}

START_TEST(a_link_at_the_temporary_name_is_not_written_through)
{
    cache_fixture f;
    dllm_file_calls planting = dllm__file_calls;
    planting.create = create_after_planting;
    fixture_make(&f);
    (void)snprintf(planted_target, sizeof planted_target, "%s/victim", f.top);
    ck_assert(!publish(&f, &planting, 1));
    ck_assert_int_eq(access(planted_target, F_OK), -1);
    ck_assert_ptr_nonnull(strstr(f.last_line, strerror(EEXIST)));
    fixture_remove(&f);
}
END_TEST

START_TEST(a_link_at_the_final_name_is_replaced_not_followed)
{
    char path[FIXTURE_PATH_BYTES];
    char victim[FIXTURE_PATH_BYTES];
    cache_fixture f;
    struct stat status;
    fixture_make(&f);
    const dllm_kernel_key key = fixture_key(1);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    fixture_entry_path(path, &f, &key, build);
    (void)snprintf(victim, sizeof victim, "%s/victim", f.top);
    fixture_write(victim, "v", 1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(victim, path), 0);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    ck_assert_int_eq(lstat(path, &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    ck_assert_int_eq(stat(victim, &status), 0);
    ck_assert_int_eq(status.st_size, 1);
    fixture_remove(&f);
}
END_TEST

START_TEST(nothing_is_written_where_the_world_may_write)
{
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    fixture_path(path, &f, "v1/tmp");
    ck_assert_int_eq(chmod(path, 01777), 0);
    ck_assert(!publish(&f, &dllm__file_calls, 2));
    ck_assert_int_eq(fixture_count(&f, "v1/tmp"), 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(the_group_of_a_shared_folder_may_read)
{
    char path[FIXTURE_PATH_BYTES];
    struct stat status;
    cache_fixture f;
    fixture_make(&f);
    const dllm_kernel_key key = fixture_key(1);
    ck_assert_int_eq(mkdir(f.folder, 0700), 0);
    ck_assert_int_eq(chmod(f.folder, 02770), 0);
    ck_assert(publish(&f, &dllm__file_calls, 1));
    fixture_entry_path(path, &f, &key, build);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0640);
    fixture_remove(&f);
}
END_TEST

static int publishes_read_only(void *user)
{
    return publish(user, &dllm__file_calls, 1) ? 1 : 0;
}

START_TEST(a_read_only_folder_is_a_reason_not_a_crash)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert_int_eq(chmod(f.top, 0755), 0);
    ck_assert_int_eq(mkdir(f.folder, 0755), 0);
    ck_assert_int_eq(fixture_run_as_nobody(publishes_read_only, &f), 0);
    ck_assert_int_eq(fixture_count(&f, ""), 0);
    fixture_remove(&f);
}
END_TEST

/* ---- writers that die */

static unsigned char large_cubin[64 << 10];

static void publish_until_killed(cache_fixture *f)
{
    for (int i = 0;; i = (i + 1) % 8)
        (void)publish_bytes(f, &dllm__file_calls, i, large_cubin, sizeof large_cubin);
}

static void kill_a_writer(cache_fixture *f, int after_us)
{
    int status = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) publish_until_killed(f);
    (void)usleep((useconds_t)after_us);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
}

/* What one publication takes on this disk, so that kills hit every part of it. */
static int publication_us(cache_fixture *f)
{
    struct timespec start;
    struct timespec end;
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &start), 0);
    ck_assert(publish_bytes(f, &dllm__file_calls, 9, large_cubin, sizeof large_cubin));
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &end), 0);
    const int64_t spent_ns =
        (end.tv_sec - start.tv_sec) * INT64_C(1000000000) + (end.tv_nsec - start.tv_nsec);
    return spent_ns < 50000000 ? (int)(spent_ns / 1000) + 1 : 50000;
}

static void age_files(const cache_fixture *f, const char *below, time_t seconds)
{
    char command[2 * FIXTURE_PATH_BYTES];
    (void)snprintf(command, sizeof command, "find '%s/%s' -type f -exec touch -d @%lld {} +",
                   f->folder, below, (long long)(time(NULL) - seconds));
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): a path of our own */
}

/* Whoever tunes holds the lock of its GPU, whose file stays from day to day. */
START_TEST(a_lock_that_is_held_is_not_swept)
{
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    (void)publication_us(&f); /* makes the folders */
    fixture_path(path, &f, "v1/lock");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    fixture_path(path, &f, "v1/lock/tune-GPU");
    fixture_write(path, "", 0);
    age_files(&f, "v1/lock", 3700);
    const int holder = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(holder, LOCK_EX), 0);
    dllm__entry_sweep(&f.dir);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(close(holder), 0);
    dllm__entry_sweep(&f.dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(killed_writers_leave_whole_entries_and_what_is_swept)
{
    enum { KILLS = 500 };
    cache_fixture f;
    fixture_make(&f);
    int left = 0;
    (void)publication_us(&f); /* makes the folders */
    const int one_us = publication_us(&f);
    for (int i = 0; i < KILLS; i++) {
        kill_a_writer(&f, one_us / 2 + one_us / KILLS * (i * 7 % (3 * KILLS)));
        const tally t = tally_of(&f);
        ck_assert_msg(t.other == 0, "after kill %d a name is no entry", i);
        left = fixture_count(&f, "v1/tmp");
    }
    ck_assert_int_gt(tally_of(&f).valid, 1);
    ck_assert_msg(left > 0, "no kill hit a write: the test proves nothing");
    dllm__entry_sweep(&f.dir);
    ck_assert_int_eq(fixture_count(&f, "v1/tmp"), left);
    age_files(&f, "v1/tmp", 3700);
    dllm__entry_sweep(&f.dir);
    ck_assert_int_eq(fixture_count(&f, "v1/tmp"), 0);
    fixture_remove(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entry_publish");
    TCase *whole = tcase_create("whole");
    tcase_add_test(whole, entry_lies_under_its_name_alone);
    tcase_add_test(whole, folder_is_tagged_as_a_cache);
    tcase_add_test(whole, publishing_again_replaces_the_entry);
    tcase_add_test(whole, short_and_interrupted_writes_are_continued);
    tcase_add_loop_test(whole, nth_failing_call_leaves_no_name_behind, 0,
                        (int)(sizeof errors / sizeof errors[0]));
    tcase_add_test(whole, nth_failing_call_of_the_first_publication_leaves_no_name_behind);
    tcase_add_test(whole, a_folder_that_cannot_be_synced_is_no_failure);
    suite_add_tcase(suite, whole);
    TCase *planted = tcase_create("planted");
    tcase_add_test(planted, a_link_at_the_temporary_name_is_not_written_through);
    tcase_add_test(planted, a_link_at_the_final_name_is_replaced_not_followed);
    tcase_add_test(planted, nothing_is_written_where_the_world_may_write);
    tcase_add_test(planted, the_group_of_a_shared_folder_may_read);
    if (geteuid() == 0) tcase_add_test(planted, a_read_only_folder_is_a_reason_not_a_crash);
    suite_add_tcase(suite, planted);
    TCase *killed = tcase_create("killed");
    tcase_set_timeout(killed, 120);
    tcase_add_test(killed, killed_writers_leave_whole_entries_and_what_is_swept);
    tcase_add_test(killed, a_lock_that_is_held_is_not_swept);
    suite_add_tcase(suite, killed);
    return check_suite_run(suite);
}
