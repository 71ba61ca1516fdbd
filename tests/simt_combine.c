/* simt_combine.c - combine and gather on the host: many splits, id widths, outputs, bad indices */
#include "check_suite.h"
#include "dllm.h"
#include "row_params.h"
#include "simt_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5 };

static const int64_t poisoned_id = (int64_t)0xa5a5a5a5a5a5a5a5;

static void launch(const char *name, const void *params, int64_t blocks)
{
    const simt_variant *variant = simt_variant_find(name);
    const char *wrong =
        simt_run(variant->body, params, (unsigned)blocks, variant->threads, SIMT_FIRST_COME);
    ck_assert_msg(!wrong, "%s: %s", name, wrong);
}

/* ---- combine ---- */

enum { ROWS = 6 };

/* States and outputs of a few rows. Each buffer is its own, so that a sanitizer sees its end. */
typedef struct bench {
    dllm_row_state *states;
    dllm_combine_params params;
} bench;

static void *poisoned(size_t bytes)
{
    void *made = malloc(bytes);
    ck_assert_ptr_nonnull(made);
    return memset(made, POISON, bytes);
}

static void make_bench(bench *out, int splits)
{
    const dllm_row_state neutral = {-INFINITY, 0.0f, DLLM_NO_COLUMN, DLLM_NO_COLUMN};
    const size_t count = (size_t)splits * ROWS;
    out->states = aligned_alloc(16, count * sizeof *out->states);
    ck_assert_ptr_nonnull(out->states);
    for (size_t i = 0; i < count; i++)
        out->states[i] = neutral;
    out->params = (dllm_combine_params){.states = out->states,
                                        .argmax = poisoned(ROWS * sizeof(int64_t)),
                                        .max = poisoned(ROWS * sizeof(float)),
                                        .lse = poisoned(ROWS * sizeof(float)),
                                        .confidence = poisoned(ROWS * sizeof(float)),
                                        .flags = poisoned(ROWS * sizeof(uint32_t)),
                                        .rows = ROWS,
                                        .source_rows = ROWS,
                                        .state_stride = ROWS,
                                        .splits = splits};
}

static void free_bench(bench *b)
{
    free(b->states);
    free(b->params.argmax);
    free(b->params.max);
    free(b->params.lse);
    free(b->params.confidence);
    free(b->params.flags);
}

static void run_bench(const bench *b, const char *name)
{
    const int statistics = simt_variant_value(simt_variant_find(name), "DLLM_STATISTICS", 0);
    const int block_rows = DLLM_COMBINE_ROWS(statistics);
    launch(name, &b->params, (b->params.rows + block_rows - 1) / block_rows);
}

static int64_t wide_id(const bench *b, int row)
{
    return ((const int64_t *)b->params.argmax)[row];
}

/* Row 0: one winner anywhere among the splits; row 1: a tie; row 2: a NaN; row 3: all -inf;
   row 4: no candidate; row 5: equal states, whose sums add up. */
static void fill_rows(bench *b, int splits)
{
    for (int s = 0; s < splits; s++) {
        dllm_row_state *row = b->states + (size_t)s * ROWS;
        row[0] = (dllm_row_state){s == splits / 2 ? 2.0f : -1e4f, 1.5f, s * 10, DLLM_NO_COLUMN};
        row[1] = (dllm_row_state){s % 3 == 1 ? -0.0f : -3.0f, 1.0f, s * 10 + 3, DLLM_NO_COLUMN};
        row[2] =
            (dllm_row_state){1.0f, 1.0f, s * 10, s >= splits / 3 ? s * 10 + 4 : DLLM_NO_COLUMN};
        row[3] = (dllm_row_state){-INFINITY, 0.0f, s * 10 + 1, DLLM_NO_COLUMN};
        row[5] = (dllm_row_state){7.0f, 1.0f, s * 10, DLLM_NO_COLUMN};
    }
}

static const int split_counts[] = {1, 2, 3, 31, 32, 33, 64, 1000, 65535};

START_TEST(merges_any_number_of_splits)
{
    const int splits = split_counts[_i];
    bench b;
    make_bench(&b, splits);
    fill_rows(&b, splits);
    run_bench(&b, "combine_all_id8");
    const dllm_combine_params *p = &b.params;
    ck_assert_int_eq(wide_id(&b, 0), (int64_t)(splits / 2) * 10);
    ck_assert(fabsf(p->lse[0] - (2.0f + logf(1.5f))) < 1e-6f);
    ck_assert_int_eq(wide_id(&b, 1), splits > 1 ? 13 : 3);
    ck_assert_int_eq(wide_id(&b, 2), (int64_t)(splits / 3) * 10 + 4);
    ck_assert(isnan(p->max[2]) && isnan(p->lse[2]) && isnan(p->confidence[2]));
    ck_assert_int_eq(wide_id(&b, 3), 1);
    ck_assert(p->lse[3] == -INFINITY && p->confidence[3] == 0.0f);
    ck_assert_int_eq(wide_id(&b, 5), 0);
    ck_assert(fabsf(p->confidence[5] * (float)splits - 1.0f) < 1e-5f);
    const uint32_t flags[ROWS] = {0, 0, DLLM_FLAG_NONFINITE, DLLM_FLAG_EMPTY, DLLM_FLAG_EMPTY, 0};
    for (int r = 0; r < ROWS; r++)
        ck_assert_uint_eq(p->flags[r], flags[r]);
    free_bench(&b);
}
END_TEST

START_TEST(ids_are_global_and_without_candidate_zero)
{
    bench b;
    make_bench(&b, 3);
    fill_rows(&b, 3);
    b.params.vocab_offset = ((int64_t)1 << 40) + 5;
    run_bench(&b, "combine_all_id8");
    ck_assert_int_eq(wide_id(&b, 0), ((int64_t)1 << 40) + 15);
    ck_assert_int_eq(wide_id(&b, 3), ((int64_t)1 << 40) + 6);
    ck_assert_int_eq(wide_id(&b, 4), 0);
    free_bench(&b);
}
END_TEST

static const struct {
    const char *variant;
    uint32_t output;
} alone[] = {{"combine_only1", DLLM_OUT_ARGMAX},
             {"combine_only2", DLLM_OUT_MAX},
             {"combine_only4", DLLM_OUT_LSE},
             {"combine_only8", DLLM_OUT_CONFIDENCE},
             {"combine_only2048", DLLM_OUT_FLAGS}};

/* An output that is asked for alone has the value it has among all; the others stay poisoned. */
START_TEST(writes_the_outputs_asked_for_alone)
{
    bench all;
    bench one;
    make_bench(&all, 5);
    make_bench(&one, 5);
    fill_rows(&all, 5);
    fill_rows(&one, 5);
    run_bench(&all, "combine_all_id4");
    run_bench(&one, alone[_i].variant);
    const struct {
        uint32_t output;
        const void *wanted;
        const void *got;
    } buffers[] = {{DLLM_OUT_ARGMAX, all.params.argmax, one.params.argmax},
                   {DLLM_OUT_MAX, all.params.max, one.params.max},
                   {DLLM_OUT_LSE, all.params.lse, one.params.lse},
                   {DLLM_OUT_CONFIDENCE, all.params.confidence, one.params.confidence},
                   {DLLM_OUT_FLAGS, all.params.flags, one.params.flags}};
    unsigned char untouched[ROWS * 4];
    memset(untouched, POISON, sizeof untouched);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        const void *wanted = buffers[i].output == alone[_i].output ? buffers[i].wanted : untouched;
        ck_assert_mem_eq(buffers[i].got, wanted, sizeof untouched);
    }
    free_bench(&all);
    free_bench(&one);
}
END_TEST

static void check_absent(const bench *b, int row)
{
    ck_assert_int_eq(wide_id(b, row), 0);
    ck_assert(isnan(b->params.max[row]) && isnan(b->params.lse[row]));
    ck_assert(isnan(b->params.confidence[row]));
    ck_assert_uint_eq(b->params.flags[row], DLLM_FLAG_ROW);
}

START_TEST(flags_rows_outside_the_source)
{
    const int64_t index[ROWS] = {0, -1, 1, ((int64_t)1 << 32), 2, ROWS};
    bench b;
    make_bench(&b, 2);
    fill_rows(&b, 2);
    b.params.row_index = index;
    b.params.row_index_is_64 = 1;
    b.params.vocab_offset = 100;
    run_bench(&b, "combine_all_id8");
    ck_assert_int_eq(wide_id(&b, 0), 110);
    for (int row = 1; row < ROWS; row += 2)
        check_absent(&b, row);
    free_bench(&b);
}
END_TEST

START_TEST(takes_the_row_count_of_the_device)
{
    const int64_t rows = 2;
    bench b;
    make_bench(&b, 2);
    fill_rows(&b, 2);
    b.params.rows_device = &rows;
    run_bench(&b, "combine_all_id8");
    ck_assert_int_ne(wide_id(&b, 1), poisoned_id);
    ck_assert_int_eq(wide_id(&b, 2), poisoned_id);
    free_bench(&b);
}
END_TEST

/* The first list is thinned before the second is looked at, whose columns are lower. */
START_TEST(ties_across_lists_go_to_the_lower_column)
{
    enum { KEPT = 2, SPAN = 32, STRIDE = 1 + KEPT + SPAN, SHARERS = 2 };
    static dllm_candidate lists[SHARERS][ROWS][STRIDE];
    float values[ROWS][KEPT];
    int64_t ids[ROWS][KEPT];
    bench b;
    make_bench(&b, 1);
    for (int row = 0; row < ROWS; row++) {
        lists[0][row][0] = (dllm_candidate){NAN, KEPT + SPAN};
        for (int i = 1; i < STRIDE; i++)
            lists[0][row][i] = (dllm_candidate){1.0f, 100 + i};
        lists[1][row][0] = (dllm_candidate){NAN, 1};
        lists[1][row][1] = (dllm_candidate){1.0f, row};
    }
    b.params.further.inputs.lists = lists[0][0];
    b.params.further.inputs.candidates = KEPT;
    b.params.further.inputs.sharers = SHARERS;
    b.params.further.inputs.list_stride = STRIDE;
    b.params.further.candidate_values = values[0];
    b.params.further.candidate_ids = ids;
    run_bench(&b, "combine_16_0_id8");
    for (int row = 0; row < ROWS; row++) {
        ck_assert_int_eq(ids[row][0], row);
        ck_assert_int_eq(ids[row][1], 101);
        ck_assert(values[row][0] == 1.0f && values[row][1] == 1.0f);
    }
    free_bench(&b);
}
END_TEST

/* Four rows a block: the last block has warps without a row. */
START_TEST(writes_no_row_beyond_the_last)
{
    bench b;
    make_bench(&b, 2);
    fill_rows(&b, 2);
    b.params.rows = 5;
    run_bench(&b, "combine_all_id8");
    ck_assert_int_eq(wide_id(&b, 4), 0);
    ck_assert_int_eq(wide_id(&b, 5), poisoned_id);
    free_bench(&b);
}
END_TEST

/* ---- gather ---- */

enum { SOURCES = 5, PACKED = 4 };

static const struct {
    const char *variant;
    int64_t element_bytes;
    int64_t depth;
    int64_t source_stride;
    int64_t packed_stride;
} copies[] = {{"gather_2", 2, 1, 1, 8},       {"gather_2", 2, 33, 35, 40},
              {"gather_2", 2, 264, 264, 264}, {"gather_2", 2, 8, 9, 8},
              {"gather_4", 4, 7, 7, 8},       {"gather_4", 4, 300, 304, 300},
              {"gather_4", 4, 12, 13, 12}};

/* Byte b of element h of a source row. */
static unsigned char source_byte(int row, int h, int b)
{
    return (unsigned char)(row * 101 + h * 7 + b + 1);
}

/* The source of a copy: pads between its rows have bytes of their own. */
static void fill_source(unsigned char *source, size_t source_bytes, int copy)
{
    const size_t bytes = (size_t)copies[copy].element_bytes;
    const size_t stride = (size_t)copies[copy].source_stride;
    for (size_t at = 0; at < source_bytes; at++) {
        const size_t element = at / bytes;
        source[at] =
            source_byte((int)(element / stride), (int)(element % stride), (int)(at % bytes));
    }
}

static void check_packed(const unsigned char *packed, size_t at, const int32_t *index, int copy)
{
    const size_t element = at / (size_t)copies[copy].element_bytes;
    const int row = (int)(element / (size_t)copies[copy].packed_stride);
    const int h = (int)(element % (size_t)copies[copy].packed_stride);
    const bool exists = index[row] >= 0 && index[row] < SOURCES;
    const int byte = (int)(at % (size_t)copies[copy].element_bytes);
    int wanted = exists ? source_byte(index[row], h, byte) : 0;
    if (h >= copies[copy].depth) wanted = POISON;
    ck_assert_msg(packed[at] == wanted, "row %d, element %d: %d, wanted %d", row, h, packed[at],
                  wanted);
}

START_TEST(gathers_rows_and_zeros)
{
    const int32_t index[PACKED] = {3, -1, 0, SOURCES};
    const size_t bytes = (size_t)copies[_i].element_bytes;
    const int64_t source_elements = (SOURCES - 1) * copies[_i].source_stride + copies[_i].depth;
    const size_t source_bytes = (size_t)source_elements * bytes;
    const size_t packed_bytes = (size_t)PACKED * (size_t)copies[_i].packed_stride * bytes;
    unsigned char *source = poisoned(source_bytes);
    unsigned char *packed = poisoned(packed_bytes);
    fill_source(source, source_bytes, _i);
    const dllm_gather_params params = {.source = source,
                                       .row_index = index,
                                       .packed = packed,
                                       .source_stride = copies[_i].source_stride,
                                       .packed_stride = copies[_i].packed_stride,
                                       .rows = PACKED,
                                       .source_rows = SOURCES,
                                       .depth = (int32_t)copies[_i].depth};
    launch(copies[_i].variant, &params, PACKED);
    for (size_t at = 0; at < packed_bytes; at++)
        check_packed(packed, at, index, _i);
    free(source);
    free(packed);
}
END_TEST

START_TEST(gathers_no_row_from_the_device_count_on)
{
    const int32_t index[PACKED] = {3, 2, 1, 0};
    const int64_t rows = 3;
    const uint32_t source[SOURCES] = {10, 11, 12, 13, 14};
    uint32_t packed[PACKED] = {0, 0, 0, 99};
    const dllm_gather_params params = {.source = source,
                                       .row_index = index,
                                       .rows_device = &rows,
                                       .packed = packed,
                                       .source_stride = 1,
                                       .packed_stride = 1,
                                       .rows = PACKED,
                                       .source_rows = SOURCES,
                                       .depth = 1};
    launch("gather_4", &params, PACKED);
    ck_assert_uint_eq(packed[2], 11);
    ck_assert_uint_eq(packed[3], 99);
}
END_TEST

/* Groups of 8 rows and then their unconditional ones; lines of no row, or from the count on, stay. */
START_TEST(gathers_guided_rows_as_lines)
{
    enum { GUIDED = 11, LINES = 32, GROUP = 8 };
    int32_t index[GUIDED];
    const int64_t rows = GUIDED - 1;
    uint32_t source[2 * GUIDED], packed[LINES];
    for (int i = 0; i < 2 * GUIDED; i++)
        source[i] = 100 + (uint32_t)i;
    for (int r = 0; r < GUIDED; r++)
        index[r] = r == 1 ? GUIDED : GUIDED - 1 - r; /* one is outside, also of what guides */
    for (int i = 0; i < LINES; i++)
        packed[i] = 99;
    const dllm_gather_params params = {.source = source,
                                       .row_index = index,
                                       .rows_device = &rows,
                                       .packed = packed,
                                       .source_stride = 1,
                                       .packed_stride = 1,
                                       .rows = GUIDED,
                                       .source_rows = GUIDED,
                                       .depth = 1};
    launch("gather_4_guided", &params, LINES);
    for (int line = 0; line < LINES; line++) {
        const int row = line / (2 * GROUP) * GROUP + line % GROUP;
        const int copy = line % (2 * GROUP) / GROUP;
        uint32_t wanted = 99;
        if (row < rows) wanted = row == 1 ? 0 : 100 + (uint32_t)(copy * GUIDED + GUIDED - 1 - row);
        ck_assert_msg(packed[line] == wanted, "line %d is %u, wanted %u", line, packed[line],
                      wanted);
    }
}
END_TEST

static Suite *combine_suite(void)
{
    Suite *suite = suite_create("simt_combine");
    TCase *combine = tcase_create("combine");
    TCase *gather = tcase_create("gather");
    tcase_set_timeout(combine, 0);
    tcase_add_loop_test(combine, merges_any_number_of_splits, 0,
                        sizeof split_counts / sizeof split_counts[0]);
    tcase_add_test(combine, ids_are_global_and_without_candidate_zero);
    tcase_add_loop_test(combine, writes_the_outputs_asked_for_alone, 0,
                        sizeof alone / sizeof alone[0]);
    tcase_add_test(combine, flags_rows_outside_the_source);
    tcase_add_test(combine, ties_across_lists_go_to_the_lower_column);
    tcase_add_test(combine, writes_no_row_beyond_the_last);
    tcase_add_test(combine, takes_the_row_count_of_the_device);
    tcase_add_loop_test(gather, gathers_rows_and_zeros, 0, sizeof copies / sizeof copies[0]);
    tcase_add_test(gather, gathers_no_row_from_the_device_count_on);
    tcase_add_test(gather, gathers_guided_rows_as_lines);
    suite_add_tcase(suite, combine);
    suite_add_tcase(suite, gather);
    return suite;
}

int main(void)
{
    return check_suite_run(combine_suite());
}
