/* test_llada.c - schedule, selection and loop of LLaDA's decoding, the shared cases among them */
#include "check_suite.h"
#include "dllm.h"
#include "llada.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CASES DLLM_SOURCE_DIR "/tests/cases/decode_cases.json"

static dllm_message message;

/* ---- schedule and lengths -------------------------------------------------------------------- */

static json_t *file; /* the cases */

static void open_cases(void)
{
    file = json_load_file(CASES, 0, NULL);
    ck_assert_ptr_nonnull(file);
}

static void close_cases(void)
{
    json_decref(file);
}

static const json_t *find_case(const char *id)
{
    const json_t *cases = json_object_get(file, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *found = json_array_get(cases, i);
        if (strcmp(json_string_value(json_object_get(found, "id")), id) == 0) return found;
    }
    ck_abort_msg("no case %s", id);
}

/** A field of the run, or else of its case. */
static const json_t *field_of(const json_t *run, const json_t *common, const char *name)
{
    const json_t *field = json_object_get(run, name);
    return field ? field : json_object_get(common, name);
}

START_TEST(schedule_follows_the_shared_case)
{
    const json_t *runs = json_object_get(find_case("schedule_llada"), "runs");
    ck_assert_uint_gt(json_array_size(runs), 0);
    for (size_t r = 0; r < json_array_size(runs); r++) {
        const json_t *run = json_array_get(runs, r);
        const int64_t masks = json_integer_value(json_object_get(run, "masks"));
        const int64_t steps = json_integer_value(json_object_get(run, "steps"));
        const json_t *counts = json_object_get(json_object_get(run, "expected"), "counts");
        ck_assert_int_eq((int64_t)json_array_size(counts), steps);
        for (int64_t step = 0; step < steps; step++)
            ck_assert_int_eq(dllm_llada_scheduled(masks, steps, step),
                             json_integer_value(json_array_get(counts, (size_t)step)));
    }
}
END_TEST

static const struct {
    dllm_llada_options options;
    const char *message; /* NULL: accepted, with a prompt of 10 in a model of 74 */
} lengths[] = {
    {{64, 32, 64, 0}, NULL},
    {{64, 16, 4, 0}, NULL},
    {{0, 32, 64, 0}, "gen-length 0, block-length 32 and steps 64 must be at least 1"},
    {{64, 24, 64, 0}, "block-length 24 does not divide gen-length 64"},
    {{64, 128, 64, 0}, "block-length 128 does not divide gen-length 64"},
    {{64, 16, 6, 0}, "the number of blocks, 4, does not divide steps 6"},
    {{65, 65, 65, 0},
     "prompt of 10 tokens and gen-length 65 pass the model's max_sequence_length 74"},
};

START_TEST(checks_lengths)
{
    const bool accepted = dllm_llada_check(&lengths[_i].options, 10, 74, &message);
    ck_assert_int_eq(accepted, lengths[_i].message == NULL);
    if (!accepted) ck_assert_str_eq(message.text, lengths[_i].message);
}
END_TEST

/* ---- selection ------------------------------------------------------------------------------- */

static const struct {
    float confidence[4];
    uint32_t flags[4];
    int64_t wanted;
    int64_t count;
    int64_t rows[4]; /* in the order of choice */
} selections[] = {
    {{0.1f, 0.4f, 0.3f, 0.2f}, {0}, 2, 2, {1, 2}},
    {{0.5f, 0.9f, 0.9f, 0.9f}, {0}, 2, 2, {1, 2}},
    {{1.0f, 1.0f, 1.0f, 1.0f}, {0}, 3, 3, {0, 1, 2}},
    {{0.1f, 0.2f, 0.3f, 0.4f}, {0}, 0, 0, {0}},
    {{0.1f, 0.2f, 0.3f, 0.4f}, {0}, 9, 4, {3, 2, 1, 0}},
    {{NAN, 0.2f, 0.0f, 0.4f}, {DLLM_FLAG_NONFINITE, 0, DLLM_FLAG_EMPTY, 0}, 4, 2, {3, 1}},
    {{0.9f, 0.2f, 0.3f, 0.4f}, {DLLM_FLAG_ROW, 0, 0, 0}, 1, 1, {3}},
};

START_TEST(selects_surest_then_lowest)
{
    float confidence[4];
    uint32_t flags[4];
    int64_t rows[4];
    memcpy(confidence, selections[_i].confidence, sizeof confidence);
    memcpy(flags, selections[_i].flags, sizeof flags);
    const dllm_row_scores scores = {NULL, confidence, flags};
    const int64_t count = dllm_llada_select(&scores, 4, selections[_i].wanted, rows);
    ck_assert_int_eq(count, selections[_i].count);
    for (int64_t i = 0; i < count; i++)
        ck_assert_int_eq(rows[i], selections[_i].rows[i]);
}
END_TEST

/* ---- loop ------------------------------------------------------------------------------------ */

enum { READS_MAX = 32, POSITIONS_MAX = 16 };

/** Logits by position, and what the loop asked for. */
typedef struct logit_table {
    const json_t *rows;
    int64_t forwards;
    int64_t counts[READS_MAX];
    int64_t reads[READS_MAX][POSITIONS_MAX];
    int64_t bad_position; /* its row is not finite; -1 for none */
} logit_table;

/** Lowest best id and its probability, as the head would give them. */
static void score_row(const json_t *logits, int32_t *token, float *confidence)
{
    size_t best = 0;
    double sum = 0.0;
    for (size_t v = 1; v < json_array_size(logits); v++)
        if (json_number_value(json_array_get(logits, v)) >
            json_number_value(json_array_get(logits, best)))
            best = v;
    const double most = json_number_value(json_array_get(logits, best));
    for (size_t v = 0; v < json_array_size(logits); v++)
        sum += exp(json_number_value(json_array_get(logits, v)) - most);
    *token = (int32_t)best;
    *confidence = (float)(1.0 / sum);
}

static bool score(void *user, const int32_t *canvas, int64_t length, const int64_t *positions,
                  int64_t count, const dllm_row_scores *out, dllm_message *reason)
{
    logit_table *table = user;
    (void)canvas;
    (void)reason;
    ck_assert_int_lt(table->forwards, READS_MAX);
    ck_assert_int_le(count, POSITIONS_MAX);
    table->counts[table->forwards] = count;
    for (int64_t i = 0; i < count; i++) {
        ck_assert_int_lt(positions[i], length);
        table->reads[table->forwards][i] = positions[i];
        const json_t *row = json_array_get(table->rows, (size_t)positions[i]);
        score_row(row, &out->token[i], &out->confidence[i]);
        out->flags[i] = positions[i] == table->bad_position ? DLLM_FLAG_NONFINITE : 0u;
    }
    table->forwards++;
    return true;
}

static int64_t integer_of(const json_t *run, const json_t *common, const char *name)
{
    return json_integer_value(field_of(run, common, name));
}

/** Decodes one run of a case; the canvas has room for 16 ids. */
static bool decode_run(const json_t *run, const json_t *common, logit_table *table, int32_t *canvas)
{
    const json_t *prompt = field_of(run, common, "prompt");
    const dllm_llada_options options = {
        integer_of(run, common, "gen_length"), integer_of(run, common, "block_length"),
        integer_of(run, common, "steps"), (int32_t)integer_of(run, common, "mask_id")};
    const dllm_llada_calls calls = {table, score, NULL};
    int64_t steps = -1;
    table->rows = field_of(run, common, "table");
    for (size_t i = 0; i < json_array_size(prompt); i++)
        canvas[i] = (int32_t)json_integer_value(json_array_get(prompt, i));
    const bool done = dllm_llada_decode(&options, &calls, canvas, (int64_t)json_array_size(prompt),
                                        &steps, &message);
    ck_assert_int_eq(steps, table->forwards);
    return done;
}

/** The positions asked for, forward by forward. */
static void check_reads(const logit_table *table, const json_t *read)
{
    ck_assert_int_eq(table->forwards, (int64_t)json_array_size(read));
    for (size_t f = 0; f < json_array_size(read); f++) {
        const json_t *positions = json_array_get(read, f);
        ck_assert_int_eq(table->counts[f], (int64_t)json_array_size(positions));
        for (size_t i = 0; i < json_array_size(positions); i++)
            ck_assert(table->reads[f][i] == json_integer_value(json_array_get(positions, i)));
    }
}

static void check_run(const json_t *run, const json_t *common)
{
    const json_t *expected = json_object_get(run, "expected");
    const json_t *final = json_object_get(expected, "final");
    logit_table table = {.bad_position = -1};
    int32_t canvas[POSITIONS_MAX];
    ck_assert_msg(decode_run(run, common, &table, canvas), "%s", message.text);
    for (size_t i = 0; i < json_array_size(final); i++)
        ck_assert_int_eq(canvas[i], json_integer_value(json_array_get(final, i)));
    check_reads(&table, json_object_get(expected, "read"));
}

/* the runs with eligible=block in which no published defect is asked for */
static const struct {
    const char *id;
    size_t run;
} loops[] = {{"llada_loop_remainder_blocks", 0},
             {"llada_loop_remainder_blocks", 1},
             {"llada_empty_steps", 1},
             {"llada_prompt_mask_steals_slot", 0}};

START_TEST(loop_follows_the_shared_case)
{
    const json_t *found = find_case(loops[_i].id);
    const json_t *run = json_array_get(json_object_get(found, "runs"), loops[_i].run);
    ck_assert_ptr_nonnull(run);
    check_run(run, json_object_get(found, "common"));
}
END_TEST

START_TEST(ends_when_a_row_stays_unusable)
{
    const json_t *found = find_case("llada_loop_remainder_blocks");
    const json_t *run = json_array_get(json_object_get(found, "runs"), 0);
    logit_table table = {.bad_position = 4};
    int32_t canvas[POSITIONS_MAX];
    ck_assert(!decode_run(run, json_object_get(found, "common"), &table, canvas));
    ck_assert_str_eq(message.text,
                     "position 4 and the others that are masked have no finite logits");
    ck_assert_int_eq(table.forwards, 3); /* the others were committed before */
    ck_assert_int_eq(canvas[4], 15);
}
END_TEST

static bool refuse_score(void *user, const int32_t *canvas, int64_t length,
                         const int64_t *positions, int64_t count, const dllm_row_scores *out,
                         dllm_message *reason)
{
    (void)user;
    (void)canvas;
    (void)length;
    (void)positions;
    (void)count;
    (void)out;
    return DLLM_REFUSE(reason, "the device is gone");
}

START_TEST(passes_on_a_failed_score)
{
    const dllm_llada_options options = {4, 2, 4, 9};
    const dllm_llada_calls calls = {NULL, refuse_score, NULL};
    int32_t canvas[4];
    int64_t steps = 0;
    ck_assert(!dllm_llada_decode(&options, &calls, canvas, 0, &steps, &message));
    ck_assert_str_eq(message.text, "the device is gone");
    ck_assert_int_eq(steps, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("llada");
    TCase *schedule = tcase_create("schedule");
    tcase_add_checked_fixture(schedule, open_cases, close_cases);
    tcase_add_test(schedule, schedule_follows_the_shared_case);
    tcase_add_loop_test(schedule, checks_lengths, 0, (int)(sizeof lengths / sizeof lengths[0]));
    suite_add_tcase(suite, schedule);
    TCase *selection = tcase_create("selection");
    tcase_add_loop_test(selection, selects_surest_then_lowest, 0,
                        (int)(sizeof selections / sizeof selections[0]));
    suite_add_tcase(suite, selection);
    TCase *loop = tcase_create("loop");
    tcase_add_checked_fixture(loop, open_cases, close_cases);
    tcase_add_loop_test(loop, loop_follows_the_shared_case, 0,
                        (int)(sizeof loops / sizeof loops[0]));
    tcase_add_test(loop, ends_when_a_row_stays_unusable);
    tcase_add_test(loop, passes_on_a_failed_score);
    suite_add_tcase(suite, loop);
    return check_suite_run(suite);
}
