/* row_suite.c - the suite of one operation on one device: the same tests for the CPU and for a GPU */
#include "row_suite.h"

#include "check_suite.h"
#include "row_draws.h"
#include "row_driver.h"
#include "row_fixture.h"
#include "row_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 40 };

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

/* A family need not take every type and alignment: then the next seed's shape is taken. */
START_TEST(matches_the_double_reference)
{
    const char *family = row_fixture_setup()->families[_i / ROW_SUITE_SHAPES];
    row_outcome outcome = ROW_UNSUPPORTED;
    row_shape shape;
    dllm_message why;
    dllm_message text;
    for (int attempt = 0; outcome == ROW_UNSUPPORTED && attempt < ATTEMPTS; attempt++) {
        const uint64_t seed = (uint64_t)_i % ROW_SUITE_SHAPES + 1000 * (uint64_t)attempt;
        row_shape_random(&shape, seed, row_fixture_setup()->is_head);
        outcome = row_shape_check(&row_fixture_device()->memory, row_fixture_device()->context,
                                  family, &shape, &why);
    }
    row_shape_text(&text, &shape);
    ck_assert_msg(outcome == ROW_RAN, "%s, %s: %s", family, text.text, why.text);
}
END_TEST

/* Floats may move within their tolerance when other outputs are asked for, ids and flags may not. */
START_TEST(an_output_alone_is_right_too)
{
    const row_shape shape = row_fixture_shape(_i);
    row_data data;
    dllm_message why;
    if (!row_fixture_make(&data, &shape, _i)) return;
    const uint32_t outputs = data.problem.outputs;
    for (int output = 0; output < ROW_OUTPUTS; output++) {
        row_result alone;
        if (!(outputs & 1u << output)) continue;
        data.problem.outputs = 1u << output;
        row_fixture_run(&alone, &data.problem);
        ck_assert_msg(row_data_compare(&data, &alone, &why), "%s: %s", row_fixture_family(_i),
                      why.text);
        row_result_release(&alone);
    }
    row_data_release(&data);
}
END_TEST

/* Every weight row equal: the lowest id must win over tiles, splits and chunks alike. */
START_TEST(the_lowest_id_wins_among_equal_inputs)
{
    row_shape shape = row_fixture_shape(_i * ROW_VARIANTS);
    row_data data;
    row_result result;
    shape.vocab = 20000;
    shape.rows = 3;
    if (!row_fixture_make(&data, &shape, _i * ROW_VARIANTS)) return;
    const size_t row_bytes = (size_t)shape.depth * 2; /* bf16 */
    for (int64_t v = 1; shape.is_head && v < shape.vocab; v++)
        memcpy(data.weight + (size_t)v * row_bytes, data.weight, row_bytes);
    if (!shape.is_head) memset(data.hidden, 0, (size_t)(shape.rows * shape.vocab) * 2);
    row_fixture_run(&result, &data.problem);
    for (int64_t r = 0; r < shape.rows; r++)
        ck_assert_msg(row_result_value(&result, ROW_ARGMAX, r) == 0, "%s: row %lld",
                      row_fixture_family(_i * ROW_VARIANTS), (long long)r);
    row_result_release(&result);
    row_data_release(&data);
}
END_TEST

/* 2, 3 and 8 unequal shards of exact logits, that of one column among them. */
START_TEST(shards_merge_to_the_whole)
{
    static const int counts[] = {2, 3, 8};
    static const int64_t vocabs[] = {8, 101, 3000};
    enum { CASES = 3 };
    row_shape shape = row_fixture_shape(1);
    row_data data;
    dllm_message why;
    shape.seed = (uint64_t)_i;
    shape.values = VALUES_INTEGER;
    shape.vocab = vocabs[_i / CASES % CASES];
    shape.rows = 9;
    shape.id_type = _i % 2 ? DLLM_INT64 : DLLM_INT32;
    shape.vocab_offset = _i % 2 ? ((int64_t)1 << 40) + 1 : 126464;
    shape.features = FEATURE_EXACT - FEATURE_WORDS;
    if (_i & 2) shape.features -= FEATURE_GUIDANCE;
    if (!row_fixture_make(&data, &shape, _i / (CASES * CASES) * ROW_VARIANTS + 1)) return;
    const row_outcome outcome =
        row_shards_check(&row_fixture_device()->memory, row_fixture_device()->context, &data,
                         counts[_i % CASES], &why);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s: %s", data.problem.family,
                  why.text);
    row_data_release(&data);
}
END_TEST

START_TEST(draws_follow_the_softmax)
{
    dllm_message why;
    const row_suite_setup *setup = row_fixture_setup();
    const row_draws_setup draws = {setup->families[_i], setup->is_head, setup->draws};
    const row_outcome outcome =
        row_draws_check(&row_fixture_device()->memory, row_fixture_device()->context, &draws, &why);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s: %s", draws.family,
                  why.text);
}
END_TEST

TCase *row_suite_case(Suite *suite, const char *name)
{
    return check_suite_case(suite, name, row_fixture_open, row_fixture_close);
}

void row_suite_add_draws(Suite *suite, const row_suite_setup *with)
{
    int families = 0;
    row_fixture_set(with);
    while (with->families[families])
        families++;
    TCase *draws = row_suite_case(suite, with->is_head ? "head_draws" : "sampler_draws");
    tcase_add_loop_test(draws, draws_follow_the_softmax, 0, families);
}

void row_suite_add(Suite *suite, const row_suite_setup *with)
{
    int families = 0;
    row_fixture_set(with);
    while (with->families[families])
        families++;
    /* by CK_RUN_CASE they can be run side by side: most of their time is compiling */
    TCase *shapes = row_suite_case(suite, with->is_head ? "head_shapes" : "sampler_shapes");
    tcase_add_loop_test(shapes, matches_the_double_reference, 0, families * ROW_SUITE_SHAPES);
    TCase *outputs = row_suite_case(suite, with->is_head ? "head_outputs" : "sampler_outputs");
    tcase_add_loop_test(outputs, an_output_alone_is_right_too, 0, families * ROW_VARIANTS);
    TCase *values = row_suite_case(suite, with->is_head ? "head_values" : "sampler_values");
    tcase_add_loop_test(values, the_lowest_id_wins_among_equal_inputs, 0, families);
    tcase_add_loop_test(values, shards_merge_to_the_whole, 0, families * 9);
    row_bits_add(suite, families);
    row_suite_add_draws(suite, with);
}
