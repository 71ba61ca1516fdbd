/* test_sha256.c - the standard's examples, and pieces of any size */
#include "check_suite.h"

#include "sha256.h"

#include <stdlib.h>
#include <string.h>

static void digest_text(char hex[DLLM_SHA256_HEX_BYTES], const void *bytes, size_t size)
{
    unsigned char digest[DLLM_SHA256_BYTES];
    dllm__sha256(digest, bytes, size);
    dllm__sha256_hex(hex, digest);
}

static const struct {
    const char *message;
    const char *hex;
} examples[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrs"
     "mnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

START_TEST(matches_the_standards_examples)
{
    char hex[DLLM_SHA256_HEX_BYTES];
    digest_text(hex, examples[_i].message, strlen(examples[_i].message));
    ck_assert_str_eq(hex, examples[_i].hex);
}
END_TEST

START_TEST(matches_a_million_letters)
{
    enum { LETTERS = 1000000 };
    char hex[DLLM_SHA256_HEX_BYTES];
    char *letters = malloc(LETTERS);
    ck_assert_ptr_nonnull(letters);
    memset(letters, 'a', LETTERS);
    digest_text(hex, letters, LETTERS);
    free(letters);
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(does_not_depend_on_how_the_bytes_are_cut)
{
    unsigned char bytes[200];
    unsigned char whole[DLLM_SHA256_BYTES];
    unsigned char cut[DLLM_SHA256_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        dllm__sha256(whole, bytes, size);
        for (size_t at = 0; at <= size; at++) {
            dllm_sha256 sha;
            dllm__sha256_start(&sha);
            dllm__sha256_add(&sha, bytes, at);
            dllm__sha256_add(&sha, bytes + at, size - at);
            dllm__sha256_finish(&sha, cut);
            ck_assert_msg(memcmp(whole, cut, sizeof cut) == 0, "size %zu cut at %zu", size, at);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sha256");
    TCase *values = tcase_create("values");
    tcase_add_loop_test(values, matches_the_standards_examples, 0,
                        (int)(sizeof examples / sizeof examples[0]));
    tcase_add_test(values, matches_a_million_letters);
    tcase_add_test(values, does_not_depend_on_how_the_bytes_are_cut);
    suite_add_tcase(suite, values);
    return check_suite_run(suite);
}
