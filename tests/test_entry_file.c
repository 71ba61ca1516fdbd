/* test_entry_file.c - what is written is read; nothing else is */
#include "check_suite.h"

#include "entry_file.h"
#include "sha256.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char key_text[] = "arch sm_90a\ncompiler 13.0.88\nentry k\n";

enum {
    KEY_BYTES = sizeof key_text - 1,
    PAYLOAD_BYTES = 333,
    FILE_BYTES = DLLM_ENTRY_HEADER_BYTES + KEY_BYTES + PAYLOAD_BYTES
};

static void make_file(unsigned char file[FILE_BYTES])
{
    unsigned char *payload = file + DLLM_ENTRY_HEADER_BYTES + KEY_BYTES;
    for (int i = 0; i < PAYLOAD_BYTES; i++)
        payload[i] = (unsigned char)(i * 7 + 1);
    memcpy(file + DLLM_ENTRY_HEADER_BYTES, key_text, KEY_BYTES);
    const dllm_entry entry = {key_text, KEY_BYTES, payload, PAYLOAD_BYTES};
    dllm__entry_header(file, &entry);
}

/* Makes the header's digest right again, so that the check behind it is the one that is tested. */
static void sign_header(unsigned char file[FILE_BYTES])
{
    dllm_sha256 sha;
    dllm__sha256_start(&sha);
    dllm__sha256_add(&sha, file, 64);
    dllm__sha256_add(&sha, file + DLLM_ENTRY_HEADER_BYTES, KEY_BYTES);
    dllm__sha256_finish(&sha, file + 64);
}

START_TEST(comes_back_as_it_was_written)
{
    unsigned char file[FILE_BYTES];
    dllm_entry entry;
    make_file(file);
    ck_assert_ptr_null(dllm__entry_parse(&entry, file, sizeof file));
    ck_assert_uint_eq(entry.key_bytes, KEY_BYTES);
    ck_assert_mem_eq(entry.key_text, key_text, KEY_BYTES);
    ck_assert_uint_eq(entry.payload_bytes, PAYLOAD_BYTES);
    ck_assert_ptr_eq(entry.payload, file + DLLM_ENTRY_HEADER_BYTES + KEY_BYTES);
}
END_TEST

START_TEST(header_is_laid_out_as_documented)
{
    unsigned char file[FILE_BYTES];
    unsigned char digest[DLLM_SHA256_BYTES];
    static const unsigned char lengths[] = {1, 0, 0, 0, KEY_BYTES, 0, 0, 0, 0x4d, 1, 0, 0,
                                            0, 0, 0, 0, 0,         0, 0, 0, 0,    0, 0, 0};
    make_file(file);
    ck_assert_mem_eq(file, "dllm-dk\n", 8);
    ck_assert_mem_eq(file + 8, lengths, sizeof lengths);
    dllm__sha256(digest, file + DLLM_ENTRY_HEADER_BYTES + KEY_BYTES, PAYLOAD_BYTES);
    ck_assert_mem_eq(file + 32, digest, sizeof digest);
}
END_TEST

/* A copy of exactly that size, so that a sanitizer sees a read beyond it. */
static const char *parse_copy(const unsigned char *file, size_t size)
{
    dllm_entry entry;
    unsigned char *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, file, size);
    const char *reason = dllm__entry_parse(&entry, copy, size);
    free(copy);
    return reason;
}

START_TEST(refuses_every_truncation)
{
    unsigned char file[FILE_BYTES];
    make_file(file);
    for (size_t size = 0; size < sizeof file; size++)
        ck_assert_msg(parse_copy(file, size) != NULL, "%zu of %d bytes pass", size, FILE_BYTES);
}
END_TEST

START_TEST(refuses_a_byte_too_many)
{
    unsigned char file[FILE_BYTES + 1] = {0};
    make_file(file);
    ck_assert_str_eq(parse_copy(file, sizeof file), "size differs from its lengths");
}
END_TEST

START_TEST(refuses_every_flipped_bit)
{
    unsigned char file[FILE_BYTES];
    make_file(file);
    for (size_t bit = 0; bit < 8 * sizeof file; bit++) {
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_msg(parse_copy(file, sizeof file) != NULL, "bit %zu makes no difference", bit);
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}
END_TEST

START_TEST(refuses_random_bytes)
{
    unsigned char file[FILE_BYTES];
    uint32_t random = 12345;
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof file; i++) {
            random = random * 1664525 + 1013904223;
            file[i] = (unsigned char)(random >> 24);
        }
        if (round & 1) memcpy(file, "dllm-dk\n\1\0\0", 12);
        ck_assert_ptr_nonnull(parse_copy(file, sizeof file));
    }
}
END_TEST

static const struct {
    size_t at;
    unsigned char bytes[8];
    size_t size;
    const char *reason;
} signed_faults[] = {
    {0, {'D'}, 1, "not an entry (magic)"},
    {8, {2}, 1, "another format"},
    {12, {0, 0, 0, 0}, 4, "key length out of range"},
    {12, {1, 0, 1, 0}, 4, "key length out of range"},
    {12, {0xff, 0xff, 0xff, 0xff}, 4, "key length out of range"},
    {16, {0, 0, 0, 0, 0, 0, 0, 0}, 8, "payload length out of range"},
    {16, {1, 0, 0, 0x10, 0, 0, 0, 0}, 8, "payload length out of range"},
    {16, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, "payload length out of range"},
    {16, {0x4e, 1}, 2, "size differs from its lengths"},
    {24, {0, 0, 0, 0, 0, 0, 0, 1}, 8, "reserved bytes are not zero"},
    {32, {0}, 1, "payload digest differs"},
};

START_TEST(refuses_a_signed_header_that_lies)
{
    unsigned char file[FILE_BYTES];
    make_file(file);
    memcpy(file + signed_faults[_i].at, signed_faults[_i].bytes, signed_faults[_i].size);
    sign_header(file);
    ck_assert_str_eq(parse_copy(file, sizeof file), signed_faults[_i].reason);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entry_file");
    TCase *layout = tcase_create("layout");
    tcase_add_test(layout, comes_back_as_it_was_written);
    tcase_add_test(layout, header_is_laid_out_as_documented);
    suite_add_tcase(suite, layout);
    TCase *faults = tcase_create("faults");
    tcase_add_test(faults, refuses_every_truncation);
    tcase_add_test(faults, refuses_a_byte_too_many);
    tcase_add_test(faults, refuses_every_flipped_bit);
    tcase_add_test(faults, refuses_random_bytes);
    tcase_add_loop_test(faults, refuses_a_signed_header_that_lies, 0,
                        (int)(sizeof signed_faults / sizeof signed_faults[0]));
    suite_add_tcase(suite, faults);
    return check_suite_run(suite);
}
