/* test_decode_keys.c - keys and commits: what is late, what is not usable, how a block is left */
#include "check_suite.h"

#include "dllm.h"

#include <math.h>
#include <string.h>

enum { MASK = 9, COUNT = 4 };

static const int64_t tokens[COUNT] = {1, 2, MASK, 3};
static const float confidence[COUNT] = {0.5f, 0.998046875f, 0.25f, 0.9999f};
static const float entropy[COUNT] = {0.75f, 0, 1, 2};
static const uint32_t flagged[COUNT] = {0, 0, 0, DLLM_FLAG_NONFINITE};
static const uint8_t all[COUNT] = {1, 1, 1, 1};

static const dllm_key_options plain = {.struct_size = sizeof plain, .mask_id = MASK};

static dllm_key_rows rows_of(const uint32_t *flags)
{
    return (dllm_key_rows){sizeof(dllm_key_rows), COUNT, tokens, confidence, NULL, entropy, flags};
}

static dllm_commit commit_of(const uint8_t *chosen, const uint32_t *flags, dllm_select_name name)
{
    return (dllm_commit){sizeof(dllm_commit), COUNT, chosen, tokens, flags, MASK, name};
}

/* ---- keys --------------------------------------------------------------------------------- */

START_TEST(bf16_ties_what_is_nearly_sure)
{
    dllm_key_options options = plain;
    const dllm_key_rows rows = rows_of(NULL);
    const float wanted[COUNT] = {0.5f, 1, 0.25f, 1};
    float key[COUNT];
    uint8_t usable[COUNT];
    options.round_bf16 = 1;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &options, &rows), DLLM_OK);
    ck_assert_mem_eq(key, wanted, sizeof wanted);
}
END_TEST

START_TEST(a_late_id_comes_last_and_stays_usable)
{
    const int64_t late[] = {7, 2};
    dllm_key_options options = plain;
    const dllm_key_rows rows = rows_of(NULL);
    float key[COUNT];
    uint8_t usable[COUNT];
    options.late = late;
    options.late_count = 2;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &options, &rows), DLLM_OK);
    ck_assert(isinf(key[1]) && key[1] < 0);
    ck_assert(key[0] == confidence[0]);
    ck_assert_mem_eq(usable, all, sizeof all);
}
END_TEST

START_TEST(the_name_carries_the_sign_of_entropy)
{
    dllm_key_options options = plain;
    const dllm_key_rows rows = rows_of(NULL);
    float key[COUNT];
    uint8_t usable[COUNT];
    options.name = DLLM_KEY_NEG_ENTROPY;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &options, &rows), DLLM_OK);
    ck_assert(key[0] == -0.75f);
    options.name = DLLM_KEY_ENTROPY;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &options, &rows), DLLM_OK);
    ck_assert(key[0] == 0.75f);
}
END_TEST

START_TEST(flagged_rows_and_excluded_tokens_are_not_usable)
{
    dllm_key_options options = plain;
    const dllm_key_rows rows = rows_of(flagged);
    const uint8_t wanted[COUNT] = {1, 1, 0, 0};
    float key[COUNT];
    uint8_t usable[COUNT];
    options.excludes_mask = 1;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &options, &rows), DLLM_OK);
    ck_assert_mem_eq(usable, wanted, sizeof wanted);
    ck_assert(isnan(key[3]));
}
END_TEST

START_TEST(keys_refuse_what_they_need_and_do_not_get)
{
    dllm_key_options margin = plain, late = plain, unknown = plain;
    const dllm_key_rows rows = rows_of(NULL);
    float key[COUNT];
    uint8_t usable[COUNT];
    margin.name = DLLM_KEY_MARGIN;
    late.late_count = 1;
    unknown.name = (dllm_key_name)4;
    ck_assert_int_eq(dllm_decode_keys(key, usable, &margin, &rows), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "margin is NULL, and the key needs it");
    ck_assert_int_eq(dllm_decode_keys(key, usable, &late, &rows), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "late is NULL with late_count 1");
    ck_assert_int_eq(dllm_decode_keys(key, usable, &unknown, &rows), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_keys(NULL, usable, &plain, &rows), DLLM_INVALID_ARGUMENT);
}
END_TEST

/* ---- commits ------------------------------------------------------------------------------ */

START_TEST(only_masks_with_usable_rows_and_other_tokens_are_written)
{
    int64_t ids[COUNT] = {5, MASK, MASK, MASK};
    const int64_t wanted[COUNT] = {5, 2, MASK, MASK};
    const dllm_commit commit = commit_of(all, flagged, DLLM_SELECTION_TOP_K);
    dllm_commit_result result = {.struct_size = sizeof result};
    ck_assert_int_eq(dllm_decode_commit(&result, ids, &commit), DLLM_OK);
    ck_assert_mem_eq(ids, wanted, sizeof wanted);
    ck_assert_int_eq(result.committed, 1);
    ck_assert_int_eq(result.masks, 2);
    ck_assert_int_eq(result.state, DLLM_BLOCK_RUNNING);
}
END_TEST

/* Nothing is chosen; the ids that are left decide. */
static const struct {
    const char *name;
    int64_t ids[COUNT];
    dllm_select_name selection;
    dllm_block_state wanted;
} endings[] = {
    {"nothing left", {5, 5, 5, 5}, DLLM_SELECTION_THRESHOLD, DLLM_BLOCK_DONE},
    {"stalled", {MASK, 5, 5, MASK}, DLLM_SELECTION_THRESHOLD, DLLM_BLOCK_NO_PROGRESS},
    {"an empty step", {MASK, 5, 5, MASK}, DLLM_SELECTION_TOP_K, DLLM_BLOCK_RUNNING},
    {"unusable", {5, 5, 5, MASK}, DLLM_SELECTION_TOP_K, DLLM_BLOCK_UNUSABLE_ROW},
};

START_TEST(a_step_says_how_it_leaves_the_block)
{
    static const uint8_t none[COUNT] = {0};
    int64_t ids[COUNT];
    const dllm_commit commit = commit_of(none, flagged, endings[_i].selection);
    dllm_commit_result result = {.struct_size = sizeof result};
    memcpy(ids, endings[_i].ids, sizeof ids);
    ck_assert_int_eq(dllm_decode_commit(&result, ids, &commit), DLLM_OK);
    ck_assert_msg(result.state == endings[_i].wanted, "%s: %d", endings[_i].name,
                  (int)result.state);
    ck_assert_mem_eq(ids, endings[_i].ids, sizeof ids);
}
END_TEST

START_TEST(a_refused_commit_writes_nothing)
{
    int64_t ids[COUNT] = {MASK, MASK, MASK, MASK};
    const int64_t before[COUNT] = {MASK, MASK, MASK, MASK};
    const dllm_commit good = commit_of(all, NULL, DLLM_SELECTION_TOP_K);
    const dllm_commit none = commit_of(NULL, NULL, DLLM_SELECTION_TOP_K);
    dllm_commit_result result = {.struct_size = sizeof result}, old = {.struct_size = 0};
    ck_assert_int_eq(dllm_decode_commit(&result, ids, &none), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "chosen is NULL");
    ck_assert_int_eq(dllm_decode_commit(&old, ids, &good), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_commit(NULL, ids, &good), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_commit(&result, NULL, &good), DLLM_INVALID_ARGUMENT);
    ck_assert_mem_eq(ids, before, sizeof before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_keys");
    TCase *keys = tcase_create("keys");
    TCase *commits = tcase_create("commits");
    tcase_add_test(keys, bf16_ties_what_is_nearly_sure);
    tcase_add_test(keys, a_late_id_comes_last_and_stays_usable);
    tcase_add_test(keys, the_name_carries_the_sign_of_entropy);
    tcase_add_test(keys, flagged_rows_and_excluded_tokens_are_not_usable);
    tcase_add_test(keys, keys_refuse_what_they_need_and_do_not_get);
    tcase_add_test(commits, only_masks_with_usable_rows_and_other_tokens_are_written);
    tcase_add_loop_test(commits, a_step_says_how_it_leaves_the_block, 0,
                        (int)(sizeof endings / sizeof endings[0]));
    tcase_add_test(commits, a_refused_commit_writes_nothing);
    suite_add_tcase(suite, keys);
    suite_add_tcase(suite, commits);
    return check_suite_run(suite);
}
