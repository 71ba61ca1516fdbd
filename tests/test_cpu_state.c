/* test_cpu_state.c - init, merge and finish of the CPU backend */
#include "cpu_state.h"

#include <math.h>

#include "check_suite.h"
#include "problem.h"

static const dllm_cpu_rule everything = {.statistics = ~0u, .temperature = 1.0f};

static dllm_state state_of(float max, float sum, int64_t id)
{
    dllm_state state = dllm__cpu_state_init();
    state.max = max;
    state.sum = sum;
    state.id = id;
    return state;
}

/* A part that has everything, told apart by its first id. */
static dllm_state full_state(float max, int64_t id)
{
    dllm_state state = state_of(max, max == -INFINITY ? 0.0f : 1.5f, id);
    state.weighted = max == -INFINITY ? 0.0f : -0.25f;
    state.second = fminf(max, 1.0f) - 0.5f;
    state.second_id = id + 1;
    state.score = fmaxf(max, -3e38f) / 2;
    state.gumbel = max;
    state.gumbel_id = id + 2;
    state.nan_id = id + 3;
    state.bits = (uint32_t)id % 4;
    return state;
}

static void assert_same_bits(const dllm_state *a, const dllm_state *b)
{
    ck_assert_mem_eq(a, b, sizeof *a);
}

static dllm_state merged(dllm_state a, const dllm_state *b)
{
    dllm__cpu_state_merge(&a, b, &everything);
    return a;
}

/* ---- merge */

static const float edge_values[] = {-INFINITY, -3e38f, -1.0f, -0.0f, 0.0f, 2.5f, 3e38f, INFINITY};
enum { EDGES = sizeof edge_values / sizeof edge_values[0] };

START_TEST(neutral_states_merge_to_a_neutral_state)
{
    const dllm_state neutral = dllm__cpu_state_init();
    const dllm_state both = merged(neutral, &neutral);
    assert_same_bits(&both, &neutral);
}
END_TEST

START_TEST(a_neutral_state_changes_nothing)
{
    const dllm_state neutral = dllm__cpu_state_init();
    const dllm_state wanted = full_state(edge_values[_i], 9);
    const dllm_state before = merged(neutral, &wanted);
    const dllm_state behind = merged(wanted, &neutral);
    assert_same_bits(&before, &wanted);
    assert_same_bits(&behind, &wanted);
}
END_TEST

START_TEST(merge_is_commutative_to_the_bit)
{
    const dllm_state a = full_state(edge_values[_i / EDGES], 21);
    const dllm_state b = full_state(edge_values[_i % EDGES], 10);
    const dllm_state ab = merged(a, &b);
    const dllm_state ba = merged(b, &a);
    assert_same_bits(&ab, &ba);
    ck_assert(!isnan(ab.sum) && !isnan(ab.weighted));
}
END_TEST

/* Two equal parts of one logit each: d = 1 + e^x, s = x e^x with x = -2 / T. */
START_TEST(merge_scales_the_smaller_side)
{
    const double x = -2 / 0.5;
    const dllm_cpu_rule rule = {.statistics = ~0u, .temperature = 0.5f};
    dllm_state a = state_of(1.0f, 1.0f, 5);
    const dllm_state b = state_of(3.0f, 1.0f, 50);
    dllm__cpu_state_merge(&a, &b, &rule);
    ck_assert(fabs((double)a.sum - (1 + exp(x))) < 0x1p-23);
    ck_assert(fabs((double)a.weighted - x * exp(x)) < 0x1p-25);
    ck_assert(a.max == 3.0f && a.id == 50 && a.second == 1.0f && a.second_id == 5);
}
END_TEST

START_TEST(equal_maxima_keep_the_lower_id)
{
    dllm_state a = state_of(-0.0f, 2.0f, (int64_t)1 << 40);
    const dllm_state b = state_of(0.0f, 4.0f, 5);
    a = merged(a, &b);
    ck_assert(a.sum == 6.0f && a.id == 5 && a.second == 0.0f && a.second_id == (int64_t)1 << 40);
}
END_TEST

START_TEST(the_second_entry_is_the_better_of_two)
{
    dllm_state a = full_state(3.0f, 10);
    dllm_state b = state_of(2.0f, 1.0f, 4);
    a.second = 2.0f;
    b.second = 1.5f;
    b.second_id = 6;
    a = merged(a, &b);
    ck_assert(a.second == 2.0f && a.second_id == 4);
}
END_TEST

START_TEST(the_lower_id_draws_among_equal_scores)
{
    dllm_state a = full_state(3.0f, 10);
    dllm_state b = full_state(2.0f, 4);
    a.score = b.score = 7.0f;
    const dllm_state ab = merged(a, &b);
    ck_assert(ab.gumbel_id == 6 && ab.gumbel == 2.0f && ab.score == 7.0f);
}
END_TEST

START_TEST(the_lower_nan_id_is_kept)
{
    dllm_state a = state_of(1.0f, 1.0f, 3), b = dllm__cpu_state_init();
    a.nan_id = 8;
    b.nan_id = 6;
    a = merged(a, &b);
    ck_assert_int_eq(a.nan_id, 6);
}
END_TEST

START_TEST(the_target_comes_from_the_side_that_has_it)
{
    dllm_state a = state_of(1.0f, 1.0f, 3), b = a;
    a.bits = DLLM_STATE_ASKED;
    b.bits = DLLM_STATE_ASKED | DLLM_STATE_TARGET;
    b.target = -7.0f;
    a = merged(a, &b);
    ck_assert(a.target == -7.0f && a.bits == b.bits);
}
END_TEST

START_TEST(what_is_not_asked_for_stays_neutral)
{
    const dllm_cpu_rule base = {.temperature = 1.0f};
    dllm_state a = state_of(1.0f, 1.0f, 3);
    const dllm_state b = state_of(2.0f, 1.0f, 4);
    dllm__cpu_state_merge(&a, &b, &base);
    dllm_state wanted = state_of(2.0f, a.sum, 4);
    assert_same_bits(&a, &wanted);
}
END_TEST

/* ---- finish */

static const struct {
    const char *name;
    dllm_state state;
    dllm_row_values values;
} finished[] = {
    {"ordinary",
     {2.0f, 4.0f, 107, -1, -2.0f, 1.0f, 109, 0.5f, 9, 3.0f, 1.0f, 109},
     {107, 2.0f, 3.3862944f, 0.25f, 1.8862944f, 1.0f, 109, 0.15803014f, -2.8862944f, 109,
      -2.3862944f, 0}},
    {"alone, greedy",
     {-5.0f, 1.0f, 100, -1, 0.0f, -INFINITY, -1, -INFINITY, 0, -INFINITY, -INFINITY, -1},
     {100, -5.0f, -5.0f, 1.0f, 0.0f, -INFINITY, -1, 1.0f, -INFINITY, 100, 0.0f, 0}},
    {"nan beats inf",
     {INFINITY, 1.0f, 101, 109, 0.0f, 1.0f, 3, 1.0f, 0, 3.0f, 1.0f, 5},
     {109, NAN, NAN, NAN, NAN, NAN, -1, NAN, NAN, 109, NAN, DLLM_FLAG_NONFINITE}},
    {"inf, parameter",
     {INFINITY, 1.0f, 107, -1, 0.0f, 1.0f, 3, 1.0f, 2, 3.0f, 1.0f, 5},
     {107, INFINITY, NAN, NAN, NAN, NAN, -1, NAN, NAN, 107, NAN,
      DLLM_FLAG_NONFINITE | DLLM_FLAG_PARAM}},
    {"all minus inf",
     {-INFINITY, 0.0f, 103, -1, 0.0f, -INFINITY, 104, -INFINITY, 0, -INFINITY, -INFINITY, -1},
     {103, -INFINITY, -INFINITY, 0.0f, 0.0f, -INFINITY, 104, 0.0f, -INFINITY, 103, -INFINITY,
      DLLM_FLAG_EMPTY}},
    {"no candidate, no target",
     {-INFINITY, 0.0f, -1, -1, 0.0f, -INFINITY, -1, -INFINITY, 8, -INFINITY, -INFINITY, -1},
     {0, -INFINITY, -INFINITY, 0.0f, 0.0f, -INFINITY, -1, 0.0f, NAN, 0, -INFINITY,
      DLLM_FLAG_EMPTY | DLLM_FLAG_TARGET}},
    {"no row",
     {2.0f, 4.0f, 7, 3, 0.0f, 1.0f, 9, 0.5f, 12, 3.0f, 1.0f, 109},
     {0, NAN, NAN, NAN, NAN, NAN, -1, NAN, NAN, 0, NAN, DLLM_FLAG_ROW}},
};

static void assert_value(float got, float wanted, const char *name, const char *output)
{
    const bool same = isnan(wanted) ? isnan(got) : got == wanted || fabsf(got - wanted) < 1e-6f;
    ck_assert_msg(same, "%s: %s %.9g, not %.9g", name, output, (double)got, (double)wanted);
}

START_TEST(finishes_by_the_table_of_rows)
{
    const char *const name = finished[_i].name;
    const dllm_row_values got = dllm__cpu_state_finish(&finished[_i].state, 1.0f);
    const dllm_row_values wanted = finished[_i].values;
    ck_assert_msg(got.argmax == wanted.argmax, "%s: argmax", name);
    ck_assert_msg(got.second_id == wanted.second_id, "%s: second_id", name);
    ck_assert_msg(got.gumbel_id == wanted.gumbel_id, "%s: gumbel_id", name);
    ck_assert_msg(got.flags == wanted.flags, "%s: flags %u", name, got.flags);
    assert_value(got.max, wanted.max, name, "max");
    assert_value(got.lse, wanted.lse, name, "lse");
    assert_value(got.confidence, wanted.confidence, name, "confidence");
    assert_value(got.entropy, wanted.entropy, name, "entropy");
    assert_value(got.second, wanted.second, name, "second");
    assert_value(got.margin, wanted.margin, name, "margin");
    assert_value(got.target_logprob, wanted.target_logprob, name, "target_logprob");
    assert_value(got.gumbel_logprob, wanted.gumbel_logprob, name, "gumbel_logprob");
}
END_TEST

START_TEST(tempers_what_comes_from_the_sums_alone)
{
    const dllm_row_values got = dllm__cpu_state_finish(&finished[0].state, 0.5f);
    const double log_sum = log(4.0);
    assert_value(got.max, 2.0f, "tempered", "max");
    assert_value(got.second, 1.0f, "tempered", "second");
    assert_value(got.lse, (float)(4 + log_sum), "tempered", "lse");
    assert_value(got.margin, (float)(-expm1(-2.0) / 4), "tempered", "margin");
    assert_value(got.target_logprob, (float)(-3 - log_sum), "tempered", "target_logprob");
    assert_value(got.gumbel_logprob, (float)(-2 - log_sum), "tempered", "gumbel_logprob");
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
    tcase_add_test(merge, equal_maxima_keep_the_lower_id);
    tcase_add_test(merge, the_second_entry_is_the_better_of_two);
    tcase_add_test(merge, the_lower_id_draws_among_equal_scores);
    tcase_add_test(merge, the_lower_nan_id_is_kept);
    tcase_add_test(merge, the_target_comes_from_the_side_that_has_it);
    tcase_add_test(merge, what_is_not_asked_for_stays_neutral);
    suite_add_tcase(suite, merge);
    TCase *finish = tcase_create("finish");
    tcase_add_loop_test(finish, finishes_by_the_table_of_rows, 0,
                        sizeof finished / sizeof finished[0]);
    tcase_add_test(finish, tempers_what_comes_from_the_sums_alone);
    suite_add_tcase(suite, finish);
    return check_suite_run(suite);
}
