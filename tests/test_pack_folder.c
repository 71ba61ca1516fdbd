/* test_pack_folder.c - packs into a folder and back; of two entries the better is kept */
#include "check_suite.h"

#include "cache_fixture.h"
#include "entry_store.h"
#include "pack_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cache_fixture fixture;
static unsigned char *pack;
static size_t bytes;

static void make(void)
{
    fixture_make(&fixture);
    pack = pack_sample(&bytes);
}

static void clean(void)
{
    free(pack);
    fixture_remove(&fixture);
}

static dllm_cache_report import(const unsigned char *given, size_t given_bytes)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    ck_assert_int_eq(
        dllm__pack_import_folder(&report, &fixture.dir, given, given_bytes, false, &fixture.log),
        DLLM_OK);
    return report;
}

START_TEST(goes_into_a_folder_and_comes_out_the_same)
{
    dllm_pack_list list = {0};
    size_t again_bytes;
    ck_assert_uint_eq(import(pack, bytes).added, 3);
    ck_assert(dllm__pack_list_add_folder(&list, NULL, &fixture.dir));
    unsigned char *again = pack_finish(&again_bytes, &list);
    ck_assert_uint_eq(again_bytes, bytes);
    ck_assert_mem_eq(again, pack, bytes);
    free(again);
}
END_TEST

START_TEST(a_second_time_all_is_the_same)
{
    (void)import(pack, bytes);
    const dllm_cache_report report = import(pack, bytes);
    ck_assert_uint_eq(report.same, 3);
    ck_assert_uint_eq(report.added + report.worse + report.corrupt + report.failed, 0);
}
END_TEST

START_TEST(of_two_kernels_the_one_that_is_here_stays)
{
    dllm_pack_list list = {0};
    size_t other_bytes;
    (void)import(pack, bytes);
    pack_add_kernel(&list, 1, "uno");
    unsigned char *other = pack_finish(&other_bytes, &list);
    ck_assert_uint_eq(import(other, other_bytes).worse, 1);
    ck_assert_uint_eq(import(pack, bytes).same, 3);
    free(other);
}
END_TEST

START_TEST(of_two_tuned_choices_the_faster_stays)
{
    const double medians[] = {9.0, 11.0};
    (void)import(pack, bytes);
    for (int i = 0; i < 2; i++) {
        dllm_pack_list list = {0};
        size_t other_bytes;
        pack_add_plan(&list, "rows 64", medians[i]);
        unsigned char *other = pack_finish(&other_bytes, &list);
        const dllm_cache_report report = import(other, other_bytes);
        ck_assert_uint_eq(report.added, i == 0);
        ck_assert_uint_eq(report.worse, i == 1);
        free(other);
    }
}
END_TEST

START_TEST(a_bad_entry_that_is_here_gives_way)
{
    char path[FIXTURE_PATH_BYTES];
    const dllm_kernel_key key = fixture_key(1);
    (void)import(pack, bytes);
    fixture_entry_path(path, &fixture, &key, "13.0.88");
    fixture_write(path, "x", 1);
    const dllm_cache_report report = import(pack, bytes);
    ck_assert_uint_eq(report.added, 1);
    ck_assert_uint_eq(report.same, 2);
}
END_TEST

START_TEST(an_entry_of_a_later_format_is_incompatible)
{
    dllm_pack_list list = {0};
    size_t other_bytes;
    pack_add_kernel(&list, 1, "one");
    ((unsigned char *)list.members[0].bytes)[8] = 2;
    unsigned char *other = pack_finish(&other_bytes, &list);
    ck_assert_uint_eq(pack_judge(other, other_bytes).incompatible, 1);
    free(other);
}
END_TEST

/* The manifest is right in each: what it signs is not what its path says. */
START_TEST(paths_that_lie_are_corrupt)
{
    static const char *const folders[] = {"v1/k/zz",   "v1/k",      "v1/bad", "../../etc",
                                          "v1/t/fake", "v1/t/../k", ""};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        dllm_pack_list list = {0};
        size_t other_bytes;
        pack_add_kernel(&list, 1, "one");
        (void)snprintf(list.members[0].folder, sizeof list.members[0].folder, "%s", folders[i]);
        unsigned char *other = pack_finish(&other_bytes, &list);
        const dllm_cache_report report = pack_judge(other, other_bytes);
        ck_assert_msg(report.corrupt == 1 && report.added == 0, "%s", folders[i]);
        free(other);
    }
}
END_TEST

START_TEST(a_dry_run_counts_and_writes_nothing)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    ck_assert_int_eq(
        dllm__pack_import_folder(&report, &fixture.dir, pack, bytes, true, &fixture.log), DLLM_OK);
    ck_assert_uint_eq(report.added, 3);
    ck_assert_int_eq(access(fixture.folder, F_OK), -1);
}
END_TEST

START_TEST(what_cannot_be_stored_is_counted_and_told)
{
    fixture_write(fixture.folder, "", 0);
    const dllm_cache_report report = import(pack, bytes);
    ck_assert_uint_eq(report.failed, 3);
    ck_assert_uint_eq(report.added, 0);
    ck_assert_int_eq(fixture.lines, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack_folder");
    TCase *folder = tcase_create("folder");
    tcase_add_checked_fixture(folder, make, clean);
    tcase_add_test(folder, goes_into_a_folder_and_comes_out_the_same);
    tcase_add_test(folder, a_second_time_all_is_the_same);
    tcase_add_test(folder, of_two_kernels_the_one_that_is_here_stays);
    tcase_add_test(folder, of_two_tuned_choices_the_faster_stays);
    tcase_add_test(folder, a_bad_entry_that_is_here_gives_way);
    tcase_add_test(folder, an_entry_of_a_later_format_is_incompatible);
    tcase_add_test(folder, paths_that_lie_are_corrupt);
    tcase_add_test(folder, a_dry_run_counts_and_writes_nothing);
    tcase_add_test(folder, what_cannot_be_stored_is_counted_and_told);
    suite_add_tcase(suite, folder);
    return check_suite_run(suite);
}
