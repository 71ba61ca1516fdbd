/* test_decode_rules.c - the public rules of a decode step: bad arguments, ties, what the cases lack */
#include "check_suite.h"

#include "dllm.h"

#include <math.h>
#include <string.h>

static const float level[] = {0.5f, 0.5f, 0.5f, 0.5f};
static const uint8_t all[] = {1, 1, 1, 1};

static dllm_selection selection_of(dllm_select_name name, int32_t count, float threshold)
{
    return (dllm_selection){.struct_size = sizeof(dllm_selection),
                            .name = name,
                            .count = count,
                            .threshold = threshold,
                            .factor = 1};
}

static dllm_block_keys keys_of(const float *key, int64_t positions)
{
    return (dllm_block_keys){.struct_size = sizeof(dllm_block_keys),
                             .positions = positions,
                             .key = key,
                             .entropy = key,
                             .masked = all};
}

START_TEST(equal_keys_go_to_the_lowest_positions)
{
    const dllm_selection selection = selection_of(DLLM_SELECTION_TOP_K, 2, 0);
    const dllm_block_keys keys = keys_of(level, 4);
    const uint8_t wanted[] = {1, 1, 0, 0};
    uint8_t chosen[4];
    ck_assert_int_eq(dllm_decode_select(chosen, &selection, &keys), DLLM_OK);
    ck_assert_mem_eq(chosen, wanted, sizeof wanted);
}
END_TEST

START_TEST(what_is_not_usable_is_never_chosen)
{
    const uint8_t usable[] = {0, 1, 1, 1};
    const float key[] = {0.9f, NAN, 0.1f, -INFINITY};
    for (int name = DLLM_SELECTION_TOP_K; name <= DLLM_SELECTION_HIERARCHY; name++) {
        const dllm_selection selection = selection_of((dllm_select_name)name, 4, -INFINITY);
        dllm_block_keys keys = keys_of(key, 4);
        uint8_t chosen[4];
        keys.usable = usable;
        ck_assert_int_eq(dllm_decode_select(chosen, &selection, &keys), DLLM_OK);
        ck_assert_int_eq(chosen[0] + chosen[1], 0);
        ck_assert_msg(chosen[2] + chosen[3] > 0, "selection %d took nothing", name);
    }
}
END_TEST

START_TEST(selection_refuses_bad_arguments)
{
    const dllm_selection good = selection_of(DLLM_SELECTION_THRESHOLD, 1, 0.9f);
    const dllm_block_keys keys = keys_of(level, 4);
    dllm_selection nan = good, unknown = good, negative = good;
    dllm_block_keys none = keys, many = keys;
    uint8_t chosen[4];
    nan.threshold = NAN;
    unknown.name = (dllm_select_name)8;
    negative.count = -1;
    none.masked = NULL;
    many.positions = 8193;
    ck_assert_int_eq(dllm_decode_select(chosen, &nan, &keys), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "threshold is NaN");
    ck_assert_int_eq(dllm_decode_select(chosen, &unknown, &keys), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_select(chosen, &negative, &keys), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_select(chosen, &good, &none), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_decode_select(chosen, &good, &many), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "8193"));
    ck_assert_int_eq(dllm_decode_select(NULL, &good, &keys), DLLM_INVALID_ARGUMENT);
}
END_TEST

START_TEST(every_schedule_commits_all_masks)
{
    int64_t counts[40];
    for (int dream = 0; dream < 2; dream++)
        for (int32_t steps = 1; steps <= 40; steps++)
            for (int64_t masks = 0; masks <= 40; masks++) {
                const dllm_schedule schedule = {sizeof schedule, dream, steps, masks, 1e-3f};
                int64_t sum = 0;
                ck_assert_int_eq(dllm_decode_schedule(counts, NULL, &schedule), DLLM_OK);
                for (int32_t i = 0; i < steps; i++) {
                    ck_assert_int_ge(counts[i], 0);
                    sum += counts[i];
                }
                ck_assert_int_eq(sum, masks);
            }
}
END_TEST

START_TEST(refuses_more_masks_than_fp32_counts)
{
    int64_t count = 0;
    dllm_schedule schedule = {sizeof schedule, 1, 1, 1 << 24, 1e-3f};
    ck_assert_int_eq(dllm_decode_schedule(&count, NULL, &schedule), DLLM_OK);
    ck_assert_int_eq(count, 1 << 24);
    schedule.masks++;
    ck_assert_int_eq(dllm_decode_schedule(&count, NULL, &schedule), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "masks 16777217 is outside 0 .. 16777216");
}
END_TEST

START_TEST(a_filter_says_when_the_list_ends_before_it)
{
    const float logits[] = {2, 1, 0};
    const dllm_filter_options options = {sizeof options, 0, 0, 0.99f, 1.0f};
    dllm_filter_candidates candidates = {sizeof candidates, logits, NULL, 3, 0, 0.5f};
    dllm_filter_result result = {.struct_size = sizeof result};
    ck_assert_int_eq(dllm_decode_filter(&result, &options, &candidates), DLLM_OK);
    ck_assert_int_eq(result.covered, 0);
    ck_assert_int_eq(result.kept, 3);
    candidates.complete = 1;
    ck_assert_int_eq(dllm_decode_filter(&result, &options, &candidates), DLLM_OK);
    ck_assert_int_eq(result.covered, 1);
}
END_TEST

START_TEST(a_row_outside_the_window_is_an_error)
{
    const int64_t positions[] = {0, 5};
    int64_t rows[2];
    ck_assert_int_eq(dllm_decode_rows(rows, positions, 2, 1, 0, 5), DLLM_OK);
    ck_assert_int_eq(rows[0], 0);
    ck_assert_int_eq(rows[1], 4);
    ck_assert_int_eq(dllm_decode_rows(rows, positions, 2, 0, 0, 5), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "position 5 is read from a row outside the window [0, 5)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_rules");
    TCase *tests = tcase_create("rules");
    tcase_add_test(tests, equal_keys_go_to_the_lowest_positions);
    tcase_add_test(tests, what_is_not_usable_is_never_chosen);
    tcase_add_test(tests, selection_refuses_bad_arguments);
    tcase_add_test(tests, every_schedule_commits_all_masks);
    tcase_add_test(tests, refuses_more_masks_than_fp32_counts);
    tcase_add_test(tests, a_filter_says_when_the_list_ends_before_it);
    tcase_add_test(tests, a_row_outside_the_window_is_an_error);
    suite_add_tcase(suite, tests);
    return check_suite_run(suite);
}
