/* test_cpu_state.c - init, fold a logit, fold a block, merge, finish of the CPU backend */
#include "cpu_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_suite.h"
#include "cpu_case.h"

static dllm_row_state state_of(float max, float sum, int32_t column)
{
    return (dllm_row_state){max, sum, column, DLLM_NO_COLUMN};
}

static void assert_state(dllm_row_state got, dllm_row_state wanted, double tolerance)
{
    ck_assert_msg(got.max == wanted.max, "max %g, not %g", (double)got.max, (double)wanted.max);
    ck_assert_int_eq(got.column, wanted.column);
    ck_assert_int_eq(got.nan_column, wanted.nan_column);
    if (wanted.max == INFINITY) return; /* d of such a row means nothing */
    ck_assert_msg(fabs((double)got.sum - (double)wanted.sum) <= tolerance * (double)wanted.sum,
                  "sum %.9g, not %.9g", (double)got.sum, (double)wanted.sum);
}

static void assert_same_bits(dllm_row_state a, dllm_row_state b)
{
    ck_assert_mem_eq(&a, &b, sizeof a);
}

/* ---- merge */

static const float edge_values[] = {-INFINITY, -3e38f, -1.0f, -0.0f, 0.0f, 2.5f, 3e38f, INFINITY};
enum { EDGES = sizeof edge_values / sizeof edge_values[0] };

START_TEST(neutral_states_merge_to_a_neutral_state)
{
    dllm_row_state state = dllm__cpu_state_init();
    const dllm_row_state other = dllm__cpu_state_init();
    dllm__cpu_state_merge(&state, &other);
    assert_same_bits(state, dllm__cpu_state_init());
}
END_TEST

START_TEST(a_neutral_state_changes_nothing)
{
    const dllm_row_state neutral = dllm__cpu_state_init();
    dllm_row_state wanted = state_of(edge_values[_i], edge_values[_i] > -INFINITY ? 1.25f : 0, 9);
    wanted.nan_column = 4;
    dllm_row_state got = wanted;
    dllm__cpu_state_merge(&got, &neutral);
    assert_same_bits(got, wanted);
}
END_TEST

START_TEST(merge_is_commutative_to_the_bit)
{
    const dllm_row_state a = state_of(edge_values[_i / EDGES], 1.1f, 20);
    const dllm_row_state b = state_of(edge_values[_i % EDGES], 2.7f, 10);
    dllm_row_state ab = a, ba = b;
    dllm__cpu_state_merge(&ab, &b);
    dllm__cpu_state_merge(&ba, &a);
    assert_same_bits(ab, ba);
    ck_assert(!isnan(ab.sum));
}
END_TEST

START_TEST(merge_scales_the_smaller_side)
{
    dllm_row_state a = state_of(1.0f, 2.0f, 5);
    const dllm_row_state b = state_of(3.0f, 4.0f, 50);
    dllm__cpu_state_merge(&a, &b);
    assert_state(a, state_of(3.0f, (float)(4 + 2 * exp(-2)), 50), 0x1p-23);
}
END_TEST

START_TEST(equal_maxima_keep_the_lower_column)
{
    dllm_row_state a = state_of(3.0f, 2.0f, 50);
    const dllm_row_state b = state_of(3.0f, 4.0f, 5);
    dllm__cpu_state_merge(&a, &b);
    assert_state(a, state_of(3.0f, 6.0f, 5), 0);
}
END_TEST

START_TEST(zeros_of_both_signs_are_equal)
{
    dllm_row_state a = state_of(0.0f, 1.0f, 8);
    dllm__cpu_state_fold_logit(&a, -0.0f, 7);
    assert_state(a, state_of(0.0f, 2.0f, 7), 0);
}
END_TEST

START_TEST(the_lower_nan_column_is_kept)
{
    dllm_row_state a = dllm__cpu_state_init();
    dllm__cpu_state_fold_logit(&a, NAN, 8);
    dllm__cpu_state_fold_logit(&a, 1.0f, 3);
    dllm__cpu_state_fold_logit(&a, NAN, 6);
    dllm__cpu_state_fold_logit(&a, NAN, 7);
    const dllm_row_state wanted = {1.0f, 1.0f, 3, 6};
    assert_same_bits(a, wanted);
}
END_TEST

/* ---- fold a block: the same as its logits one by one */

enum { BLOCK = 4096, FIRST = 1000 };

static dllm_row_state fold_one_by_one(const float *logits, int count)
{
    double sum = 0;
    dllm_row_state state = dllm__cpu_state_init();
    for (int i = 0; i < count; i++)
        dllm__cpu_state_fold_logit(&state, logits[i], FIRST + i);
    for (int i = 0; i < count; i++)
        if (!isnan(logits[i]) && logits[i] > -INFINITY)
            sum += exp((double)logits[i] - (double)state.max);
    state.sum = (float)sum;
    return state;
}

static void assert_block_folds(const float *logits, int count, double tolerance)
{
    for (int v = 0; cpu_case_vector(v); v++) {
        const size_t room = (size_t)(count + 15) / 16 * 16;
        float *block = malloc(room * sizeof *block);
        ck_assert_ptr_nonnull(block);
        memcpy(block, logits, (size_t)count * sizeof *block);
        dllm_row_state got = dllm__cpu_state_init();
        dllm__cpu_state_fold_block(cpu_case_vector(v), &got, block, count, FIRST);
        assert_state(got, fold_one_by_one(logits, count), tolerance);
        free(block);
    }
}

static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 191, 192, 1000, 4095, BLOCK};

START_TEST(a_block_is_its_logits)
{
    float logits[BLOCK];
    srand(7);
    for (int i = 0; i < counts[_i]; i++)
        logits[i] = (float)(rand() % 4001 - 2000) / 100.0f;
    assert_block_folds(logits, counts[_i], 0x1p-20);
}
END_TEST

/* Each value at each place of a short block of ordinary, of -inf and of NaN logits. */
START_TEST(a_block_keeps_special_logits)
{
    static const float fillings[] = {-1.5f, -INFINITY, NAN, INFINITY};
    static const float values[] = {NAN, INFINITY, -INFINITY, 4.0f, -0.0f, 0.0f, -3e38f};
    const int count = counts[_i];
    float logits[BLOCK];
    if (count > 40) return; /* the shorter ones have every remainder already */
    for (size_t f = 0; f < sizeof fillings / sizeof fillings[0]; f++)
        for (int place = 0; place < 7 * count; place++) {
            for (int i = 0; i < count; i++)
                logits[i] = fillings[f];
            logits[place % count] = values[place / count];
            assert_block_folds(logits, count, 0x1p-20);
        }
}
END_TEST

/* 63 equal terms make the error of one exp visible beside the 1 of the maximum. */
START_TEST(exp_is_accurate)
{
    enum { TERMS = 64 };
    const float t = -(float)_i / 16.0f - 0.003f;
    for (int v = 0; cpu_case_vector(v); v++) {
        float block[TERMS];
        for (int i = 0; i < TERMS; i++)
            block[i] = i == TERMS / 2 ? 0.0f : t;
        const dllm_row_state got = cpu_case_vector(v)->fold(block, TERMS);
        const double wanted = 1 + (TERMS - 1) * exp((double)t);
        ck_assert_msg(fabs((double)got.sum - wanted) <= 12 * 0x1p-24 * wanted && got.sum >= 1.0f,
                      "%s: sum %.9g, not %.9g", cpu_case_vector(v)->name, (double)got.sum, wanted);
    }
}
END_TEST

/* ---- finish */

static const struct {
    dllm_row_state state;
    dllm_row_values values;
    const char *name;
} finished[] = {
    {{2.0f, 4.0f, 7, DLLM_NO_COLUMN}, {107, 2.0f, 3.3862944f, 0.25f, 0}, "ordinary"},
    {{-5.0f, 1.0f, 0, DLLM_NO_COLUMN}, {100, -5.0f, -5.0f, 1.0f, 0}, "alone"},
    {{2.0f, 4.0f, 7, 9}, {109, NAN, NAN, NAN, DLLM_FLAG_NONFINITE}, "nan"},
    {{INFINITY, 1.0f, 1, 9}, {109, NAN, NAN, NAN, DLLM_FLAG_NONFINITE}, "nan and inf"},
    {{INFINITY, 1.0f, 7, DLLM_NO_COLUMN}, {107, INFINITY, NAN, NAN, DLLM_FLAG_NONFINITE}, "inf"},
    {{-INFINITY, 0.0f, 3, DLLM_NO_COLUMN},
     {103, -INFINITY, -INFINITY, 0.0f, DLLM_FLAG_EMPTY},
     "all minus inf"},
    {{-INFINITY, 0.0f, DLLM_NO_COLUMN, DLLM_NO_COLUMN},
     {0, -INFINITY, -INFINITY, 0.0f, DLLM_FLAG_EMPTY},
     "no candidate"},
};

static void assert_value(float got, float wanted, const char *name)
{
    const bool same = isnan(wanted) ? isnan(got) : got == wanted;
    ck_assert_msg(same, "%s: %.9g, not %.9g", name, (double)got, (double)wanted);
}

static void assert_values(dllm_row_values got, dllm_row_values wanted, const char *name)
{
    ck_assert_int_eq(got.argmax, wanted.argmax);
    ck_assert_uint_eq(got.flags, wanted.flags);
    assert_value(got.max, wanted.max, name);
    assert_value(got.lse, wanted.lse, name);
    assert_value(got.confidence, wanted.confidence, name);
}

START_TEST(finishes_by_the_table_of_rows)
{
    assert_values(dllm__cpu_state_finish(&finished[_i].state, 100), finished[_i].values,
                  finished[_i].name);
}
END_TEST

START_TEST(a_row_without_source_has_its_flag_alone)
{
    const dllm_row_values wanted = {0, NAN, NAN, NAN, DLLM_FLAG_ROW};
    assert_values(dllm__cpu_state_no_row(), wanted, "no row");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_state");
    TCase *merge = tcase_create("merge");
    tcase_add_test(merge, neutral_states_merge_to_a_neutral_state);
    tcase_add_loop_test(merge, a_neutral_state_changes_nothing, 0, EDGES);
    tcase_add_loop_test(merge, merge_is_commutative_to_the_bit, 0, EDGES * EDGES);
    tcase_add_test(merge, merge_scales_the_smaller_side);
    tcase_add_test(merge, equal_maxima_keep_the_lower_column);
    tcase_add_test(merge, zeros_of_both_signs_are_equal);
    tcase_add_test(merge, the_lower_nan_column_is_kept);
    suite_add_tcase(suite, merge);
    TCase *fold = tcase_create("fold");
    tcase_add_loop_test(fold, a_block_is_its_logits, 0, sizeof counts / sizeof counts[0]);
    tcase_add_loop_test(fold, a_block_keeps_special_logits, 0, sizeof counts / sizeof counts[0]);
    tcase_add_loop_test(fold, exp_is_accurate, 0, 200);
    suite_add_tcase(suite, fold);
    TCase *finish = tcase_create("finish");
    tcase_add_loop_test(finish, finishes_by_the_table_of_rows, 0,
                        sizeof finished / sizeof finished[0]);
    tcase_add_test(finish, a_row_without_source_has_its_flag_alone);
    suite_add_tcase(suite, finish);
    return check_suite_run(suite);
}
