/* test_plan_file.c - tuned choices on disk: read whole or refused, published whole or not at all */
#include "cache_fixture.h"
#include "check_suite.h"

#include "plan_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cache_fixture fixture;
static const char device[] = "NVIDIA H200";
static const char key[] = "arch sm_90a\nrows 512\n";

static void make(void)
{
    fixture_make(&fixture);
}

static void clean(void)
{
    fixture_remove(&fixture);
}

static dllm_plan_file some_file(void)
{
    dllm_plan_file file;
    (void)snprintf(file.key, sizeof file.key, "%s", key);
    (void)snprintf(file.choice, sizeof file.choice, "family sm90\nsplits 33\n");
    (void)snprintf(file.beside, sizeof file.beside, "date 2026-11-30T00:00:00Z\n");
    return file;
}

static void path_of(char path[FIXTURE_PATH_BYTES], const char *of_key)
{
    char name[DLLM_PLAN_NAME_BYTES], below[DLLM_PLAN_FOLDER_BYTES + DLLM_PLAN_NAME_BYTES + 1];
    dllm__plan_folder(below, device);
    dllm__plan_name(name, of_key);
    (void)snprintf(below + strlen(below), sizeof name + 1, "/%s", name);
    fixture_path(path, &fixture, below);
}

static void publish(void)
{
    char why[DLLM_WHY_BYTES];
    const dllm_plan_file file = some_file();
    ck_assert_msg(dllm__plan_file_publish(&fixture.dir, &dllm__file_calls, device, &file, why),
                  "%s", why);
}

static bool find(char *why)
{
    dllm_plan_file file;
    return dllm__plan_file_find(&file, &fixture.dir, device, key, why);
}

START_TEST(what_is_published_is_found)
{
    dllm_plan_file file;
    char why[DLLM_WHY_BYTES];
    ck_assert(!find(why));
    ck_assert_str_eq(why, "");
    publish();
    ck_assert(dllm__plan_file_find(&file, &fixture.dir, device, key, why));
    ck_assert_str_eq(file.choice, some_file().choice);
    ck_assert_str_eq(file.beside, some_file().beside);
    ck_assert(!dllm__plan_file_find(&file, &fixture.dir, "another", key, why));
    ck_assert(!dllm__plan_file_find(&file, &fixture.dir, device, "rows 1\n", why));
}
END_TEST

START_TEST(a_folder_is_named_after_its_device)
{
    char folder[DLLM_PLAN_FOLDER_BYTES], name[DLLM_PLAN_NAME_BYTES];
    dllm__plan_folder(folder, "NVIDIA A100-SXM4/../80GB");
    ck_assert_str_eq(folder, "v1/t/nvidia-a100-sxm4----80gb");
    dllm__plan_folder(folder, "");
    ck_assert_str_eq(folder, "v1/t/-");
    dllm__plan_name(name, key);
    ck_assert_uint_eq(strlen(name), 64 + strlen(".plan"));
}
END_TEST

START_TEST(a_file_cut_off_anywhere_is_refused)
{
    char path[FIXTURE_PATH_BYTES], why[DLLM_WHY_BYTES];
    size_t size;
    publish();
    path_of(path, key);
    unsigned char *bytes = fixture_read(&size, path);
    for (size_t length = size; length-- > 0;) {
        fixture_write(path, bytes, length);
        ck_assert_msg(!find(why) && why[0], "cut at %zu", length);
    }
    fixture_write(path, bytes, size);
    ck_assert(find(why));
    free(bytes);
}
END_TEST

START_TEST(a_flipped_byte_never_changes_the_key)
{
    char path[FIXTURE_PATH_BYTES], why[DLLM_WHY_BYTES];
    size_t size;
    publish();
    path_of(path, key);
    unsigned char *bytes = fixture_read(&size, path);
    for (size_t i = 0; i < strlen("format 1\n") + strlen(key); i++) {
        bytes[i] ^= 4;
        fixture_write(path, bytes, size);
        ck_assert_msg(!find(why), "byte %zu", i);
        bytes[i] ^= 4;
    }
    bytes[size - 8] = '\0';
    fixture_write(path, bytes, size);
    ck_assert(!find(why));
    ck_assert_ptr_nonnull(strstr(why, "no text"));
    free(bytes);
}
END_TEST

START_TEST(a_file_of_another_key_is_refused)
{
    char from[FIXTURE_PATH_BYTES], to[FIXTURE_PATH_BYTES], why[DLLM_WHY_BYTES];
    dllm_plan_file file;
    publish();
    path_of(from, key);
    path_of(to, "rows 1\n");
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert(!dllm__plan_file_find(&file, &fixture.dir, device, "rows 1\n", why));
    ck_assert_str_eq(why, "its key is another one");
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    char path[FIXTURE_PATH_BYTES], aside[FIXTURE_PATH_BYTES + 8], why[DLLM_WHY_BYTES];
    publish();
    path_of(path, key);
    (void)snprintf(aside, sizeof aside, "%s.aside", path);
    ck_assert_int_eq(rename(path, aside), 0);
    ck_assert_int_eq(symlink(aside, path), 0);
    ck_assert(!find(why));
    ck_assert_str_eq(why, "it is a link");
}
END_TEST

static int sync_that_fails(int fd)
{
    (void)fd;
    return -1;
}

START_TEST(a_failed_publication_keeps_the_older_file)
{
    char why[DLLM_WHY_BYTES];
    dllm_file_calls calls = dllm__file_calls;
    const dllm_plan_file file = some_file();
    publish();
    calls.sync = sync_that_fails;
    ck_assert(!dllm__plan_file_publish(&fixture.dir, &calls, device, &file, why));
    ck_assert_ptr_nonnull(strstr(why, "fsync"));
    ck_assert(find(why));
    ck_assert_int_eq(fixture_count(&fixture, "v1/tmp"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_file");
    TCase *group = tcase_create("files");
    tcase_add_checked_fixture(group, make, clean);
    tcase_add_test(group, what_is_published_is_found);
    tcase_add_test(group, a_folder_is_named_after_its_device);
    tcase_add_test(group, a_file_cut_off_anywhere_is_refused);
    tcase_add_test(group, a_flipped_byte_never_changes_the_key);
    tcase_add_test(group, a_file_of_another_key_is_refused);
    tcase_add_test(group, a_link_is_not_followed);
    tcase_add_test(group, a_failed_publication_keeps_the_older_file);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
