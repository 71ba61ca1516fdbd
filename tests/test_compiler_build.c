/* test_compiler_build.c - the full version read from a cubin, and what a cache folder remembers of it */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_suite.h"
#include "compiler_build.h"
#include "scratch.h"

static char folder[SCRATCH_BYTES];
static dllm_nvrtc nvrtc;
static char why[DLLM_WHY_BYTES];

/** A "library" made of two files in the scratch folder: what counts is their size and times. */
static void make_library(void)
{
    scratch_make(folder);
    memset(&nvrtc, 0, sizeof nvrtc);
    nvrtc.major = 13;
    nvrtc.minor = 9;
    (void)snprintf(nvrtc.path, sizeof nvrtc.path, "%s/libnvrtc.so.13", folder);
    scratch_write(folder, "libnvrtc.so.13", "library");
    scratch_write(folder, "libnvrtc-builtins.so.13.9", "builtins");
}

static void remove_library(void)
{
    scratch_remove(folder);
}

static bool build_in(char out[DLLM_COMPILER_BUILD_BYTES], const char *bytes, size_t size)
{
    const dllm_compile_answer answer = {.cubin = (unsigned char *)bytes, .cubin_bytes = size};
    return dllm__build_of_probe(out, &answer);
}

static void memory_file(char path[PATH_MAX])
{
    char identity[DLLM_COMPILER_IDENTITY_BYTES];
    ck_assert(dllm__build_identity(identity, &nvrtc));
    (void)snprintf(path, PATH_MAX, "%s/v1/nvrtc/%s", folder, identity);
}

START_TEST(build_is_found_in_the_table_of_names)
{
    static const char cubin[] = "\177ELF\0\0.text.dllm_build_13_0_88_\0rest";
    char build[DLLM_COMPILER_BUILD_BYTES];
    ck_assert(build_in(build, cubin, sizeof cubin));
    ck_assert_str_eq(build, "13.0.88");
}
END_TEST

START_TEST(name_that_is_cut_or_no_version_is_refused)
{
    static const char *const bad[] = {"no name",
                                      "dllm_build_13_0",
                                      "dllm_build_13_0_88",
                                      "dllm_build_13__88_",
                                      "dllm_build_13_0_-8_",
                                      "dllm_build_"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char build[DLLM_COMPILER_BUILD_BYTES];
        char *exact = strndup(bad[i], strlen(bad[i]));
        ck_assert_ptr_nonnull(exact);
        ck_assert_msg(!build_in(build, exact, strlen(exact)), "%s", bad[i]);
        free(exact);
    }
}
END_TEST

START_TEST(remembered_build_is_recalled)
{
    char build[DLLM_COMPILER_BUILD_BYTES];
    ck_assert(!dllm__build_recall(build, &nvrtc, folder));
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    ck_assert(dllm__build_recall(build, &nvrtc, folder));
    ck_assert_str_eq(build, "13.9.42");
}
END_TEST

/* Rewriting keeps inode and length: the change time alone tells. */
START_TEST(changed_library_or_builtins_is_another_compiler)
{
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc-builtins.so.13.9"};
    for (int i = 0; i < 2; i++) {
        char build[DLLM_COMPILER_BUILD_BYTES];
        ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
        ck_assert(dllm__build_recall(build, &nvrtc, folder));
        ck_assert_int_eq(usleep(20000), 0);
        scratch_write(folder, files[i], i ? "BUILTINS" : "LIBRARY");
        ck_assert_msg(!dllm__build_recall(build, &nvrtc, folder), "%s", files[i]);
    }
}
END_TEST

START_TEST(memory_that_is_no_build_of_this_version_is_ignored)
{
    static const char *const bad[] = {
        "",          "13.9.42",    "13.8.42\n", "13.9.\n",
        "13.9.4x\n", "13.9.4\n\n", "../../x\n", "13.9.4222222222222222222222222222222222\n"};
    char path[PATH_MAX];
    char build[DLLM_COMPILER_BUILD_BYTES];
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    memory_file(path);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scratch_write(folder, path + strlen(folder) + 1, bad[i]);
        ck_assert_msg(!dllm__build_recall(build, &nvrtc, folder), "\"%s\"", bad[i]);
    }
}
END_TEST

START_TEST(memory_that_the_world_may_write_is_ignored)
{
    char path[PATH_MAX];
    char build[DLLM_COMPILER_BUILD_BYTES];
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    memory_file(path);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert(!dllm__build_recall(build, &nvrtc, folder));
}
END_TEST

START_TEST(link_in_place_of_the_memory_is_not_followed)
{
    char path[PATH_MAX];
    char build[DLLM_COMPILER_BUILD_BYTES];
    char target[2 * SCRATCH_BYTES];
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    memory_file(path);
    (void)snprintf(target, sizeof target, "%s/elsewhere", folder);
    ck_assert_int_eq(rename(path, target), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert(!dllm__build_recall(build, &nvrtc, folder));
}
END_TEST

START_TEST(folder_that_does_not_exist_is_not_made)
{
    char gone[2 * SCRATCH_BYTES];
    (void)snprintf(gone, sizeof gone, "%s/gone", folder);
    ck_assert(!dllm__build_remember(why, "13.9.42", &nvrtc, gone));
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    ck_assert_int_eq(access(gone, F_OK), -1);
}
END_TEST

START_TEST(folder_that_the_world_may_write_is_not_used)
{
    char build[DLLM_COMPILER_BUILD_BYTES];
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert(!dllm__build_recall(build, &nvrtc, folder));
    ck_assert(!dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    ck_assert_ptr_nonnull(strstr(why, "the world may write it"));
}
END_TEST

START_TEST(no_temporary_file_is_left)
{
    char path[2 * SCRATCH_BYTES];
    int count = 0;
    ck_assert(dllm__build_remember(why, "13.9.42", &nvrtc, folder));
    (void)snprintf(path, sizeof path, "%s/v1/tmp", folder);
    DIR *entries = opendir(path);
    ck_assert_ptr_nonnull(entries);
    while (readdir(entries))
        count++;
    ck_assert_int_eq(closedir(entries), 0);
    ck_assert_int_eq(count, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compiler_build");
    TCase *group = tcase_create("probe");
    tcase_add_test(group, build_is_found_in_the_table_of_names);
    tcase_add_test(group, name_that_is_cut_or_no_version_is_refused);
    suite_add_tcase(suite, group);
    group = tcase_create("memory");
    tcase_add_checked_fixture(group, make_library, remove_library);
    tcase_add_test(group, remembered_build_is_recalled);
    tcase_add_test(group, changed_library_or_builtins_is_another_compiler);
    tcase_add_test(group, memory_that_is_no_build_of_this_version_is_ignored);
    tcase_add_test(group, memory_that_the_world_may_write_is_ignored);
    tcase_add_test(group, link_in_place_of_the_memory_is_not_followed);
    tcase_add_test(group, folder_that_does_not_exist_is_not_made);
    tcase_add_test(group, folder_that_the_world_may_write_is_not_used);
    tcase_add_test(group, no_temporary_file_is_left);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
