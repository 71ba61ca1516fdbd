/* test_cpu_sampler.c - the sampler on the CPU against the double reference, on every vector table */
#include "cpu_case.h"

#include <math.h>

#include "check_suite.h"

enum { SEED = 417 };

#define SAMPLER(type) .operation = DLLM_OPERATION_SAMPLER, .hidden_type = DLLM_##type

static const cpu_shape shapes[] = {
    {"one of everything", SAMPLER(BF16), .rows = 1, .vocab = 1},
    {"vocab 15", SAMPLER(FP32), .rows = 3, .vocab = 15},
    {"vocab 16", SAMPLER(FP32), .rows = 3, .vocab = 16},
    {"vocab 17", SAMPLER(FP16), .rows = 3, .vocab = 17},
    {"vocab 129", SAMPLER(BF16), .rows = 70, .vocab = 129},
    {"one range", SAMPLER(FP32), .rows = 2, .vocab = 4096},
    {"a range and a column", SAMPLER(FP16), .rows = 2, .vocab = 4097},
    {"ranges", SAMPLER(BF16), .rows = 5, .vocab = 20011},
    {"masked columns", SAMPLER(BF16), .rows = 3, .vocab = 9000, .valid_vocab = 8191},
    {"strides", SAMPLER(FP32), .rows = 7, .vocab = 333, .hidden_pad = 5},
    {"gathered", SAMPLER(BF16), .rows = 20, .vocab = 99, .index_bytes = 4, .hidden_pad = 2},
    {"gathered by 64 bits", SAMPLER(FP16), .rows = 20, .vocab = 99, .index_bytes = 8,
     .id_type = DLLM_INT64, .vocab_offset = (int64_t)1 << 33},
    {"ties", SAMPLER(FP32), .rows = 9, .vocab = 5000, .integers = true},
    {"several passes", SAMPLER(FP16), .rows = 300, .vocab = 40, .integers = true},
};

START_TEST(matches_reference)
{
    cpu_case c;
    cpu_case_create(&c, &shapes[_i], SEED + (uint32_t)_i);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 2);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

/* What stands at which column of rows that are otherwise one value. */
static const struct {
    const char *name;
    double elsewhere;
    int64_t columns[2];
    double values[2];
} rows[] = {
    {"nan", 1, {4100, 7}, {(double)NAN, 5}},
    {"two nans", 1, {4100, 4097}, {(double)NAN, (double)NAN}},
    {"nan beats inf", 1, {4100, 3}, {(double)NAN, (double)INFINITY}},
    {"all nan", (double)NAN, {0, 1}, {(double)NAN, (double)NAN}},
    {"two infs", 1, {4099, 4098}, {(double)INFINITY, (double)INFINITY}},
    {"inf beside minus inf", -(double)INFINITY, {8, 9}, {(double)INFINITY, 3}},
    {"all minus inf", -(double)INFINITY, {0, 1}, {-(double)INFINITY, -(double)INFINITY}},
    {"nan beside minus inf", -(double)INFINITY, {4110, 1}, {(double)NAN, -(double)INFINITY}},
    {"one finite", -(double)INFINITY, {4105, 1}, {-3, -(double)INFINITY}},
    {"zeros of both signs", -1, {4, 900}, {-0.0, 0.0}},
    {"zeros of both signs, turned", -1, {4, 900}, {0.0, -0.0}},
    {"minus zero in a later range", -1, {4000, 4100}, {0.0, -0.0}},
    {"large", 1e6, {0, 1}, {1e6 + 1, 1e6 + 2}},
    {"far below", -1e30, {4101, 2}, {-1e30, 3e38}},
    {"below the range of exp", -300, {5, 6}, {-301, -210}},
};

START_TEST(special_rows_match_reference)
{
    const cpu_shape shape = {rows[_i].name, SAMPLER(FP32), .rows = 2, .vocab = 4111};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    for (int64_t column = 0; column < shape.vocab; column++)
        cpu_case_set_hidden(&c, 0, column, rows[_i].elsewhere);
    for (int i = 0; i < 2; i++)
        cpu_case_set_hidden(&c, 0, rows[_i].columns[i], rows[_i].values[i]);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 2);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(confidence_survives_large_logits)
{
    const cpu_shape shape = {"1e6 + {0, 1, 2}", SAMPLER(FP32), .rows = 1, .vocab = 3};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    for (int64_t column = 0; column < 3; column++)
        cpu_case_set_hidden(&c, 0, column, 1e6 + (double)column);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 1);
        ck_assert_double_eq_tol((double)c.call.confidence[0], 0.66524096, 1e-6);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(bits_do_not_depend_on_threads_or_rows)
{
    cpu_shape shape = {"rows", SAMPLER(BF16), .rows = 33, .vocab = 9001};
    cpu_case many, one;
    cpu_case_create(&many, &shape, SEED);
    shape.rows = 1;
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&many, cpu_case_vector(v), 5);
        for (int64_t row = 0; row < 33; row++) {
            cpu_case_create(&one, &shape, SEED);
            one.call.hidden = (const char *)many.call.hidden + row * shape.vocab * 2;
            cpu_case_run(&one, cpu_case_vector(v), 1 + (int)row % 2);
            ck_assert_msg(cpu_case_same(&one, 0, &many, row), "row %lld differs", (long long)row);
            cpu_case_release(&one);
        }
    }
    cpu_case_release(&many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_sampler");
    TCase *values = tcase_create("values");
    tcase_add_loop_test(values, matches_reference, 0, sizeof shapes / sizeof shapes[0]);
    tcase_add_loop_test(values, special_rows_match_reference, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(values, confidence_survives_large_logits);
    suite_add_tcase(suite, values);
    TCase *bits = tcase_create("bits");
    tcase_add_test(bits, bits_do_not_depend_on_threads_or_rows);
    suite_add_tcase(suite, bits);
    return check_suite_run(suite);
}
