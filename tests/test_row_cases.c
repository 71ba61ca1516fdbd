/*
 * test_row_cases.c - the row cases on the CPU, and proof that comparing them notices mistakes
 *
 * The mistakes are made in the double reference: logits rounded to bf16, a pad column counted, a tie
 * given to the higher id. Without a mistake it passes every case, with one it must not.
 */
#include "check_rows.h"
#include "check_suite.h"
#include "compare.h"
#include "element_type.h"

#include <math.h>
#include <stdlib.h>

static const char case_file[] = DLLM_SOURCE_DIR "/tests/cases/row_cases.json";

/* Cases that need nothing but valid_vocab. */
enum { PASSED_MIN = 24 };

typedef enum mistake { NO_MISTAKE, ROUNDS_TO_BF16, COUNTS_A_PAD, TIE_TO_THE_HIGHER_ID } mistake;

static row_cases cases;

static void load(void)
{
    dllm_message message;
    ck_assert_msg(row_cases_load(&cases, case_file, &message), "%s", message.text);
}

static void release(void)
{
    row_cases_release(&cases);
}

/* ---- through the library ---- */

static void check_operation(unsigned operation)
{
    row_checker checker;
    dllm_message why;
    int passed = 0;
    ck_assert_msg(row_checker_open(&checker, DLLM_DEVICE_CPU, &why), "%s", why.text);
    checker.operations = operation;
    for (int64_t i = 0; i < cases.count; i++) {
        const check_verdict verdict = row_checker_run(&checker, &cases.cases[i], &why);
        ck_assert_msg(verdict != CHECK_FAIL, "%s: %s", cases.cases[i].id, why.text);
        passed += verdict == CHECK_PASS;
    }
    row_checker_close(&checker);
    ck_assert_int_ge(passed, PASSED_MIN);
}

START_TEST(the_head_passes_every_case_it_can_take)
{
    check_operation(CHECK_HEAD);
}
END_TEST

START_TEST(the_sampler_passes_every_case_it_can_take)
{
    check_operation(CHECK_SAMPLER);
}
END_TEST

/* ---- through the reference, with and without a mistake ---- */

/* The row as a faulty implementation would see it: one more column, of 0, may be counted. */
static void compute(double value[ROW_OUTPUTS], const row_case *from, const case_row *row,
                    mistake made)
{
    reference_row statistics;
    double *z = calloc((size_t)from->vocab + 1, sizeof *z);
    ck_assert_ptr_nonnull(z);
    for (int64_t v = 0; v < from->vocab; v++)
        z[v] = made == ROUNDS_TO_BF16 ? element_round(DLLM_BF16, row->logits[v]) : row->logits[v];
    const int64_t valid = from->valid_vocab ? from->valid_vocab : from->vocab;
    const reference_input input = {.z = z,
                                   .vocab = from->vocab + 1,
                                   .valid_vocab = valid + (made == COUNTS_A_PAD),
                                   .vocab_offset = from->vocab_offset};
    reference_statistics(&statistics, &input);
    value[ROW_ARGMAX] = (double)statistics.argmax;
    value[ROW_MAX] = statistics.max;
    value[ROW_LSE] = statistics.lse;
    value[ROW_CONFIDENCE] = statistics.confidence;
    value[ROW_FLAGS] = (double)statistics.flags;
    for (int64_t v = 0; made == TIE_TO_THE_HIGHER_ID && v < valid; v++)
        if (z[v] == statistics.max) value[ROW_ARGMAX] = (double)v;
    free(z);
}

static bool row_passes(const row_case *from, const case_row *row, mistake made)
{
    const uint32_t outputs =
        DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
    double value[ROW_OUTPUTS] = {0};
    dllm_message why;
    if (row->bad_index) return true;
    compute(value, from, row, made);
    return row_answer_matches(&row->expected, value, outputs, DLLM_FLAG_NONFINITE | DLLM_FLAG_EMPTY,
                              &why);
}

static bool is_plain(const row_case *from)
{
    return !from->suppress && !from->bias && from->softcap == 0 && from->scale == 0 &&
           from->round_logits == DLLM_TYPE_NONE;
}

START_TEST(the_reference_passes_every_plain_case)
{
    int rows = 0;
    for (int64_t i = 0; i < cases.count; i++)
        for (int64_t r = 0; is_plain(&cases.cases[i]) && r < cases.cases[i].row_count; r++) {
            ck_assert_msg(row_passes(&cases.cases[i], &cases.cases[i].row[r], NO_MISTAKE),
                          "%s, row %lld", cases.cases[i].id, (long long)r);
            rows++;
        }
    ck_assert_int_ge(rows, 60);
}
END_TEST

static const struct {
    const char *id;
    int row;
    mistake made;
} mistakes[] = {
    {"fp32_accumulate", 0, ROUNDS_TO_BF16},
    {"large_offset_fp32", 0, ROUNDS_TO_BF16},
    {"ragged_negative_100", 0, COUNTS_A_PAD},
    {"valid_vocab_padding_zero", 0, COUNTS_A_PAD},
    {"very_negative_llada", 1, COUNTS_A_PAD},
    {"neg_inf_inner_tile", 0, COUNTS_A_PAD},
    {"tie_across_threads_and_splits", 0, TIE_TO_THE_HIGHER_ID},
    {"second_and_signed_zero", 0, TIE_TO_THE_HIGHER_ID},
};

START_TEST(a_mistake_fails_its_case)
{
    const row_case *from = row_cases_find(&cases, mistakes[_i].id);
    ck_assert_ptr_nonnull(from);
    ck_assert_msg(!row_passes(from, &from->row[mistakes[_i].row], mistakes[_i].made),
                  "%s does not notice mistake %d", from->id, (int)mistakes[_i].made);
}
END_TEST

/* ---- tolerances derived from depth ---- */

/* At H = 4,096 the error bound of the product is still far below half a bf16 step. */
START_TEST(rounding_real_logits_to_bf16_exceeds_the_tolerance)
{
    enum { VOCAB = 64, DEPTH = 4096 };
    static float hidden[DEPTH];
    static float weight[VOCAB * DEPTH];
    const reference_matrix x = {DLLM_FP32, hidden, DEPTH};
    const reference_matrix w = {DLLM_FP32, weight, DEPTH};
    double z[VOCAB];
    const reference_input input = {.z = z, .vocab = VOCAB};
    reference_delta delta;
    reference_row right;
    reference_row rounded;
    row_answer answer;
    for (int h = 0; h < DEPTH; h++)
        hidden[h] = (float)sin(h * 0.7);
    for (int i = 0; i < VOCAB * DEPTH; i++)
        weight[i] = (float)sin(i * 1.3 + i % 7) * 0.05f;
    reference_logits(z, &delta, &x, 0, &w, VOCAB, DEPTH);
    reference_statistics(&right, &input);
    reference_answer(&answer, &right, delta.in_order);
    for (int v = 0; v < VOCAB; v++)
        z[v] = element_round(DLLM_BF16, z[v]);
    reference_statistics(&rounded, &input);
    ck_assert(value_matches(right.max, answer.value[ROW_MAX], answer.tolerance[ROW_MAX]));
    ck_assert(!value_matches(rounded.max, answer.value[ROW_MAX], answer.tolerance[ROW_MAX]));
}
END_TEST

START_TEST(an_id_passes_only_within_twice_delta_of_the_winner)
{
    static const double z[] = {1.0, 1.25, 0.5};
    const reference_input input = {.z = z, .vocab = 3, .vocab_offset = 100};
    reference_row row;
    reference_statistics(&row, &input);
    ck_assert(argmax_matches(&row, &input, 0, 101));
    ck_assert(!argmax_matches(&row, &input, 0, 100));
    ck_assert(!argmax_matches(&row, &input, 0.1, 100));
    ck_assert(argmax_matches(&row, &input, 0.125, 100));
    ck_assert(!argmax_matches(&row, &input, 0.125, 102));
    ck_assert(!argmax_matches(&row, &input, 10, 103));
    ck_assert(!argmax_matches(&row, &input, 10, 99));
}
END_TEST

START_TEST(values_match_by_kind)
{
    const double nan = (double)NAN;
    const double infinity = (double)INFINITY;
    ck_assert(value_matches(nan, nan, 0));
    ck_assert(!value_matches(nan, 0, 1));
    ck_assert(!value_matches(0, nan, 1));
    ck_assert(value_matches(-infinity, -infinity, 0));
    ck_assert(!value_matches(infinity, -infinity, infinity));
    ck_assert(!value_matches(1e30, infinity, infinity));
    ck_assert(value_matches(-0.0, 0.0, 0));
    ck_assert(!value_matches(1.5, 1, 0.25));
}
END_TEST

static Suite *row_cases_suite(void)
{
    Suite *suite = suite_create("row_cases");
    TCase *library = tcase_create("library");
    tcase_add_unchecked_fixture(library, load, release);
    tcase_set_timeout(library, 0);
    tcase_add_test(library, the_head_passes_every_case_it_can_take);
    tcase_add_test(library, the_sampler_passes_every_case_it_can_take);
    suite_add_tcase(suite, library);
    TCase *reference = tcase_create("reference");
    tcase_add_unchecked_fixture(reference, load, release);
    tcase_set_timeout(reference, 0);
    tcase_add_test(reference, the_reference_passes_every_plain_case);
    tcase_add_loop_test(reference, a_mistake_fails_its_case, 0,
                        (int)(sizeof mistakes / sizeof mistakes[0]));
    suite_add_tcase(suite, reference);
    TCase *tolerances = tcase_create("tolerances");
    tcase_add_test(tolerances, rounding_real_logits_to_bf16_exceeds_the_tolerance);
    tcase_add_test(tolerances, an_id_passes_only_within_twice_delta_of_the_winner);
    tcase_add_test(tolerances, values_match_by_kind);
    suite_add_tcase(suite, tolerances);
    return suite;
}

int main(void)
{
    return check_suite_run(row_cases_suite());
}
