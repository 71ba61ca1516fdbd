/* test_kernel_sources.c - the embedded table, and what a program includes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_suite.h"
#include "kernel_sources.h"
#include "scratch.h"
#include "sha256.h"
#include "status.h"

static char folder[SCRATCH_BYTES];

static void use_folder(void)
{
    scratch_make(folder);
    ck_assert_int_eq(setenv("DLLM_KERNEL_DIR", folder, 1), 0);
}

static void leave_folder(void)
{
    ck_assert_int_eq(unsetenv("DLLM_KERNEL_DIR"), 0);
    scratch_remove(folder);
}

START_TEST(embedded_table_is_sorted_and_its_digests_are_right)
{
    ck_assert_int_gt(dllm__embedded_source_count, 0);
    for (int i = 0; i < dllm__embedded_source_count; i++) {
        const dllm_source *source = &dllm__embedded_sources[i];
        unsigned char digest[32];
        dllm__sha256(digest, source->bytes, source->size);
        ck_assert_mem_eq(digest, source->digest, sizeof digest);
        ck_assert_uint_eq(strlen((const char *)source->bytes), source->size);
        if (i) ck_assert_str_lt(dllm__embedded_sources[i - 1].name, source->name);
    }
}
END_TEST

START_TEST(embedded_bytes_are_those_of_the_folder)
{
    dllm_source_set embedded;
    dllm_source_set read;
    ck_assert_int_eq(dllm__sources_collect(&embedded, "row_params.h"), DLLM_OK);
    ck_assert_int_eq(setenv("DLLM_KERNEL_DIR", DLLM_SOURCE_DIR "/kernel_src", 1), 0);
    const dllm_status status = dllm__sources_collect(&read, "row_params.h");
    ck_assert_int_eq(unsetenv("DLLM_KERNEL_DIR"), 0);
    ck_assert_int_eq(status, DLLM_OK);
    ck_assert_int_gt(embedded.count, 1);
    ck_assert_int_eq(embedded.count, read.count);
    for (int i = 0; i < read.count; i++) {
        ck_assert_str_eq(embedded.sources[i].name, read.sources[i].name);
        ck_assert_uint_eq(embedded.sources[i].size, read.sources[i].size);
        ck_assert_mem_eq(embedded.sources[i].digest, read.sources[i].digest, 32);
    }
    dllm__sources_release(&embedded);
    dllm__sources_release(&read);
}
END_TEST

START_TEST(unknown_program_is_refused_by_name)
{
    dllm_source_set set;
    ck_assert_int_eq(dllm__sources_collect(&set, "no_such.cu"), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "no_such.cu"));
    ck_assert_int_eq(set.count, 0);
}
END_TEST

START_TEST(headers_follow_the_program_in_order_of_names)
{
    dllm_source_set set;
    static const char *const wanted[] = {"p.cu", "a.cuh", "m.cuh", "z.cuh"};
    scratch_write(folder, "p.cu", "#include \"z.cuh\"\n#include <stdint.h>\n#include \"m.cuh\"\n");
    scratch_write(folder, "z.cuh", "\n\n#if 0\n  #  include\t\"a.cuh\" // why\n#endif\n");
    scratch_write(folder, "m.cuh", "// #include \"no.cuh\"\nint m;");
    scratch_write(folder, "a.cuh", "#include \"z.cuh\"");
    ck_assert_int_eq(dllm__sources_collect(&set, "p.cu"), DLLM_OK);
    ck_assert_int_eq(set.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(set.sources[i].name, wanted[i]);
    ck_assert_str_eq((const char *)set.sources[2].bytes, "// #include \"no.cuh\"\nint m;");
    dllm__sources_release(&set);
    ck_assert_int_eq(set.count, 0);
}
END_TEST

START_TEST(folder_has_digests_of_its_own)
{
    dllm_source_set set;
    unsigned char digest[32];
    scratch_write(folder, "p.cu", "int a;\n");
    dllm__sha256(digest, "int a;\n", 7);
    ck_assert_int_eq(dllm__sources_collect(&set, "p.cu"), DLLM_OK);
    ck_assert_mem_eq(set.sources[0].digest, digest, sizeof digest);
    dllm__sources_release(&set);
}
END_TEST

START_TEST(missing_header_is_refused_by_name)
{
    dllm_source_set set;
    scratch_write(folder, "p.cu", "#include \"gone.cuh\"\n");
    ck_assert_int_eq(dllm__sources_collect(&set, "p.cu"), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "gone.cuh"));
}
END_TEST

START_TEST(file_with_a_zero_byte_is_refused)
{
    dllm_source_set set;
    char path[2 * SCRATCH_BYTES];
    (void)snprintf(path, sizeof path, "%s/p.cu", folder);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("int\0a;", 1, 6, file), 6);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(dllm__sources_collect(&set, "p.cu"), DLLM_UNSUPPORTED);
}
END_TEST

START_TEST(more_headers_than_a_set_holds_are_refused)
{
    dllm_source_set set;
    char text[64 * DLLM_SOURCES_MAX] = "";
    for (int i = 0; i < DLLM_SOURCES_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "h%02d.cuh", i);
        scratch_write(folder, name, "");
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "#include \"%s\"\n", name);
    }
    scratch_write(folder, "p.cu", text);
    ck_assert_int_eq(dllm__sources_collect(&set, "p.cu"), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "more than 31"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_sources");
    TCase *group = tcase_create("embedded");
    tcase_add_test(group, embedded_table_is_sorted_and_its_digests_are_right);
    tcase_add_test(group, embedded_bytes_are_those_of_the_folder);
    tcase_add_test(group, unknown_program_is_refused_by_name);
    suite_add_tcase(suite, group);
    group = tcase_create("folder");
    tcase_add_checked_fixture(group, use_folder, leave_folder);
    tcase_add_test(group, headers_follow_the_program_in_order_of_names);
    tcase_add_test(group, folder_has_digests_of_its_own);
    tcase_add_test(group, missing_header_is_refused_by_name);
    tcase_add_test(group, file_with_a_zero_byte_is_refused);
    tcase_add_test(group, more_headers_than_a_set_holds_are_refused);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
