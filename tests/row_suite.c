/* row_suite.c - the suite of one operation on one device: the same tests for the CPU and for a GPU */
#include "row_suite.h"

#include "row_draws.h"
#include "row_driver.h"
#include "row_shards.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_ROWS = 133, ATTEMPTS = 40 };

/* Check hands a test nothing but its number, so the suite that runs is kept here. */
static row_suite_setup setup;
static row_suite_device opened;

void row_suite_open(row_suite_device *out, int device)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = device;
    ck_assert_msg(device_open(&out->memory, device), "%s", out->memory.message);
    ck_assert_msg(dllm_context_create(&out->context, &options) == DLLM_OK, "%s", dllm_last_error());
}

void row_suite_close(row_suite_device *device)
{
    dllm_context_destroy(device->context);
    device_close(&device->memory);
}

bool row_suite_has_device(void)
{
    char message[256];
    const int count = device_count(message);
    if (count == 0) (void)snprintf(message, sizeof message, "there is no CUDA device");
    if (count <= 0) (void)fprintf(stderr, "skipped: %s\n", message);
    return count > 0;
}

int row_suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void open_device(void)
{
    row_suite_open(&opened, setup.device);
}

static void close_device(void)
{
    row_suite_close(&opened);
}

/* A family need not take every type and alignment: then the next seed's shape is taken. */
START_TEST(matches_the_double_reference)
{
    const char *family = setup.families[_i / ROW_SUITE_SHAPES];
    row_outcome outcome = ROW_UNSUPPORTED;
    row_shape shape;
    dllm_message why;
    dllm_message text;
    for (int attempt = 0; outcome == ROW_UNSUPPORTED && attempt < ATTEMPTS; attempt++) {
        const uint64_t seed = (uint64_t)_i % ROW_SUITE_SHAPES + 1000 * (uint64_t)attempt;
        row_shape_random(&shape, seed, setup.is_head);
        outcome = row_shape_check(&opened.memory, opened.context, family, &shape, &why);
    }
    row_shape_text(&text, &shape);
    ck_assert_msg(outcome == ROW_RAN, "%s, %s: %s", family, text.text, why.text);
}
END_TEST

/* What every family has to have, and all of it: a loop of tests has one of each a family. */
enum { VARIANTS = 2 };

static const char *family_of(int index)
{
    return setup.families[index / VARIANTS];
}

/* A problem with real data, large enough for several tiles and ragged in each direction. */
static row_shape many_rows(int index)
{
    const uint32_t all = FEATURE_ALL - 1 - FEATURE_WORDS - FEATURE_ROUND;
    return (row_shape){.seed = 7,
                       .is_head = setup.is_head,
                       .values = VALUES_REAL,
                       .hidden_type = DLLM_BF16,
                       .weight_type = DLLM_BF16,
                       .rows = PLACE_ROWS,
                       .vocab = 1000,
                       .depth = setup.is_head ? 72 : 0,
                       .features = index % VARIANTS ? all : 0};
}

static void run(row_result *out, const row_problem *problem)
{
    const row_outcome outcome = row_run(out, &opened.memory, opened.context, problem);
    ck_assert_msg(outcome == ROW_RAN, "%s: %s", problem->family, out->message.text);
}

/* Makes the rows of a test; false if its family does not implement all that they ask for. */
static bool make(row_data *out, const row_shape *shape, int index)
{
    dllm_plan *plan = NULL;
    ck_assert(row_data_make(out, shape));
    out->problem.family = family_of(index);
    const dllm_status status = row_prepare(&plan, opened.context, &out->problem, 0);
    dllm_plan_destroy(plan);
    if (status != DLLM_UNSUPPORTED || index % VARIANTS == 0) return true;
    row_data_release(out);
    return false;
}

/* Row 0 is put at every second place, from `parity` on; every other row becomes NaN. */
static void repeat_row(row_data *data, int parity)
{
    const row_problem *p = &data->problem;
    const size_t bytes = (size_t)p->hidden_stride * 2; /* bf16 */
    unsigned char *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data->hidden, bytes);
    for (int64_t r = 0; r < p->rows; r++)
        if (r % 2 == parity)
            memcpy(data->hidden + (size_t)r * bytes, copy, bytes);
        else
            memset(data->hidden + (size_t)r * bytes, 0xff, bytes);
    free(copy);
}

START_TEST(a_row_has_the_same_bits_at_every_place)
{
    const row_shape shape = many_rows(_i);
    row_result first;
    dllm_message why;
    for (int parity = -1; parity < 2; parity++) {
        row_data data;
        row_result result;
        if (!make(&data, &shape, _i)) return;
        row_features_repeat(&data.features, &data.problem);
        if (parity >= 0) repeat_row(&data, parity);
        run(parity < 0 ? &first : &result, &data.problem);
        for (int64_t r = parity; parity >= 0 && r < shape.rows; r += 2)
            ck_assert_msg(row_bits_equal(&first, 0, &result, r, &why), "%s: %s", family_of(_i),
                          why.text);
        if (parity >= 0) row_result_release(&result);
        row_data_release(&data);
    }
    row_result_release(&first);
}
END_TEST

START_TEST(a_row_has_the_same_bits_whatever_the_row_count)
{
    static const int64_t counts[] = {1, 2, 16, 17, 64, 132};
    const row_shape shape = many_rows(_i);
    row_data data;
    row_result all;
    dllm_message why;
    if (!make(&data, &shape, _i)) return;
    data.problem.rows_max = shape.rows;
    run(&all, &data.problem);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows = counts[c];
        run(&some, &data.problem);
        for (int64_t r = 0; r < counts[c]; r++)
            ck_assert_msg(row_bits_equal(&all, r, &some, r, &why), "%s: %s", family_of(_i),
                          why.text);
        row_result_release(&some);
    }
    row_result_release(&all);
    row_data_release(&data);
}
END_TEST

/* From a count in device memory, outside 0 .. rows too; row_run sees that no other row is written. */
START_TEST(a_row_count_of_the_device_gives_the_same_bits)
{
    static const int64_t counts[] = {-3, 0, 1, 17, 64, PLACE_ROWS - 1, PLACE_ROWS, INT64_MAX};
    static const int64_t reversed[] = {132, 131, 130, 3, 2, 1, 0, -1};
    int64_t index[PLACE_ROWS];
    const row_shape shape = many_rows(_i);
    row_data data;
    dllm_message why;
    if (!make(&data, &shape, _i)) return;
    for (int64_t r = 0; r < PLACE_ROWS; r++)
        index[r] = reversed[r % 8];
    data.problem.source_rows = PLACE_ROWS;
    for (int gathered = 0; gathered < 2; gathered++) {
        row_result all;
        data.problem.rows_device = NULL;
        if (gathered) data.problem.row_index = index;
        run(&all, &data.problem);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            row_result some;
            data.problem.rows_device = &counts[c];
            run(&some, &data.problem);
            for (int64_t r = 0; r < row_problem_written(&data.problem); r++)
                ck_assert_msg(row_bits_equal(&all, r, &some, r, &why), "%s, count %lld: %s",
                              family_of(_i), (long long)counts[c], why.text);
            row_result_release(&some);
        }
        row_result_release(&all);
    }
    row_data_release(&data);
}
END_TEST

/* Floats may move within their tolerance when other outputs are asked for, ids and flags may not. */
START_TEST(an_output_alone_is_right_too)
{
    const row_shape shape = many_rows(_i);
    row_data data;
    dllm_message why;
    if (!make(&data, &shape, _i)) return;
    const uint32_t outputs = data.problem.outputs;
    for (int output = 0; output < ROW_OUTPUTS; output++) {
        row_result alone;
        if (!(outputs & 1u << output)) continue;
        data.problem.outputs = 1u << output;
        run(&alone, &data.problem);
        ck_assert_msg(row_data_compare(&data, &alone, &why), "%s: %s", family_of(_i), why.text);
        row_result_release(&alone);
    }
    row_data_release(&data);
}
END_TEST

/* Every weight row equal: the lowest id must win over tiles, splits and chunks alike. */
START_TEST(the_lowest_id_wins_among_equal_inputs)
{
    row_shape shape = many_rows(_i * VARIANTS);
    row_data data;
    row_result result;
    shape.vocab = 20000;
    shape.rows = 3;
    if (!make(&data, &shape, _i * VARIANTS)) return;
    const size_t row_bytes = (size_t)shape.depth * 2; /* bf16 */
    for (int64_t v = 1; shape.is_head && v < shape.vocab; v++)
        memcpy(data.weight + (size_t)v * row_bytes, data.weight, row_bytes);
    if (!shape.is_head) memset(data.hidden, 0, (size_t)(shape.rows * shape.vocab) * 2);
    run(&result, &data.problem);
    for (int64_t r = 0; r < shape.rows; r++)
        ck_assert_msg(row_result_value(&result, ROW_ARGMAX, r) == 0, "%s: row %lld",
                      family_of(_i * VARIANTS), (long long)r);
    row_result_release(&result);
    row_data_release(&data);
}
END_TEST

/* The key of a row without one is its source row: where it stands in the batch does not enter. */
START_TEST(gathered_rows_draw_as_they_do_in_order)
{
    static int64_t backward[PLACE_ROWS];
    row_shape shape = many_rows(1);
    row_data data;
    row_result in_order, gathered;
    dllm_message why;
    shape.features = FEATURE_OUTPUTS | FEATURE_TEMPERED;
    if (!make(&data, &shape, _i * VARIANTS + 1)) return;
    data.problem.plan_temperature = 0.8f;
    data.problem.target = NULL;
    data.problem.outputs &= ~(uint32_t)DLLM_OUT_TARGET_LOGPROB;
    run(&in_order, &data.problem);
    for (int64_t r = 0; r < shape.rows; r++)
        backward[r] = shape.rows - 1 - r;
    data.problem.row_index = backward;
    data.problem.source_rows = shape.rows;
    run(&gathered, &data.problem);
    for (int64_t r = 0; r < shape.rows; r++)
        ck_assert_msg(row_bits_equal(&in_order, backward[r], &gathered, r, &why), "%s: %s",
                      data.problem.family, why.text);
    row_result_release(&in_order);
    row_result_release(&gathered);
    row_data_release(&data);
}
END_TEST

/* Other plans for other numbers of rows, and still the same bits. */
START_TEST(batch_invariant_plans_give_the_same_bits)
{
    static const int64_t rows_max[] = {1, 5, 40, 3000};
    const row_shape shape = many_rows(_i);
    row_data data;
    row_result first, other;
    dllm_message why;
    if (!make(&data, &shape, _i)) return;
    data.problem.behaviour |= DLLM_BATCH_INVARIANT;
    const row_outcome outcome = row_run(&first, &opened.memory, opened.context, &data.problem);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s", first.message.text);
    for (size_t i = 0; outcome == ROW_RAN && i < sizeof rows_max / sizeof rows_max[0]; i++) {
        data.problem.rows_max = rows_max[i];
        data.problem.rows = rows_max[i] < shape.rows ? rows_max[i] : shape.rows;
        run(&other, &data.problem);
        for (int64_t r = 0; r < data.problem.rows; r++)
            ck_assert_msg(row_bits_equal(&first, r, &other, r, &why), "%s, rows_max %lld: %s",
                          family_of(_i), (long long)rows_max[i], why.text);
        row_result_release(&other);
    }
    row_result_release(&first);
    row_data_release(&data);
}
END_TEST

/* 2, 3 and 8 unequal shards of exact logits, that of one column among them. */
START_TEST(shards_merge_to_the_whole)
{
    static const int counts[] = {2, 3, 8};
    static const int64_t vocabs[] = {8, 101, 3000};
    enum { CASES = 3 };
    row_shape shape = many_rows(1);
    row_data data;
    dllm_message why;
    shape.seed = (uint64_t)_i;
    shape.values = VALUES_INTEGER;
    shape.vocab = vocabs[_i / CASES % CASES];
    shape.rows = 9;
    shape.vocab_offset = 126463;
    shape.features = FEATURE_EXACT - FEATURE_WORDS;
    if (!make(&data, &shape, _i / (CASES * CASES) * VARIANTS + 1)) return;
    const row_outcome outcome =
        row_shards_check(&opened.memory, opened.context, &data, counts[_i % CASES], &why);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s: %s", data.problem.family,
                  why.text);
    row_data_release(&data);
}
END_TEST

START_TEST(draws_follow_the_softmax)
{
    dllm_message why;
    const row_outcome outcome =
        row_draws_check(&opened.memory, opened.context, setup.families[_i], setup.draws, &why);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s: %s", setup.families[_i],
                  why.text);
}
END_TEST

void row_suite_add(Suite *suite, const row_suite_setup *with)
{
    int families = 0;
    setup = *with;
    while (with->families[families])
        families++;
    TCase *values = tcase_create(with->is_head ? "head_values" : "sampler_values");
    tcase_add_unchecked_fixture(values, open_device, close_device);
    tcase_set_timeout(values, 0);
    tcase_add_loop_test(values, matches_the_double_reference, 0, families * ROW_SUITE_SHAPES);
    tcase_add_loop_test(values, an_output_alone_is_right_too, 0, families * VARIANTS);
    tcase_add_loop_test(values, the_lowest_id_wins_among_equal_inputs, 0, families);
    tcase_add_loop_test(values, shards_merge_to_the_whole, 0, families * 9);
    if (!with->is_head) tcase_add_loop_test(values, draws_follow_the_softmax, 0, families);
    suite_add_tcase(suite, values);
    TCase *bits = tcase_create(with->is_head ? "head_bits" : "sampler_bits");
    tcase_add_unchecked_fixture(bits, open_device, close_device);
    tcase_set_timeout(bits, 0);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_at_every_place, 0, families * VARIANTS);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_whatever_the_row_count, 0,
                        with->steady_families * VARIANTS);
    tcase_add_loop_test(bits, a_row_count_of_the_device_gives_the_same_bits, 0,
                        families * VARIANTS);
    tcase_add_loop_test(bits, gathered_rows_draw_as_they_do_in_order, 0, families);
    tcase_add_loop_test(bits, batch_invariant_plans_give_the_same_bits, 0, families * VARIANTS);
    suite_add_tcase(suite, bits);
}
