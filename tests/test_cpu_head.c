/* test_cpu_head.c - the head on the CPU against the double reference, on every vector table */
#include "cpu_case.h"

#include <math.h>
#include <stdlib.h>

#include "check_suite.h"

enum { SEED = 20260, TYPES = 3 };

#define HEAD .operation = DLLM_OPERATION_HEAD
#define MIX(h, w) .hidden_type = DLLM_##h, .weight_type = DLLM_##w

static const cpu_shape shapes[] = {
    {"one of everything", HEAD, MIX(BF16, BF16), .rows = 1, .vocab = 1, .depth = 1},
    {"depth 1", HEAD, MIX(FP32, FP16), .rows = 5, .vocab = 300, .depth = 1},
    {"vocab 1", HEAD, MIX(BF16, FP32), .rows = 9, .vocab = 1, .depth = 77},
    {"ragged", HEAD, MIX(BF16, BF16), .rows = 7, .vocab = 389, .depth = 67},
    {"vocab 129", HEAD, MIX(FP16, FP16), .rows = 3, .vocab = 129, .depth = 130},
    {"whole steps", HEAD, MIX(BF16, BF16), .rows = 4, .vocab = 192, .depth = 128},
    {"depth 31", HEAD, MIX(FP32, FP32), .rows = 6, .vocab = 193, .depth = 31},
    {"depth 33", HEAD, MIX(FP32, BF16), .rows = 2, .vocab = 191, .depth = 33},
    {"masked columns", HEAD, MIX(BF16, BF16), .rows = 4, .vocab = 500, .valid_vocab = 385,
     .depth = 40},
    {"strides", HEAD, MIX(BF16, FP16), .rows = 5, .vocab = 201, .depth = 45, .hidden_pad = 3,
     .weight_pad = 7},
    {"gathered", HEAD, MIX(FP16, BF16), .rows = 23, .vocab = 333, .depth = 50, .index_bytes = 4,
     .hidden_pad = 1},
    {"gathered by 64 bits, 64-bit ids", HEAD, MIX(BF16, BF16), .rows = 16, .vocab = 250,
     .depth = 64, .index_bytes = 8, .id_type = DLLM_INT64, .vocab_offset = (int64_t)1 << 40},
    {"shard", HEAD, MIX(FP32, BF16), .rows = 3, .vocab = 400, .depth = 96, .vocab_offset = 1000},
    {"integers", HEAD, MIX(BF16, BF16), .rows = 12, .vocab = 700, .depth = 24, .integers = true},
    {"integers, long sums", HEAD, MIX(FP16, BF16), .rows = 5, .vocab = 210, .depth = 1111,
     .integers = true},
    {"two chunks of depth", HEAD, MIX(BF16, BF16), .rows = 6, .vocab = 20, .depth = 4133},
    {"three chunks of depth", HEAD, MIX(FP32, FP32), .rows = 2, .vocab = 7, .depth = 12288},
    {"several tiles of rows", HEAD, MIX(BF16, BF16), .rows = 101, .vocab = 195, .depth = 35},
    {"rows that fill no cache", HEAD, MIX(BF16, FP32), .rows = 70, .vocab = 30, .depth = 5000},
    {"several passes", HEAD, MIX(FP16, FP32), .rows = 515, .vocab = 60, .depth = 9,
     .index_bytes = 4},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

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

START_TEST(every_mix_of_types_matches_reference)
{
    const cpu_shape shape = {"mix of types",
                             HEAD,
                             .hidden_type = (dllm_type)(1 + _i / TYPES),
                             .weight_type = (dllm_type)(1 + _i % TYPES),
                             .rows = 5,
                             .vocab = 203,
                             .depth = 75};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 1);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(random_shapes_match_reference)
{
    uint32_t state = SEED + (uint32_t)_i;
    int64_t draw[6];
    for (int i = 0; i < 6; i++) {
        state = state * 1664525U + 1013904223U;
        draw[i] = (int64_t)(state >> 8);
    }
    const cpu_shape shape = {.name = "random",
                             HEAD,
                             .hidden_type = (dllm_type)(1 + draw[0] % TYPES),
                             .weight_type = (dllm_type)(1 + draw[0] / TYPES % TYPES),
                             .rows = 1 + draw[1] % 20,
                             .vocab = 1 + draw[2] % 450,
                             .depth = 1 + draw[3] % 200,
                             .hidden_pad = draw[4] % 3,
                             .weight_pad = draw[5] % 3,
                             .integers = draw[5] % 2 == 0};
    cpu_case c;
    cpu_case_create(&c, &shape, state);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 2);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(bits_do_not_depend_on_threads)
{
    static const int threads[] = {2, 5};
    const cpu_shape shape = {"threads",  HEAD,          MIX(BF16, BF16),
                             .rows = 37, .vocab = 1500, .depth = 71};
    cpu_case one, many;
    cpu_case_create(&one, &shape, SEED);
    cpu_case_create(&many, &shape, SEED);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&one, cpu_case_vector(v), 1);
        cpu_case_run(&many, cpu_case_vector(v), threads[_i]);
        for (int64_t row = 0; row < shape.rows; row++)
            ck_assert_msg(cpu_case_same(&one, row, &many, row), "row %lld differs with %d threads",
                          (long long)row, threads[_i]);
    }
    cpu_case_release(&many);
    cpu_case_release(&one);
}
END_TEST

/* A row alone, and the same row at every place of a batch beside a row of NaN. */
START_TEST(bits_do_not_depend_on_place)
{
    enum { ROWS = 70 };
    static const dllm_type types[] = {DLLM_BF16, DLLM_FP16, DLLM_FP32};
    cpu_shape shape = {
        "alone",      HEAD,         .hidden_type = DLLM_FP32, .weight_type = types[_i], .rows = 1,
        .vocab = 391, .depth = 4200};
    cpu_case alone, batch;
    cpu_case_create(&alone, &shape, SEED);
    shape.rows = ROWS;
    cpu_case_create(&batch, &shape, SEED);
    int64_t zeros[ROWS] = {0};
    zeros[ROWS / 2] = 1;
    cpu_case_set_hidden(&batch, 1, 5, (double)NAN);
    batch.call.row_index = zeros;
    batch.problem.index_type = DLLM_INT64;
    batch.call.weight = alone.call.weight; /* the same seed draws other weights after more rows */
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&alone, cpu_case_vector(v), 1);
        cpu_case_run(&batch, cpu_case_vector(v), 2);
        for (int64_t row = 0; row < ROWS; row++)
            ck_assert_msg(cpu_case_same(&alone, 0, &batch, row) == (row != ROWS / 2),
                          "%s: row %lld differs", cpu_case_vector(v)->name, (long long)row);
    }
    cpu_case_release(&batch);
    cpu_case_release(&alone);
}
END_TEST

/* An element of a weight row, and what it makes of every row's logit there. */
static const struct {
    const char *name;
    int64_t column;
    double value;
} specials[] = {
    {"nan first", 0, (double)NAN},
    {"nan last", 390, (double)NAN},
    {"nan in a tail column", 384, (double)NAN},
    {"inf", 200, (double)INFINITY},
    {"minus inf", 77, -(double)INFINITY},
};

START_TEST(special_weights_match_reference)
{
    const cpu_shape shape = {specials[_i].name, HEAD,         MIX(FP32, BF16),
                             .rows = 6,         .vocab = 391, .depth = 37};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    cpu_case_set_weight(&c, specials[_i].column, 36, specials[_i].value);
    for (int64_t row = 0; row < shape.rows; row++)
        cpu_case_set_hidden(&c, row, 36, 0.5);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 2);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(a_masked_nan_is_not_seen)
{
    const cpu_shape shape = {"masked nan", HEAD,         MIX(BF16, BF16),
                             .rows = 3,    .vocab = 100, .valid_vocab = 97,
                             .depth = 16};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    cpu_case_set_weight(&c, 97, 0, (double)NAN);
    cpu_case_set_weight(&c, 99, 15, (double)INFINITY);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 1);
        for (int64_t row = 0; row < shape.rows; row++)
            ck_assert_uint_eq(c.call.flags[row], 0);
        cpu_case_check(&c, cpu_case_vector(v)->name);
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(equal_weight_rows_give_the_lowest_id)
{
    const cpu_shape shape = {"ties", HEAD, MIX(FP32, FP32), .rows = 5, .vocab = 800, .depth = 50};
    cpu_case c;
    cpu_case_create(&c, &shape, SEED);
    for (int64_t column = 0; column < shape.vocab; column++)
        for (int64_t h = 0; h < shape.depth; h++)
            cpu_case_set_weight(&c, column, h, (double)(h % 3) - 1);
    for (int v = 0; cpu_case_vector(v); v++) {
        cpu_case_run(&c, cpu_case_vector(v), 2);
        for (int64_t row = 0; row < shape.rows; row++) {
            ck_assert_int_eq(cpu_case_argmax(&c, row), 0);
            ck_assert(c.call.confidence[row] == 1.0f / 800.0f);
        }
    }
    cpu_case_release(&c);
}
END_TEST

START_TEST(writes_only_what_was_asked_for)
{
    static const uint32_t outputs[] = {DLLM_OUT_ARGMAX, DLLM_OUT_MAX, DLLM_OUT_LSE,
                                       DLLM_OUT_CONFIDENCE, DLLM_OUT_FLAGS};
    const cpu_shape shape = {"outputs", HEAD, MIX(BF16, BF16), .rows = 3, .vocab = 50, .depth = 20};
    cpu_case all, some;
    cpu_case_create(&all, &shape, SEED);
    cpu_case_create(&some, &shape, SEED);
    cpu_case_run(&all, cpu_case_vector(0), 1);
    some.problem.outputs = outputs[_i];
    const dllm_row_call given = some.call;
    some.call.argmax = outputs[_i] & DLLM_OUT_ARGMAX ? given.argmax : NULL;
    some.call.max = outputs[_i] & DLLM_OUT_MAX ? given.max : NULL;
    some.call.lse = outputs[_i] & DLLM_OUT_LSE ? given.lse : NULL;
    some.call.confidence = outputs[_i] & DLLM_OUT_CONFIDENCE ? given.confidence : NULL;
    some.call.flags = outputs[_i] & DLLM_OUT_FLAGS ? given.flags : NULL;
    cpu_case_run(&some, cpu_case_vector(0), 1);
    some.call = given;
    for (int64_t row = 0; row < shape.rows; row++) {
        const bool argmax = cpu_case_argmax(&some, row) == cpu_case_argmax(&all, row);
        ck_assert_int_eq(argmax, outputs[_i] == DLLM_OUT_ARGMAX);
        ck_assert_int_eq(given.max[row] == all.call.max[row], outputs[_i] == DLLM_OUT_MAX);
        ck_assert_int_eq(given.lse[row] == all.call.lse[row], outputs[_i] == DLLM_OUT_LSE);
        ck_assert_int_eq(given.confidence[row] == all.call.confidence[row],
                         outputs[_i] == DLLM_OUT_CONFIDENCE);
        ck_assert_int_eq(given.flags[row] == all.call.flags[row], outputs[_i] == DLLM_OUT_FLAGS);
    }
    cpu_case_release(&some);
    cpu_case_release(&all);
}
END_TEST

START_TEST(workspace_is_bounded_in_rows)
{
    dllm_problem problem = {.hidden_type = DLLM_BF16,
                            .weight_type = DLLM_BF16,
                            .vocab = 126464,
                            .valid_vocab = 126464,
                            .depth = 4096,
                            .rows_max = 16384};
    const size_t most = dllm__cpu_head_workspace(&problem, 2);
    ck_assert_uint_le(most, (size_t)16 << 20);
    problem.rows_max = 256;
    ck_assert_uint_eq(dllm__cpu_head_workspace(&problem, 2), most);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_head");
    TCase *values = tcase_create("values");
    tcase_add_loop_test(values, matches_reference, 0, SHAPES);
    tcase_add_loop_test(values, every_mix_of_types_matches_reference, 0, TYPES * TYPES);
    tcase_add_loop_test(values, random_shapes_match_reference, 0, 40);
    tcase_add_loop_test(values, special_weights_match_reference, 0,
                        sizeof specials / sizeof specials[0]);
    tcase_add_test(values, a_masked_nan_is_not_seen);
    tcase_add_test(values, equal_weight_rows_give_the_lowest_id);
    suite_add_tcase(suite, values);
    TCase *bits = tcase_create("bits");
    tcase_add_loop_test(bits, bits_do_not_depend_on_threads, 0, 2);
    tcase_add_loop_test(bits, bits_do_not_depend_on_place, 0, TYPES);
    suite_add_tcase(suite, bits);
    TCase *memory = tcase_create("memory");
    tcase_add_loop_test(memory, writes_only_what_was_asked_for, 0, 5);
    tcase_add_test(memory, workspace_is_bounded_in_rows);
    suite_add_tcase(suite, memory);
    return check_suite_run(suite);
}
