/* test_pack_file.c - the archive: equal contents, equal bytes; nothing else is read */
#include "check_suite.h"

#include "pack_fixture.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *pack;
static size_t bytes;

static void make(void)
{
    pack = pack_sample(&bytes);
}

static void clean(void)
{
    free(pack);
}

START_TEST(members_come_back_in_order)
{
    dllm_pack_reader reader;
    dllm_pack_member member;
    char before[512] = "", path[512];
    int count = 0;
    for (dllm__pack_open(&reader, pack, bytes); dllm__pack_next(&member, &reader); count++) {
        (void)snprintf(path, sizeof path, "%s/%s", member.folder, member.name);
        ck_assert_str_lt(before, path);
        ck_assert(!member.damaged);
        memcpy(before, path, sizeof before);
    }
    ck_assert_ptr_null(reader.reason);
    ck_assert_int_eq(count, 3);
}
END_TEST

START_TEST(the_order_of_adding_makes_no_difference)
{
    dllm_pack_list list = {0};
    size_t other_bytes;
    pack_add_plan(&list, "rows 64", 10.0);
    pack_add_kernel(&list, 2, "another");
    pack_add_kernel(&list, 2, "two");
    pack_add_kernel(&list, 1, "one");
    unsigned char *other = pack_finish(&other_bytes, &list);
    ck_assert_uint_eq(other_bytes, bytes);
    ck_assert_mem_eq(other, pack, bytes);
    free(other);
}
END_TEST

START_TEST(an_empty_pack_is_one)
{
    dllm_pack_list list = {0};
    size_t empty_bytes;
    unsigned char *empty = pack_finish(&empty_bytes, &list);
    ck_assert_ptr_null(dllm__pack_check(empty, empty_bytes));
    free(empty);
}
END_TEST

START_TEST(tar_and_sha256sum_read_it)
{
    char folder[SCRATCH_BYTES], path[2 * SCRATCH_BYTES], command[8 * SCRATCH_BYTES];
    scratch_make(folder);
    (void)snprintf(path, sizeof path, "%s/pack", folder);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(pack, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
    (void)snprintf(command, sizeof command,
                   "cd %s && tar xf pack && sha256sum --quiet -c dllm-pack-1", folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): the path is the test's own */
    scratch_remove(folder);
}
END_TEST

START_TEST(refuses_every_truncation_and_a_byte_too_many)
{
    unsigned char *copy = calloc(1, bytes + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, pack, bytes);
    for (size_t length = 0; length < bytes; length++)
        ck_assert_msg(dllm__pack_check(copy, length) != NULL, "%zu bytes", length);
    ck_assert_ptr_nonnull(dllm__pack_check(copy, bytes + 1));
    free(copy);
}
END_TEST

/* Each flip makes it no pack, or costs exactly one entry; none goes unnoticed. */
START_TEST(no_flipped_bit_goes_unnoticed)
{
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        pack[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (!dllm__pack_check(pack, bytes)) {
            const dllm_cache_report report = pack_judge(pack, bytes);
            ck_assert_msg(report.corrupt == 1 && report.added == 2, "bit %zu", bit);
        }
        pack[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

START_TEST(members_out_of_order_are_refused)
{
    dllm_pack_list list = {0};
    size_t other_bytes;
    pack_add_kernel(&list, 1, "same length");
    pack_add_kernel(&list, 2, "same length");
    unsigned char *other = pack_finish(&other_bytes, &list);
    const size_t member = (other_bytes - (size_t)4 * 512) / 2; /* both are of one size */
    unsigned char *swap = malloc(member);
    ck_assert_ptr_nonnull(swap);
    ck_assert_ptr_null(dllm__pack_check(other, other_bytes));
    memcpy(swap, other + 1024, member);
    memmove(other + 1024, other + 1024 + member, member);
    memcpy(other + 1024 + member, swap, member);
    ck_assert_ptr_nonnull(dllm__pack_check(other, other_bytes));
    free(swap);
    free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack_file");
    TCase *archive = tcase_create("archive");
    tcase_add_checked_fixture(archive, make, clean);
    tcase_set_timeout(archive, 60);
    tcase_add_test(archive, members_come_back_in_order);
    tcase_add_test(archive, the_order_of_adding_makes_no_difference);
    tcase_add_test(archive, an_empty_pack_is_one);
    tcase_add_test(archive, tar_and_sha256sum_read_it);
    tcase_add_test(archive, refuses_every_truncation_and_a_byte_too_many);
    tcase_add_test(archive, no_flipped_bit_goes_unnoticed);
    tcase_add_test(archive, members_out_of_order_are_refused);
    suite_add_tcase(suite, archive);
    return check_suite_run(suite);
}
