/* row_bits.c - tests of the row suite: what must not change a row changes no bit of it */
#include "row_driver.h"
#include "row_fixture.h"

#include <stdlib.h>
#include <string.h>

/* Row 0 of the rows from `hidden` on is put at every second place, from `parity` on; every other row
   becomes NaN. */
static void repeat_rows(unsigned char *hidden, const row_problem *p, int parity)
{
    const size_t bytes = (size_t)p->hidden_stride * 2; /* bf16 */
    unsigned char *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, hidden, bytes);
    for (int64_t r = 0; r < p->rows; r++)
        if (r % 2 == parity)
            memcpy(hidden + (size_t)r * bytes, copy, bytes);
        else
            memset(hidden + (size_t)r * bytes, 0xff, bytes);
    free(copy);
}

static void repeat_row(row_data *data, int parity)
{
    const row_problem *p = &data->problem;
    for (int copy = 0; copy < data->copies; copy++)
        repeat_rows(data->hidden + (size_t)(copy * p->rows * p->hidden_stride) * 2, p, parity);
}

START_TEST(a_row_has_the_same_bits_at_every_place)
{
    const row_shape shape = row_fixture_shape(_i);
    row_result first;
    dllm_message why;
    for (int parity = -1; parity < 2; parity++) {
        row_data data;
        row_result result;
        if (!row_fixture_make(&data, &shape, _i)) return;
        if (data.features.temperature) data.features.temperature[0] = 0.7f; /* a true draw */
        if (data.features.cfg_scale) data.features.cfg_scale[0] = 0.5f;
        row_features_repeat(&data.features, &data.problem);
        if (parity >= 0) repeat_row(&data, parity);
        row_fixture_run(parity < 0 ? &first : &result, &data.problem);
        for (int64_t r = parity; parity >= 0 && r < shape.rows; r += 2)
            ck_assert_msg(row_bits_equal(&first, 0, &result, r, &why), "%s: %s",
                          row_fixture_family(_i), why.text);
        if (parity >= 0) row_result_release(&result);
        row_data_release(&data);
    }
    row_result_release(&first);
}
END_TEST

START_TEST(a_row_has_the_same_bits_whatever_the_row_count)
{
    static const int64_t counts[] = {1, 2, 16, 17, 64, 132};
    const row_shape shape = row_fixture_shape(_i);
    row_data data;
    row_result all;
    dllm_message why;
    if (!row_fixture_make(&data, &shape, _i)) return;
    row_data_index_rows(&data);
    data.problem.rows_max = shape.rows;
    row_fixture_run(&all, &data.problem);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows = counts[c];
        row_fixture_run(&some, &data.problem);
        for (int64_t r = 0; r < counts[c]; r++)
            ck_assert_msg(row_bits_equal(&all, r, &some, r, &why), "%s: %s", row_fixture_family(_i),
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
    static const int64_t counts[] = {-3,       0, 1, 17, 64, ROW_FIXTURE_ROWS - 1, ROW_FIXTURE_ROWS,
                                     INT64_MAX};
    static const int64_t reversed[] = {132, 131, 130, 3, 2, 1, 0, -1};
    int64_t index[ROW_FIXTURE_ROWS];
    const row_shape shape = row_fixture_shape(_i);
    row_data data;
    dllm_message why;
    if (!row_fixture_make(&data, &shape, _i)) return;
    for (int64_t r = 0; r < ROW_FIXTURE_ROWS; r++)
        index[r] = reversed[r % 8];
    data.problem.source_rows = ROW_FIXTURE_ROWS;
    for (int gathered = 0; gathered < 2; gathered++) {
        row_result all;
        data.problem.rows_device = NULL;
        if (gathered) data.problem.row_index = index;
        row_fixture_run(&all, &data.problem);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            row_result some;
            data.problem.rows_device = &counts[c];
            row_fixture_run(&some, &data.problem);
            for (int64_t r = 0; r < row_problem_written(&data.problem); r++)
                ck_assert_msg(row_bits_equal(&all, r, &some, r, &why), "%s, count %lld: %s",
                              row_fixture_family(_i), (long long)counts[c], why.text);
            row_result_release(&some);
        }
        row_result_release(&all);
    }
    row_data_release(&data);
}
END_TEST

/* The key of a row without one is its source row: where it stands in the batch does not enter. */
START_TEST(gathered_rows_draw_as_they_do_in_order)
{
    static int64_t backward[ROW_FIXTURE_ROWS];
    row_shape shape = row_fixture_shape(1);
    row_data data;
    row_result in_order, gathered;
    dllm_message why;
    shape.features = FEATURE_OUTPUTS | FEATURE_TEMPERED;
    if (!row_fixture_make(&data, &shape, _i * ROW_VARIANTS + 1)) return;
    data.problem.plan_temperature = 0.8f;
    data.problem.target = NULL;
    data.problem.outputs &= ~(uint32_t)DLLM_OUT_TARGET_LOGPROB;
    row_fixture_run(&in_order, &data.problem);
    for (int64_t r = 0; r < shape.rows; r++)
        backward[r] = shape.rows - 1 - r;
    data.problem.row_index = backward;
    data.problem.source_rows = shape.rows;
    row_fixture_run(&gathered, &data.problem);
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
    const row_shape shape = row_fixture_shape(_i);
    row_data data;
    row_result first, other;
    dllm_message why;
    if (!row_fixture_make(&data, &shape, _i)) return;
    row_data_index_rows(&data);
    data.problem.behaviour |= DLLM_BATCH_INVARIANT;
    const row_outcome outcome = row_run(&first, &row_fixture_device()->memory,
                                        row_fixture_device()->context, &data.problem);
    ck_assert_msg(outcome == ROW_RAN || outcome == ROW_UNSUPPORTED, "%s", first.message.text);
    for (size_t i = 0; outcome == ROW_RAN && i < sizeof rows_max / sizeof rows_max[0]; i++) {
        data.problem.rows_max = rows_max[i];
        data.problem.rows = rows_max[i] < shape.rows ? rows_max[i] : shape.rows;
        row_fixture_run(&other, &data.problem);
        for (int64_t r = 0; r < data.problem.rows; r++)
            ck_assert_msg(row_bits_equal(&first, r, &other, r, &why), "%s, rows_max %lld: %s",
                          row_fixture_family(_i), (long long)rows_max[i], why.text);
        row_result_release(&other);
    }
    row_result_release(&first);
    row_data_release(&data);
}
END_TEST

/* Exact logits: whatever tiles and splits a family takes for a number of rows, the ids drawn are the same,
   and those of the reference. */
START_TEST(every_plan_draws_the_same_ids)
{
    static const int64_t rows_max[] = {ROW_FIXTURE_ROWS, 1, 24, 60, 400, 3000};
    double wanted[ROW_FIXTURE_ROWS] = {0};
    row_shape shape = row_fixture_shape(1);
    row_data data;
    dllm_message why;
    shape.values = VALUES_INTEGER;
    shape.vocab = 20011;
    shape.features = FEATURE_OUTPUTS | FEATURE_KEYS;
    if (!row_fixture_make(&data, &shape, _i * ROW_VARIANTS + 1)) return;
    data.problem.plan_temperature = 0.75f;
    for (size_t i = 0; i < sizeof rows_max / sizeof rows_max[0]; i++) {
        row_result result;
        data.problem.rows_max = rows_max[i];
        data.problem.rows = rows_max[i] < shape.rows ? rows_max[i] : shape.rows;
        row_fixture_run(&result, &data.problem);
        ck_assert_msg(i > 0 || row_data_compare(&data, &result, &why), "%s: %s",
                      data.problem.family, why.text);
        for (int64_t r = 0; r < data.problem.rows; r++) {
            const double id = row_result_value(&result, ROW_GUMBEL_ID, r);
            if (i == 0) wanted[r] = id;
            ck_assert_msg(id == wanted[r], "%s, rows_max %lld, row %lld: %.0f, wanted %.0f",
                          data.problem.family, (long long)rows_max[i], (long long)r, id, wanted[r]);
        }
        row_result_release(&result);
    }
    row_data_release(&data);
}
END_TEST

void row_bits_add(Suite *suite, int families)
{
    const row_suite_setup *setup = row_fixture_setup();
    TCase *bits = row_suite_case(suite, setup->is_head ? "head_bits" : "sampler_bits");
    tcase_add_loop_test(bits, a_row_has_the_same_bits_at_every_place, 0, families * ROW_VARIANTS);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_whatever_the_row_count, 0,
                        setup->steady_families * ROW_VARIANTS);
    tcase_add_loop_test(bits, a_row_count_of_the_device_gives_the_same_bits, 0,
                        families * ROW_VARIANTS);
    tcase_add_loop_test(bits, gathered_rows_draw_as_they_do_in_order, 0, families);
    tcase_add_loop_test(bits, every_plan_draws_the_same_ids, 0, families);
    tcase_add_loop_test(bits, batch_invariant_plans_give_the_same_bits, 0, families * ROW_VARIANTS);
}
