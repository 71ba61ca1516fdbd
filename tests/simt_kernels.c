/*
 * simt_kernels.c - every variant of the heads and the sampler on the host, with combine behind it
 *
 * Values against the double reference and the row cases; then what must not change any bit.
 */
#include "case_call.h"
#include "check_suite.h"
#include "element_type.h"
#include "problem.h"
#include "row_driver.h"
#include "simt_shapes.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPES = 10, CASE_LOGITS_MAX = 9000 };

static row_cases cases;

/* ---- values ---- */

START_TEST(matches_the_double_reference)
{
    static const int splits[] = {1, 2, 3, 5, 40};
    const int seed = _i % SHAPES;
    const simt_choice choice = {.kernel = simt_variant_of_rows(_i / SHAPES),
                                .splits = splits[seed % 5]};
    row_shape shape;
    simt_shape_draw(&shape, choice.kernel, (uint64_t)_i);
    simt_shape_check(&shape, &choice);
}
END_TEST

/* Every remainder of the vocabulary and the depth by what a lane, a run and a tile take. */
START_TEST(takes_the_smallest_and_the_ragged)
{
    static const int64_t sizes[][3] = {/* rows, vocab, depth */
                                       {1, 1, 1},   {1, 129, 33}, {70, 1, 10}, {3, 31, 7},
                                       {5, 33, 32}, {2, 65, 9},   {17, 63, 1}, {65, 66, 17}};
    const simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        row_shape shape;
        simt_shape_draw(&shape, choice.kernel, i);
        shape.values = VALUES_INTEGER;
        shape.rows = sizes[i][0];
        shape.vocab = sizes[i][1];
        shape.valid_vocab = 0;
        shape.source_rows = 0;
        if (shape.is_head) shape.depth = sizes[i][2];
        const int align = simt_variant_alignment(choice.kernel);
        shape.hidden_pad =
            shape.is_head ? simt_pad_to(0, shape.depth, shape.hidden_type, align) : 1;
        shape.weight_pad = simt_pad_to(1, shape.depth, shape.weight_type, align);
        simt_shape_check(&shape, &choice);
    }
}
END_TEST

/* ---- the row cases ---- */

enum { DRAWN = DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB };

/* The outputs of a view that a variant can be held to. */
static uint32_t outputs_of(const case_view *view, const case_call *call,
                           const simt_variant *variant)
{
    uint32_t outputs = simt_outputs(variant);
    if (!view->with_draw) outputs &= ~(uint32_t)DRAWN;
    if (!call->problem.target) outputs &= ~(uint32_t)DLLM_OUT_TARGET_LOGPROB;
    return outputs;
}

/* Runs one view by one variant; returns 1 if it was taken. */
static int check_view(const row_case *from, const case_view *view, const simt_choice *choice)
{
    case_call call;
    row_result result;
    dllm_message why;
    ck_assert(case_call_build(&call, from, view, ~0u));
    const int64_t logits = call.problem.rows * call.problem.vocab;
    const bool taken = simt_variant_takes(choice->kernel, &call.problem) && call.problem.rows > 0 &&
                       (!view->is_head || logits <= CASE_LOGITS_MAX);
    if (taken)
        ck_assert_msg(simt_row_run(&result, &call.problem, choice) == ROW_RAN, "%s: %s", from->id,
                      result.message.text);
    for (int64_t r = 0; taken && r < call.problem.rows; r++) {
        double value[ROW_OUTPUTS] = {0};
        for (int i = 0; i < ROW_OUTPUTS; i++)
            if (result.data[i]) value[i] = row_result_value(&result, i, r);
        ck_assert_msg(row_answer_matches(case_answer(from, view, r), value,
                                         outputs_of(view, &call, choice->kernel), call.flags_mask,
                                         &why),
                      "%s, row %lld, %s, %d splits: %s", from->id, (long long)(view->first + r),
                      choice->kernel->name, choice->splits, why.text);
    }
    if (taken) row_result_release(&result);
    case_call_release(&call);
    return taken;
}

/* All rows in one call where that can be, else row by row, then shard by shard. */
static int check_case(const row_case *from, const simt_choice *choice)
{
    case_view view = {.is_head = simt_variant_is_head(choice->kernel), .depth = 8, .shard = -1};
    int taken = 0;
    view.type = (dllm_type)simt_variant_value(
        choice->kernel, view.is_head ? "DLLM_HIDDEN_TYPE" : "DLLM_LOGITS_TYPE", DLLM_BF16);
    /* a head of the case's own is exact in every type */
    if (!(view.is_head && from->weight) && !(from->types & 1u << view.type)) return 0;
    view.count = from->row_count;
    view.id_type = simt_variant_ids(choice->kernel, choice->splits % 2 ? DLLM_INT32 : DLLM_INT64);
    const bool joint = !view.is_head || case_head_is_joint(from);
    if (joint && from->row_count > 0) taken += check_view(from, &view, choice);
    view.count = 1;
    for (view.first = 0; view.first < from->row_count; view.first++) {
        const case_row *row = &from->row[view.first];
        view.with_draw = row->has_key || row->words;
        if (!joint || view.with_draw) taken += check_view(from, &view, choice);
        view.tempered = row->tempered.present != 0;
        if (view.tempered) taken += check_view(from, &view, choice);
        view.with_draw = view.tempered = false;
        for (view.shard = 0; view.shard < from->shard_count; view.shard++)
            if (row->parts[view.shard].present) taken += check_view(from, &view, choice);
        view.shard = -1;
    }
    return taken;
}

/* The number of cases that some variant of the kernel took and answered rightly. */
static int check_cases(const char *kernel)
{
    int passed = 0;
    for (int64_t c = 0; c < cases.count; c++) {
        const row_case *from = &cases.cases[c];
        const simt_variant *variant;
        int taken = 0;
        if (from->is_large) continue;
        for (int v = 0; (variant = simt_variant_of_rows(v)); v++) {
            if (strcmp(variant->kernel, kernel) != 0) continue;
            for (int splits = 1; splits <= 2; splits++)
                taken += check_case(from, &(simt_choice){.kernel = variant, .splits = splits});
        }
        passed += taken > 0;
    }
    return passed;
}

/* Two cases are left out: one has no rows, so that nothing is launched for it, and one is large. Two
   vocabularies would take a head on the host too long, and head_tiled has fewer variants. */
START_TEST(answers_the_row_cases)
{
    static const struct {
        const char *kernel;
        int cases;
    } kernels[] = {
        {"sampler_stream", 34}, {"sampler_finish", 34}, {"head_naive", 32}, {"head_tiled", 26}};
    const int passed = check_cases(kernels[_i].kernel);
    ck_assert_msg(passed == kernels[_i].cases, "%s took %d cases, wanted %d", kernels[_i].kernel,
                  passed, kernels[_i].cases);
}
END_TEST

/* ---- what changes no bit ---- */

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
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_result first;
    for (int parity = -1; parity < 2; parity++) {
        row_data data;
        row_result result;
        simt_data_make(&data, &shape, choice.kernel);
        if (parity >= 0) repeat_row(&data, parity);
        simt_data_run(parity < 0 ? &first : &result, &data, &choice);
        forget_draw(parity < 0 ? &first : &result, choice.kernel);
        for (int64_t r = parity; parity >= 0 && r < shape.rows; r += 2)
            simt_bits_compare(&first, 0, &result, r, choice.kernel->name);
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
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_data data;
    row_result all;
    simt_data_make(&data, &shape, choice.kernel);
    row_data_index_rows(&data);
    simt_data_run(&all, &data, &choice);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows = counts[c];
        simt_data_run(&some, &data, &choice);
        for (int64_t r = 0; r < counts[c]; r++)
            simt_bits_compare(&all, r, &some, r, choice.kernel->name);
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
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_data data;
    row_result all;
    simt_data_make(&data, &shape, choice.kernel);
    simt_data_run(&all, &data, &choice);
    if (!shape.is_head) choice.chunk_rows = 16;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        row_result some;
        data.problem.rows_device = &counts[c];
        simt_data_run(&some, &data, &choice);
        for (int64_t r = 0; r < row_problem_written(&data.problem); r++)
            simt_bits_compare(&all, r, &some, r, choice.kernel->name);
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
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_data data;
    row_result first;
    row_result last;
    simt_data_make(&data, &shape, choice.kernel);
    simt_data_run(&first, &data, &choice);
    choice.order = SIMT_LAST_COME;
    simt_data_run(&last, &data, &choice);
    for (int64_t r = 0; r < shape.rows; r++)
        simt_bits_compare(&first, r, &last, r, choice.kernel->name);
    row_result_release(&first);
    row_result_release(&last);
    row_data_release(&data);
}
END_TEST

/* The logits are the same, so ids and maxima are; sums may differ by roundings. */
START_TEST(splits_change_neither_id_nor_maximum)
{
    simt_choice choice = {.kernel = simt_variant_of_rows(_i), .splits = 1};
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_data data;
    row_result whole;
    simt_data_make(&data, &shape, choice.kernel);
    simt_data_run(&whole, &data, &choice);
    for (choice.splits = 2; choice.splits <= 5; choice.splits += 3) {
        row_result split;
        dllm_message why;
        simt_data_run(&split, &data, &choice);
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

START_TEST(sampler_folds_chunks_as_one_row)
{
    static const char *const samplers[] = {"sampler_stream_1", "sampler_stream_2",
                                           "sampler_stream_3"};
    simt_choice choice = {.kernel = simt_variant_find(samplers[_i]), .splits = 1 + _i};
    for (choice.chunk_columns = 1; choice.chunk_columns < 200; choice.chunk_columns += 22) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            row_shape shape;
            simt_shape_draw(&shape, choice.kernel, seed);
            shape.rows = shape.rows < 9 ? shape.rows : 9;
            if (shape.vocab > 300) shape.vocab = shape.valid_vocab = 300;
            simt_shape_check(&shape, &choice);
        }
    }
}
END_TEST

/* Logits of packed lines, as cuBLAS leaves them, in chunks of both directions. */
START_TEST(sampler_takes_packed_lines)
{
    static const char *const samplers[] = {"sampler_stream_3_0_4096", "sampler_stream_3_15_5108",
                                           "sampler_stream_3_31_4988"};
    simt_choice choice = {
        .kernel = simt_variant_find(samplers[_i]), .splits = 1 + _i, .is_packed = true};
    for (uint64_t seed = 0; seed < 6; seed++) {
        row_shape shape;
        simt_shape_draw(&shape, choice.kernel, seed);
        shape.rows = 5 + 7 * (int64_t)seed;
        shape.source_rows = 0;
        if (shape.vocab > 100) shape.vocab = shape.valid_vocab = 100;
        choice.chunk_columns = seed % 2 ? 33 : 0;
        simt_shape_check(&shape, &choice);
    }
}
END_TEST

/* A lane's packets over several rounds, with every phase of the row's beginning. */
START_TEST(sampler_takes_long_rows_at_any_address)
{
    static const char *const samplers[] = {"sampler_stream_1",
                                           "sampler_stream_2",
                                           "sampler_stream_3",
                                           "sampler_stream_1_packets1",
                                           "sampler_stream_3_packets8",
                                           "sampler_finish_3_256",
                                           "sampler_finish_2_512_clustered"};
    const simt_choice choice = {.kernel = simt_variant_find(samplers[_i]), .splits = 1 + _i / 6};
    for (int values = VALUES_INTEGER; values <= VALUES_REAL; values++) {
        row_shape shape;
        simt_shape_draw(&shape, choice.kernel, (uint64_t)_i);
        shape.values = (row_values)values;
        shape.rows = 9;
        shape.vocab = 20003;
        shape.valid_vocab = values == VALUES_REAL ? 19999 : 0;
        shape.source_rows = 0;
        shape.hidden_pad = 2;
        simt_shape_check(&shape, &choice);
    }
}
END_TEST

static void load_cases(void)
{
    dllm_message message;
    ck_assert_msg(row_cases_load(&cases, DLLM_SOURCE_DIR "/tests/cases/row_cases.json", &message),
                  "%s", message.text);
}

static void release_cases(void)
{
    row_cases_release(&cases);
}

static Suite *kernels_suite(void)
{
    int variants = 0;
    Suite *suite = suite_create("simt_kernels");
    TCase *values = tcase_create("values");
    TCase *bits = tcase_create("bits");
    while (simt_variant_of_rows(variants))
        variants++;
    tcase_set_timeout(values, 0);
    tcase_set_timeout(bits, 0);
    tcase_add_unchecked_fixture(values, load_cases, release_cases);
    tcase_add_loop_test(values, matches_the_double_reference, 0, variants * SHAPES);
    tcase_add_loop_test(values, takes_the_smallest_and_the_ragged, 0, variants);
    tcase_add_loop_test(values, answers_the_row_cases, 0, 4);
    tcase_add_loop_test(values, sampler_folds_chunks_as_one_row, 0, 3);
    tcase_add_loop_test(values, sampler_takes_packed_lines, 0, 3);
    tcase_add_loop_test(values, sampler_takes_long_rows_at_any_address, 0, 7);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_at_every_place, 0, variants);
    tcase_add_loop_test(bits, a_row_has_the_same_bits_whatever_the_row_count, 0, variants);
    tcase_add_loop_test(bits, rows_from_the_device_count_on_are_left_alone, 0, variants);
    tcase_add_loop_test(bits, the_order_of_threads_changes_no_bit, 0, variants);
    tcase_add_loop_test(bits, splits_change_neither_id_nor_maximum, 0, variants);
    suite_add_tcase(suite, values);
    suite_add_tcase(suite, bits);
    return suite;
}

int main(void)
{
    return check_suite_run(kernels_suite());
}
