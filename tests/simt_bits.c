/*
 * simt_bits.c - what changes no bit of a row: its place, its neighbours, their number, the order of threads
 */
#include "check_suite.h"
#include "element_type.h"
#include "problem.h"
#include "row_driver.h"
#include "simt_shapes.h"

#include <stdlib.h>
#include <string.h>

/* Real data that is ragged in each direction. */
static row_shape plain_shape(const simt_variant *variant)
{
    row_shape shape;
    simt_shape_draw(&shape, variant, 3);
    shape.values = VALUES_REAL;
    simt_shape_make_exact(&shape);
    shape.rows = 37;
    shape.vocab = 133;
    shape.valid_vocab = 0;
    shape.source_rows = 0;
    shape.depth = shape.is_head ? 37 : 0;
    const int align = simt_variant_alignment(variant);
    /* an odd stride: rows of logits begin at every distance from a 16-byte boundary */
    shape.hidden_pad = shape.is_head ? simt_pad_to(1, shape.depth, shape.hidden_type, align) : 2;
    shape.weight_pad = simt_pad_to(1, shape.depth, shape.weight_type, align);
    return shape;
}

static void make_data(row_data *out, const row_shape *shape, const simt_variant *variant)
{
    ck_assert(row_data_make(out, shape));
    simt_shape_fit(&out->problem, variant);
}

static void run(row_result *out, const row_data *data, const simt_choice *choice)
{
    ck_assert_msg(simt_row_run(out, &data->problem, choice) == ROW_RAN, "%s: %s",
                  choice->kernel->name, out->message.text);
}

/* Row 0 of the rows from `hidden` on is put at every second place, from `parity` on, the others become
   NaN. */
static void repeat_rows(unsigned char *hidden, const row_problem *p, int parity)
{
    const size_t bytes = element_bytes(p->hidden_type);
    const size_t width = (size_t)(p->is_head ? p->depth : p->vocab) * bytes;
    const size_t stride = (size_t)p->hidden_stride * bytes;
    unsigned char *row = malloc(width);
    ck_assert_ptr_nonnull(row);
    memcpy(row, hidden, width);
    for (int64_t r = 0; r < p->rows; r++) {
        unsigned char *place = hidden + (size_t)r * stride;
        if (r % 2 == parity)
            memcpy(place, row, width);
        else
            memset(place, 0xff, width);
    }
    free(row);
}

static void repeat_row(row_data *data, int parity)
{
    const row_problem *p = &data->problem;
    const size_t stride = (size_t)p->hidden_stride * element_bytes(p->hidden_type);
    for (int copy = 0; copy < data->copies; copy++)
        repeat_rows(data->hidden + (size_t)(copy * p->rows) * stride, p, parity);
    row_features_repeat(&data->features, p);
}

static void compare_bits(const row_result *a, int64_t row_a, const row_result *b, int64_t row_b,
                         const char *name)
{
    dllm_message why;
    ck_assert_msg(row_bits_equal(a, row_a, b, row_b, &why), "%s: %s", name, why.text);
}

/* Without a key of its own a row draws by its number. */
static void forget_draw(row_result *result, const simt_variant *variant)
{
    const int of_rows = DLLM_TRANSFORM_ROW_KEY | DLLM_TRANSFORM_NOISE;
    if (simt_variant_value(variant, "DLLM_TRANSFORMS", 0) & of_rows) return;
    for (int output = ROW_GUMBEL_ID; output <= ROW_GUMBEL_LOGPROB; output++) {
        free(result->data[output]);
        result->data[output] = NULL;
    }
}

START_TEST(a_row_has_the_same_bits_at_every_place)
{
    const simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 2};
    const row_shape shape = plain_shape(choice.kernel);
    row_result first;
    for (int parity = -1; parity < 2; parity++) {
        row_data data;
        row_result result;
        make_data(&data, &shape, choice.kernel);
        if (parity >= 0) repeat_row(&data, parity);
        run(parity < 0 ? &first : &result, &data, &choice);
        forget_draw(parity < 0 ? &first : &result, choice.kernel);
        for (int64_t r = parity; parity >= 0 && r < shape.rows; r += 2)
            compare_bits(&first, 0, &result, r, choice.kernel->name);
        if (parity >= 0) row_result_release(&result);
        row_data_release(&data);
    }
    row_result_release(&first);
}
END_TEST

START_TEST(a_row_has_the_same_bits_whatever_the_row_count)
{
    static const int64_t counts[] = {1, 3, 16, 36};
    const simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 2};
    const row_shape shape = plain_shape(choice.kernel);
    row_data data;
    row_result all;
    make_data(&data, &shape, choice.kernel);
    row_data_index_rows(&data);
    run(&all, &data, &choice);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows = counts[c];
        run(&some, &data, &choice);
        for (int64_t r = 0; r < counts[c]; r++)
            compare_bits(&all, r, &some, r, choice.kernel->name);
        row_result_release(&some);
    }
    row_result_release(&all);
    row_data_release(&data);
}
END_TEST

START_TEST(rows_from_the_device_count_on_are_left_alone)
{
    static const int64_t counts[] = {-1, 0, 1, 16, 36, 37, INT64_MAX};
    simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 2};
    const row_shape shape = plain_shape(choice.kernel);
    row_data data;
    row_result all;
    make_data(&data, &shape, choice.kernel);
    run(&all, &data, &choice);
    if (!shape.is_head) choice.chunk_rows = 16;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows_device = &counts[c];
        run(&some, &data, &choice);
        for (int64_t r = 0; r < row_problem_written(&data.problem); r++)
            compare_bits(&all, r, &some, r, choice.kernel->name);
        row_result_release(&some);
    }
    row_result_release(&all);
    row_data_release(&data);
}
END_TEST

/* A missing barrier shows when the last thread goes first. */
START_TEST(the_order_of_threads_changes_no_bit)
{
    simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 2};
    const row_shape shape = plain_shape(choice.kernel);
    row_data data;
    row_result first;
    row_result last;
    make_data(&data, &shape, choice.kernel);
    run(&first, &data, &choice);
    choice.order = SIMT_LAST_COME;
    run(&last, &data, &choice);
    for (int64_t r = 0; r < shape.rows; r++)
        compare_bits(&first, r, &last, r, choice.kernel->name);
    row_result_release(&first);
    row_result_release(&last);
    row_data_release(&data);
}
END_TEST

/* The logits are the same, so ids and maxima are; sums may differ by roundings. */
START_TEST(splits_change_neither_id_nor_maximum)
{
    simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 1};
    const row_shape shape = plain_shape(choice.kernel);
    row_data data;
    row_result whole;
    make_data(&data, &shape, choice.kernel);
    run(&whole, &data, &choice);
    for (choice.splits = 2; choice.splits <= 5; choice.splits += 3) {
        row_result split;
        dllm_message why;
        run(&split, &data, &choice);
        ck_assert_msg(row_data_compare(&data, &split, &why), "%s", why.text);
        for (int64_t r = 0; r < shape.rows; r++) {
            ck_assert(row_result_value(&whole, ROW_ARGMAX, r) ==
                      row_result_value(&split, ROW_ARGMAX, r));
            ck_assert(row_result_value(&whole, ROW_MAX, r) == row_result_value(&split, ROW_MAX, r));
        }
        row_result_release(&split);
    }
    row_result_release(&whole);
    row_data_release(&data);
}
END_TEST

int main(void)
{
    int variants = 0;
    Suite *suite = suite_create("simt_bits");
    TCase *bits = tcase_create("bits");
    while (simt_variant_of_rows(variants))
        variants++;
    tcase_set_timeout(bits, 0);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_at_every_place, 0, variants);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_whatever_the_row_count, 0, variants);
    tcase_add_loop_test(bits, rows_from_the_device_count_on_are_left_alone, 0, variants);
    tcase_add_loop_test(bits, the_order_of_threads_changes_no_bit, 0, variants);
    tcase_add_loop_test(bits, splits_change_neither_id_nor_maximum, 0, variants);
    suite_add_tcase(suite, bits);
    return check_suite_run(suite);
}
