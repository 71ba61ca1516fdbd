/* test_cache_trim.c - the oldest go first, the young and the used stay, and only in a cache */
#include "check_suite.h"

#include "cache_fixture.h"
#include "cache_trim.h"
#include "entry_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 8, HOUR = 3600 };

static const char build[] = "13.0.88";
static cache_fixture fixture;
static dllm_entry_store *store;

static void open_store(const char *limit)
{
    ck_assert_int_eq(setenv("DLLM_CACHE_MAX", limit, 1), 0);
    ck_assert_int_eq(dllm__entry_store_create(&store, &fixture.dir, 1, &fixture.log, NULL),
                     DLLM_OK);
}

static void make(void)
{
    fixture_make(&fixture);
    open_store("2G");
}

static void clean(void)
{
    dllm__entry_store_destroy(store);
    ck_assert_int_eq(unsetenv("DLLM_CACHE_MAX"), 0);
    fixture_remove(&fixture);
}

static void entry_path(char path[FIXTURE_PATH_BYTES], int number)
{
    const dllm_kernel_key key = fixture_key(number);
    fixture_entry_path(path, &fixture, &key, build);
}

static void publish(int number)
{
    char why[DLLM_WHY_BYTES];
    static const unsigned char cubin[1000] = "cubin";
    const dllm_kernel_key key = fixture_key(number);
    ck_assert_msg(dllm__entry_store_publish(store, &key, build, cubin, sizeof cubin, why), "%s",
                  why);
}

/* As if it had been used last so many hours ago. */
static void set_age(int number, int hours)
{
    char path[FIXTURE_PATH_BYTES];
    const time_t then = time(NULL) - (time_t)hours * HOUR;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    entry_path(path, number);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(int number)
{
    char path[FIXTURE_PATH_BYTES];
    entry_path(path, number);
    return access(path, F_OK) == 0;
}

/* Entry i was used i + 2 hours ago. */
static dllm_trim_report fill(void)
{
    dllm_trim_report report;
    for (int i = 0; i < ENTRIES; i++) {
        publish(i);
        set_age(i, i + 2);
    }
    ck_assert(dllm__cache_trim(&report, &fixture.dir, UINT64_MAX, true));
    ck_assert_int_eq(report.entries, ENTRIES);
    ck_assert_int_eq(report.removed, 0);
    return report;
}

START_TEST(the_longest_unused_go_first)
{
    dllm_trim_report report;
    const uint64_t all = fill().bytes;
    ck_assert(dllm__cache_trim(&report, &fixture.dir, all / 2, false));
    ck_assert_int_eq(report.removed, ENTRIES / 2);
    ck_assert_uint_eq(report.bytes, all);
    for (int i = 0; i < ENTRIES; i++)
        ck_assert_int_eq(is_there(i), i < ENTRIES / 2);
}
END_TEST

START_TEST(a_dry_run_removes_nothing)
{
    dllm_trim_report report;
    (void)fill();
    ck_assert(dllm__cache_trim(&report, &fixture.dir, 0, true));
    ck_assert_int_eq(report.removed, ENTRIES);
    for (int i = 0; i < ENTRIES; i++)
        ck_assert(is_there(i));
}
END_TEST

START_TEST(nothing_younger_than_an_hour_goes)
{
    dllm_trim_report report;
    (void)fill();
    set_age(0, 0);
    ck_assert(dllm__cache_trim(&report, &fixture.dir, 0, false));
    ck_assert_int_eq(report.removed, ENTRIES - 1);
    ck_assert_int_eq(report.young, 1);
    ck_assert_uint_eq(report.young_bytes, report.bytes - report.removed_bytes);
    ck_assert(is_there(0));
}
END_TEST

/* Every folder, and none to be written. */
static void let_others_read(void)
{
    char path[FIXTURE_PATH_BYTES];
    int failed = 0;
    for (int i = 0; i < ENTRIES; i++) {
        entry_path(path, i);
        while (strcmp(path, fixture.top) != 0) {
            *strrchr(path, '/') = '\0';
            failed += chmod(path, 0755) != 0;
        }
    }
    ck_assert_int_eq(failed, 0);
}

static int trims_read_only(void *user)
{
    const cache_fixture *f = user;
    dllm_trim_report report;
    const bool done = dllm__cache_trim(&report, &f->dir, 0, false);
    return !(done && report.removed == 0 && report.entries == ENTRIES &&
             strncmp(report.left, "v1/k/", 5) == 0 && strstr(report.left, ".dk") &&
             strcmp(report.left_why, strerror(EACCES)) == 0);
}

/* Once a trim of a folder that cannot be written removed nothing and said nothing. */
START_TEST(trimming_names_a_file_that_it_leaves)
{
    (void)fill();
    let_others_read();
    ck_assert_int_eq(fixture_run_as_nobody(trims_read_only, &fixture), 0);
}
END_TEST

/* A folder of kernels that everybody may write, and may not be used. */
static void fill_for_the_world(void)
{
    char path[FIXTURE_PATH_BYTES];
    (void)fill();
    fixture_path(path, &fixture, "v1/k");
    ck_assert_int_eq(chmod(path, 0777), 0);
}

static void check_left(const dllm_trim_report *report)
{
    ck_assert_int_eq(report->entries, 1);
    ck_assert_str_eq(report->left, "v1/k");
    ck_assert_str_eq(report->left_why, "k: the world may write it");
}

START_TEST(trimming_names_a_folder_that_it_leaves)
{
    dllm_trim_report report;
    fill_for_the_world();
    ck_assert(dllm__cache_trim(&report, &fixture.dir, 0, false));
    check_left(&report);
    ck_assert_int_eq(report.removed, 0);
}
END_TEST

START_TEST(a_hit_sets_the_stamp_once_a_day)
{
    struct stat status;
    char path[FIXTURE_PATH_BYTES];
    const int ages[] = {23, 25};
    publish(1);
    entry_path(path, 1);
    for (int i = 0; i < 2; i++) {
        dllm_stored_entry entry;
        const dllm_kernel_key key = fixture_key(1);
        set_age(1, ages[i]);
        ck_assert(dllm__entry_store_load(&entry, store, &key, build, 0));
        dllm__stored_entry_release(&entry);
        ck_assert_int_eq(stat(path, &status), 0);
        ck_assert_int_eq(time(NULL) - status.st_mtime<HOUR, ages[i]> 24);
    }
}
END_TEST

START_TEST(writers_trim_every_256th_time)
{
    (void)fill();
    dllm__entry_store_destroy(store);
    open_store("1K");
    for (int i = 0; i < 256; i++)
        publish(100);
    ck_assert_uint_eq(dllm__entry_store_evicted(store), ENTRIES);
    ck_assert(is_there(100));
    ck_assert_int_eq(fixture.lines, 1);
}
END_TEST

START_TEST(a_folder_without_tag_is_no_cache)
{
    char path[FIXTURE_PATH_BYTES];
    dllm_trim_report report;
    (void)fill();
    fixture_path(path, &fixture, "v1/CACHEDIR.TAG");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(!dllm__cache_trim(&report, &fixture.dir, 0, false));
    ck_assert(!dllm__cache_clear(&report, &fixture.dir, true, true, false));
    for (int i = 0; i < ENTRIES; i++)
        ck_assert(is_there(i));
}
END_TEST

START_TEST(clearing_takes_what_it_is_told)
{
    char why[DLLM_WHY_BYTES];
    dllm_trim_report report;
    (void)fill();
    ck_assert(dllm__text_publish(&fixture.dir, &dllm__file_calls, "v1/t/fake", "a.plan", "x", why));
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, false, true));
    ck_assert_int_eq(report.removed, ENTRIES);
    ck_assert(is_there(0));
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, false, false));
    ck_assert(!is_there(0));
    ck_assert_int_eq(fixture_count(&fixture, "v1/t/fake"), 1);
    ck_assert(dllm__cache_clear(&report, &fixture.dir, false, true, false));
    ck_assert_int_eq(fixture_count(&fixture, "v1/t/fake"), 0);
}
END_TEST

START_TEST(clearing_counts_what_it_leaves)
{
    static const char *const strange[] = {"v1/tmp/folder", "v1/k/notes"};
    char path[FIXTURE_PATH_BYTES];
    dllm_trim_report report;
    (void)fill();
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, true, false));
    ck_assert_int_eq(report.removed, report.entries);
    ck_assert_str_eq(report.left, "");
    fixture_path(path, &fixture, "v1/tmp");
    (void)mkdir(path, 0700);
    fixture_path(path, &fixture, strange[0]);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    fixture_path(path, &fixture, strange[1]);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, true, false));
    ck_assert_int_eq(report.entries, 2);
    ck_assert_int_eq(report.removed, 0);
    ck_assert_str_eq(report.left, strange[1]);
    ck_assert_str_eq(report.left_why, "notes: Not a directory");
    ck_assert(dllm__cache_clear(&report, &fixture.dir, false, true, false));
    ck_assert_str_eq(report.left, "");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, true, false));
    ck_assert_str_eq(report.left, strange[0]);
    ck_assert_str_eq(report.left_why, strerror(EISDIR));
}
END_TEST

/* What is in a folder that may not be used is not removed, and not passed over in silence. */
START_TEST(clearing_names_a_folder_that_it_leaves)
{
    dllm_trim_report report;
    fill_for_the_world();
    ck_assert(dllm__cache_clear(&report, &fixture.dir, true, false, false));
    check_left(&report);
    ck_assert(is_there(0));
}
END_TEST

START_TEST(sizes_are_read_or_refused)
{
    uint64_t bytes = 0;
    static const char *const wrong[] = {
        "", "G", "-1", "1.5G", "1GB", "99999999999999999999", "99999999999T", " 1"};
    ck_assert(dllm__parse_bytes(&bytes, "0") && bytes == 0);
    ck_assert(dllm__parse_bytes(&bytes, "500M") && bytes == (uint64_t)500 << 20);
    ck_assert(dllm__parse_bytes(&bytes, "2T") && bytes == (uint64_t)2 << 40);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!dllm__parse_bytes(&bytes, wrong[i]), "%s", wrong[i]);
}
END_TEST

/* Once a bad limit was taken as the default in silence. */
START_TEST(a_limit_that_is_no_size_is_told)
{
    static const char *const wrong[] = {"nonsense", "-5", "12x"};
    char why[DLLM_WHY_BYTES], wanted[64];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        dllm__entry_store_destroy(store);
        fixture.lines = 0;
        open_store(wrong[i]);
        ck_assert_int_eq(fixture.lines, 1);
        (void)snprintf(wanted, sizeof wanted, "DLLM_CACHE_MAX is \"%s\", not a size such as 500M",
                       wrong[i]);
        ck_assert_msg(strstr(fixture.last_line, wanted), "%s", fixture.last_line);
        ck_assert_uint_eq(dllm__cache_limit(why), (uint64_t)2 << 30);
        ck_assert_str_eq(why, fixture.last_line);
    }
}
END_TEST

START_TEST(a_limit_that_is_a_size_or_empty_is_not)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {{"", (uint64_t)2 << 30}, {"0", 0}, {"3K", 3072}};
    char why[DLLM_WHY_BYTES];
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        dllm__entry_store_destroy(store);
        open_store(right[i].text);
        ck_assert_uint_eq(dllm__cache_limit(why), right[i].bytes);
        ck_assert_str_eq(why, "");
    }
    ck_assert_int_eq(fixture.lines, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_trim");
    TCase *trim = tcase_create("trim");
    tcase_add_checked_fixture(trim, make, clean);
    tcase_set_timeout(trim, 60);
    tcase_add_test(trim, the_longest_unused_go_first);
    tcase_add_test(trim, a_dry_run_removes_nothing);
    tcase_add_test(trim, nothing_younger_than_an_hour_goes);
    if (geteuid() == 0) tcase_add_test(trim, trimming_names_a_file_that_it_leaves);
    tcase_add_test(trim, trimming_names_a_folder_that_it_leaves);
    tcase_add_test(trim, a_hit_sets_the_stamp_once_a_day);
    tcase_add_test(trim, writers_trim_every_256th_time);
    tcase_add_test(trim, a_folder_without_tag_is_no_cache);
    tcase_add_test(trim, clearing_takes_what_it_is_told);
    tcase_add_test(trim, clearing_counts_what_it_leaves);
    tcase_add_test(trim, clearing_names_a_folder_that_it_leaves);
    tcase_add_test(trim, sizes_are_read_or_refused);
    tcase_add_test(trim, a_limit_that_is_no_size_is_told);
    tcase_add_test(trim, a_limit_that_is_a_size_or_empty_is_not);
    suite_add_tcase(suite, trim);
    return check_suite_run(suite);
}
