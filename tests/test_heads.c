/*
 * test_heads.c - the table of heads: names, look-up, and what must hold for every row
 */
#include "heads.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int count_sets(void)
{
    int count = 0;
    (void)dllm__head_sets(&count);
    return count;
}

static bool is_kebab_case(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        const bool edge = i == 0 || i + 1 == length;
        if (name[i] == '-' ? edge || name[i + 1] == '-'
                           : !islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]))
            return false;
    }
    return length > 0;
}

START_TEST(begins_with_llada_and_ends_with_austen)
{
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    ck_assert_int_gt(count, 1);
    ck_assert_str_eq(sets[0].set, "llada-8b");
    ck_assert_str_eq(sets[count - 1].set, "austen");
}
END_TEST

START_TEST(finds_each_set_by_its_name)
{
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    const dllm_head_set *found = dllm__head_set_find(sets[_i].set);
    ck_assert_msg(found == &sets[_i], "%s is found as row %td: its name is not unique",
                  sets[_i].set, found ? found - sets : -1);
}
END_TEST

START_TEST(names_are_kebab_case)
{
    int count = 0;
    const dllm_head_set *set = &dllm__head_sets(&count)[_i];
    ck_assert_msg(is_kebab_case(set->set), "%s", set->set);
    ck_assert_msg(strlen(set->models) > 0, "%s names no model", set->set);
}
END_TEST

START_TEST(shapes_are_legal_problems)
{
    int count = 0;
    const dllm_head_set *set = &dllm__head_sets(&count)[_i];
    ck_assert_msg(set->vocab >= 1 && set->vocab < INT32_MAX, "%s", set->set);
    ck_assert_msg(set->depth >= 1, "%s", set->set);
    ck_assert_msg(set->valid_vocab >= 0 && set->valid_vocab <= set->vocab, "%s", set->set);
    ck_assert_msg(set->weight_type == DLLM_BF16 || set->weight_type == DLLM_FP16 ||
                      set->weight_type == DLLM_FP32,
                  "%s", set->set);
    ck_assert_msg(set->scale >= 0.0f && set->softcap >= 0.0f, "%s", set->set);
}
END_TEST

START_TEST(ids_lie_in_the_vocabulary)
{
    int count = 0;
    const dllm_head_set *set = &dllm__head_sets(&count)[_i];
    ck_assert_msg(set->mask_id == DLLM_NO_ID || (set->mask_id >= 0 && set->mask_id < set->vocab),
                  "%s: mask %lld", set->set, (long long)set->mask_id);
    ck_assert_msg(set->eos_id == DLLM_NO_ID || (set->eos_id >= 0 && set->eos_id < set->vocab),
                  "%s: eos %lld", set->set, (long long)set->eos_id);
    ck_assert_msg(set->eos_id == DLLM_NO_ID || set->eos_id != set->mask_id, "%s", set->set);
}
END_TEST

START_TEST(unknown_name_finds_nothing)
{
    ck_assert_ptr_null(dllm__head_set_find("llada"));
    ck_assert_ptr_null(dllm__head_set_find(""));
}
END_TEST

START_TEST(llada_has_the_published_values)
{
    const dllm_head_set *set = dllm__head_set_find("llada-8b");
    ck_assert_ptr_nonnull(set);
    ck_assert_int_eq(set->vocab, 126464);
    ck_assert_int_eq(set->depth, 4096);
    ck_assert_int_eq(set->mask_id, 126336);
    ck_assert_int_eq(set->eos_id, 126081);
}
END_TEST

/* The mask is the last id of this model, so valid_vocab alone keeps it from being chosen. */
START_TEST(austen_masks_its_last_id)
{
    const dllm_head_set *set = dllm__head_set_find("austen");
    ck_assert_ptr_nonnull(set);
    ck_assert_int_eq(set->mask_id, set->vocab - 1);
    ck_assert_int_eq(set->valid_vocab, set->mask_id);
}
END_TEST

START_TEST(the_library_tells_every_head)
{
    int count;
    const dllm_head_set *sets = dllm__head_sets(&count);
    ck_assert_ptr_null(dllm_model_name(-1));
    ck_assert_ptr_null(dllm_model_name(count));
    for (int i = 0; i < count; i++) {
        dllm_model_information got = {.struct_size = sizeof got};
        ck_assert_int_eq(dllm_model_lookup(&got, dllm_model_name(i)), DLLM_OK);
        ck_assert_str_eq(got.name, sets[i].set);
        ck_assert_str_eq(got.models, sets[i].models);
        ck_assert(got.vocab == sets[i].vocab && got.depth == sets[i].depth);
        ck_assert(got.mask_id == sets[i].mask_id && got.eos_id == sets[i].eos_id);
        ck_assert(got.shifted == sets[i].shifted && got.valid_vocab == sets[i].valid_vocab);
    }
}
END_TEST

START_TEST(an_unknown_head_is_refused_by_name)
{
    dllm_model_information got = {.struct_size = sizeof got};
    ck_assert_int_eq(dllm_model_lookup(&got, "llada"), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "head \"llada\" is not in the table");
    ck_assert_int_eq(dllm_model_lookup(&got, NULL), DLLM_INVALID_ARGUMENT);
}
END_TEST

int main(void)
{
    const int count = count_sets();
    Suite *suite = suite_create("heads");
    TCase *rows = tcase_create("rows");
    tcase_add_loop_test(rows, finds_each_set_by_its_name, 0, count);
    tcase_add_loop_test(rows, names_are_kebab_case, 0, count);
    tcase_add_loop_test(rows, shapes_are_legal_problems, 0, count);
    tcase_add_loop_test(rows, ids_lie_in_the_vocabulary, 0, count);
    suite_add_tcase(suite, rows);
    TCase *values = tcase_create("values");
    tcase_add_test(values, begins_with_llada_and_ends_with_austen);
    tcase_add_test(values, unknown_name_finds_nothing);
    tcase_add_test(values, llada_has_the_published_values);
    tcase_add_test(values, the_library_tells_every_head);
    tcase_add_test(values, an_unknown_head_is_refused_by_name);
    tcase_add_test(values, austen_masks_its_last_id);
    suite_add_tcase(suite, values);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
