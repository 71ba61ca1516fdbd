/* test_tokenizer.c - pieces, merges, escapes; the vocabulary of the tree against golden.json */
#include "check_suite.h"
#include "scratch.h"
#include "tokenizer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUSTEN DLLM_SOURCE_DIR "/tests/data/austen/"

static char folder[SCRATCH_BYTES];
static char path[SCRATCH_BYTES + 32];
static dllm_tokenizer *tokenizer;
static dllm_message message;

static void make_folder(void)
{
    scratch_make(folder);
    ck_assert_int_gt(snprintf(path, sizeof path, "%s/vocab.txt", folder), 0);
    tokenizer = NULL;
    message.text[0] = '\0';
}

static void remove_folder(void)
{
    dllm_tokenizer_close(tokenizer);
    scratch_remove(folder);
}

/** Opens a vocabulary of the 256 bytes, all as escapes, and then these lines. */
static bool open_vocabulary(const char *lines)
{
    char text[4096];
    size_t used = 0;
    for (unsigned byte = 0; byte < 256; byte++)
        used += (size_t)snprintf(text + used, sizeof text - used, "\\x%02x\n", byte);
    ck_assert_int_gt(snprintf(text + used, sizeof text - used, "%s", lines), -1);
    scratch_write(folder, "vocab.txt", text);
    return dllm_tokenizer_open(&tokenizer, path, &message);
}

/** The ids of a text, from 256 on as those of the further lines, as "97 256". */
static const char *encode(const char *text)
{
    static char out[512];
    int32_t ids[64];
    int64_t count = 0;
    ck_assert(dllm_tokenizer_encode(tokenizer, text, strlen(text), ids, &count, &message));
    out[0] = '\0';
    for (int64_t i = 0; i < count; i++)
        ck_assert_int_gt(sprintf(out + strlen(out), "%s%d", i ? " " : "", (int)ids[i]), 0);
    return out;
}

/* ---- encoding -------------------------------------------------------------------------------- */

START_TEST(joins_pair_with_lowest_id_first)
{
    ck_assert_msg(open_vocabulary("bc\nab\n"), "%s", message.text);
    ck_assert_str_eq(encode("abc"), "97 256"); /* bc is 256, ab 257 */
}
END_TEST

START_TEST(joins_leftmost_of_equal_pairs)
{
    ck_assert_msg(open_vocabulary("aa\n"), "%s", message.text);
    ck_assert_str_eq(encode("aaa"), "256 97");
}
END_TEST

START_TEST(joins_until_nothing_is_left)
{
    ck_assert_msg(open_vocabulary("ab\ncd\nabcd\n"), "%s", message.text);
    ck_assert_str_eq(encode("abcdab"), "258 256");
}
END_TEST

START_TEST(never_joins_across_pieces)
{
    ck_assert_msg(open_vocabulary("a.\nb\\x20\n\\x20a\n\\x0a\\x0a\n"), "%s", message.text);
    ck_assert_str_eq(encode("a."), "97 46");
    ck_assert_str_eq(encode("b a"), "98 258");
    ck_assert_str_eq(encode("\n\n"), "10 10");
}
END_TEST

START_TEST(takes_space_into_piece)
{
    /* two spaces, space and digit, but not space and newline, nor two digits */
    ck_assert_msg(open_vocabulary("\\x20\\x20\n\\x201\n\\x20\\x0a\n11\n"), "%s", message.text);
    ck_assert_str_eq(encode("  "), "256");
    ck_assert_str_eq(encode(" 1"), "257");
    ck_assert_str_eq(encode(" \n"), "32 10");
    ck_assert_str_eq(encode("11"), "49 49");
    ck_assert_str_eq(encode(" "), "32");
    ck_assert_str_eq(encode("   a"), "256 32 97");
}
END_TEST

START_TEST(encodes_empty_text_as_nothing)
{
    ck_assert_msg(open_vocabulary(""), "%s", message.text);
    ck_assert_str_eq(encode(""), "");
}
END_TEST

START_TEST(encodes_bytes_above_127)
{
    ck_assert_msg(open_vocabulary("\\xc3\\xa9\n"), "%s", message.text);
    ck_assert_str_eq(encode("\xc3\xa9"), "195 169"); /* each byte is a piece of its own */
}
END_TEST

START_TEST(decodes_every_byte)
{
    ck_assert_msg(open_vocabulary("\\x5cx\n"), "%s", message.text);
    const int32_t ids[] = {0, 255, 256, 10};
    char *text = NULL;
    size_t bytes = 0;
    ck_assert(dllm_tokenizer_decode(tokenizer, ids, 4, &text, &bytes, &message));
    ck_assert_uint_eq(bytes, 5);
    ck_assert_mem_eq(text, "\0\xff\\x\n", 6);
    free(text);
}
END_TEST

/* ---- vocabulary ------------------------------------------------------------------------------ */

static const struct {
    const char *lines;
    const char *reason;
} broken[] = {
    {"a\\x2\n", "line 257 is empty or has an escape other than"},
    {"\\n\n", "line 257"},
    {"\\xg0\n", "line 257"},
    {"a\n\nb\n", "line 258"},
};

START_TEST(refuses_broken_line)
{
    ck_assert(!open_vocabulary(broken[_i].lines));
    ck_assert_msg(strstr(message.text, broken[_i].reason), "%s", message.text);
}
END_TEST

START_TEST(refuses_vocabulary_without_a_byte)
{
    scratch_write(folder, "vocab.txt", "a\nb\n");
    ck_assert(!dllm_tokenizer_open(&tokenizer, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "byte 0x00 has no token"));
}
END_TEST

START_TEST(refuses_absent_file)
{
    ck_assert(!dllm_tokenizer_open(&tokenizer, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "cannot be opened"));
}
END_TEST

START_TEST(counts_last_line_without_newline)
{
    ck_assert_msg(open_vocabulary("ab\ncd"), "%s", message.text);
    ck_assert_int_eq(dllm_tokenizer_count(tokenizer), 258);
    ck_assert_str_eq(encode("cd"), "257");
}
END_TEST

/* ---- the vocabulary of the tree -------------------------------------------------------------- */

static void open_austen(void)
{
    ck_assert_msg(dllm_tokenizer_open(&tokenizer, AUSTEN "vocab.txt", &message), "%s",
                  message.text);
}

static void close_austen(void)
{
    dllm_tokenizer_close(tokenizer);
}

static void check_prompt(const json_t *run)
{
    const char *prompt = json_string_value(json_object_get(run, "prompt"));
    const json_t *wanted = json_object_get(run, "prompt_ids");
    int32_t ids[256];
    int64_t count = 0;
    ck_assert(dllm_tokenizer_encode(tokenizer, prompt, strlen(prompt), ids, &count, &message));
    ck_assert_int_eq(count, (int64_t)json_array_size(wanted));
    for (size_t i = 0; i < json_array_size(wanted); i++)
        ck_assert(ids[i] == json_integer_value(json_array_get(wanted, i)));
}

static void check_text(const json_t *run)
{
    const json_t *wanted = json_object_get(run, "ids");
    const size_t count = json_array_size(wanted);
    int32_t ids[256];
    char *text = NULL;
    size_t bytes = 0;
    ck_assert_uint_le(count, 256);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(wanted, i));
    ck_assert(dllm_tokenizer_decode(tokenizer, ids, (int64_t)count, &text, &bytes, &message));
    ck_assert_str_eq(text, json_string_value(json_object_get(run, "text")));
    free(text);
}

START_TEST(agrees_with_every_golden_run)
{
    json_t *golden = json_load_file(AUSTEN "golden.json", 0, NULL);
    const json_t *runs = json_object_get(golden, "runs");
    ck_assert_uint_eq(json_array_size(runs), 15);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        check_prompt(json_array_get(runs, i));
        check_text(json_array_get(runs, i));
    }
    json_decref(golden);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *encoding = tcase_create("encoding");
    tcase_add_checked_fixture(encoding, make_folder, remove_folder);
    tcase_add_test(encoding, joins_pair_with_lowest_id_first);
    tcase_add_test(encoding, joins_leftmost_of_equal_pairs);
    tcase_add_test(encoding, joins_until_nothing_is_left);
    tcase_add_test(encoding, never_joins_across_pieces);
    tcase_add_test(encoding, takes_space_into_piece);
    tcase_add_test(encoding, encodes_empty_text_as_nothing);
    tcase_add_test(encoding, encodes_bytes_above_127);
    tcase_add_test(encoding, decodes_every_byte);
    suite_add_tcase(suite, encoding);
    TCase *vocabulary = tcase_create("vocabulary");
    tcase_add_checked_fixture(vocabulary, make_folder, remove_folder);
    tcase_add_loop_test(vocabulary, refuses_broken_line, 0,
                        (int)(sizeof broken / sizeof broken[0]));
    tcase_add_test(vocabulary, refuses_vocabulary_without_a_byte);
    tcase_add_test(vocabulary, refuses_absent_file);
    tcase_add_test(vocabulary, counts_last_line_without_newline);
    suite_add_tcase(suite, vocabulary);
    TCase *austen = tcase_create("austen");
    tcase_add_checked_fixture(austen, open_austen, close_austen);
    tcase_add_test(austen, agrees_with_every_golden_run);
    suite_add_tcase(suite, austen);
    return check_suite_run(suite);
}
