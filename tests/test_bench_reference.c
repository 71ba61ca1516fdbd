/*
 * test_bench_reference.c - what bench takes for right before it times it, and what it does not
 */
#include "bench_reference.h"

#include "check_suite.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* More rows than a group has lanes, and a vocabulary of more than one block of columns. */
enum { ROWS = 6, VOCAB = 300, DEPTH = 24 };

const char bench_program[] = "test_bench_reference";

static bench_pattern hidden;
static bench_pattern weight;
static bench_reference reference;
static int32_t argmax[ROWS];
static float lse[ROWS];
static float confidence[ROWS];
static bench_outputs outputs;
static char why[256];

/* depth 0: the hidden states are the logits */
static double logit(int64_t row, int64_t column, int64_t depth)
{
    double x[DEPTH];
    double w[DEPTH];
    double sum = 0.0;
    if (depth == 0) {
        bench_pattern_read(&hidden, row * VOCAB + column, 1, &sum);
        return sum;
    }
    bench_pattern_read(&hidden, row * depth, depth, x);
    bench_pattern_read(&weight, column * depth, depth, w);
    for (int64_t h = 0; h < depth; h++)
        sum += x[h] * w[h];
    return sum;
}

/* The right outputs, by formulas of their own. */
static void answer(int64_t depth)
{
    for (int64_t r = 0; r < ROWS; r++) {
        double z[VOCAB];
        double sum = 0.0;
        int32_t best = 0;
        for (int32_t v = 0; v < VOCAB; v++) {
            z[v] = logit(r, v, depth);
            if (z[v] > z[best]) best = v;
        }
        for (int32_t v = 0; v < VOCAB; v++)
            sum += exp(z[v] - z[best]);
        argmax[r] = best;
        lse[r] = (float)(z[best] + log(sum));
        confidence[r] = (float)(1.0 / sum);
    }
}

static void start(int64_t depth)
{
    reference = (bench_reference){.vocab = VOCAB, .depth = depth};
    for (int64_t r = 0; r < ROWS; r++)
        bench_reference_add_row(&reference, r);
    bench_reference_add_row(&reference, 0);
    ck_assert_int_eq(reference.count, ROWS);
    bench_reference_compute(&reference, &hidden, depth > 0 ? &weight : NULL);
    answer(depth);
    outputs = (bench_outputs){.rows = ROWS, .argmax = argmax, .lse = lse, .confidence = confidence};
    why[0] = '\0';
}

static void start_head(void)
{
    start(DEPTH);
}

static void start_sampler(void)
{
    start(0);
}

static void stop(void)
{
    bench_reference_release(&reference);
}

static bool is_right(void)
{
    return bench_reference_check(&reference, &outputs, why, sizeof why) == 0;
}

START_TEST(right_outputs_pass)
{
    ck_assert_msg(is_right(), "%s", why);
}
END_TEST

START_TEST(a_wrong_winner_is_named)
{
    argmax[4] = (argmax[4] + 1) % VOCAB;
    ck_assert(!is_right());
    ck_assert_msg(strncmp(why, "row 4: argmax", 13) == 0, "%s", why);
}
END_TEST

START_TEST(an_id_out_of_range_is_no_id)
{
    argmax[5] = VOCAB;
    ck_assert(!is_right());
    ck_assert_str_eq(why, "row 5: argmax 300 is no id");
}
END_TEST

START_TEST(an_lse_that_is_off_is_named)
{
    lse[5] += 1e-2f;
    ck_assert(!is_right());
    ck_assert_msg(strncmp(why, "row 5: lse", 10) == 0, "%s", why);
}
END_TEST

START_TEST(a_confidence_that_was_not_written_is_named)
{
    confidence[0] = NAN;
    ck_assert(!is_right());
    ck_assert_msg(strncmp(why, "row 0: confidence", 17) == 0, "%s", why);
}
END_TEST

START_TEST(rounded_logits_are_given_room)
{
    lse[5] += 1e-2f;
    outputs.rounding = 0x1p-7;
    ck_assert_msg(is_right(), "%s", why);
}
END_TEST

START_TEST(rows_of_a_longer_batch_are_left_out)
{
    argmax[5] = VOCAB;
    outputs.rows = 5;
    ck_assert_msg(is_right(), "%s", why);
}
END_TEST

START_TEST(of_equal_logits_the_lowest_must_win)
{
    bench_reference_row *row = &reference.rows[2];
    const int64_t higher = argmax[2] + 1 < VOCAB ? argmax[2] + 1 : argmax[2];
    const int64_t lower = higher - 1;
    row->logits[lower] = row->logits[higher] = row->max;
    argmax[2] = (int32_t)lower;
    ck_assert_msg(is_right(), "%s", why);
    argmax[2] = (int32_t)higher;
    ck_assert(!is_right());
}
END_TEST

static TCase *group(const char *name, void (*setup)(void))
{
    TCase *made = tcase_create(name);
    tcase_add_checked_fixture(made, setup, stop);
    tcase_add_test(made, right_outputs_pass);
    tcase_add_test(made, a_wrong_winner_is_named);
    tcase_add_test(made, an_id_out_of_range_is_no_id);
    tcase_add_test(made, an_lse_that_is_off_is_named);
    tcase_add_test(made, a_confidence_that_was_not_written_is_named);
    tcase_add_test(made, rounded_logits_are_given_room);
    tcase_add_test(made, rows_of_a_longer_batch_are_left_out);
    return made;
}

int main(void)
{
    Suite *suite = suite_create("bench_reference");
    TCase *sampler = group("sampler", start_sampler);
    tcase_add_test(sampler, of_equal_logits_the_lowest_must_win);
    suite_add_tcase(suite, group("head", start_head));
    suite_add_tcase(suite, sampler);
    bench_pattern_create(&hidden, DLLM_BF16, 1.0, 1);
    bench_pattern_create(&weight, DLLM_BF16, 0.5, 2);
    const int failed = check_suite_run(suite);
    bench_pattern_release(&weight);
    bench_pattern_release(&hidden);
    return failed;
}
