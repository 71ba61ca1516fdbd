/* test_tuned.c - the key of a tuned problem, and its choice as text */
#include "check_suite.h"

#include "tuned.h"

#include <stdio.h>
#include <string.h>

static dllm_problem problem;
static dllm_device device;

static void start(void)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = 126464;
    options.depth = 4096;
    options.rows_max = 300;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__device_typical(&device, "sm_90a"), DLLM_OK);
}

static void key_of(char *out)
{
    dllm_problem tuned;
    dllm__tuned_problem(&tuned, &problem);
    dllm__tuned_key(out, &tuned, &device);
}

/* ---- the key ---- */

#define CHANGES(where, field, value)                                                               \
    static void change_##field(void)                                                               \
    {                                                                                              \
        where.field = value;                                                                       \
    }
CHANGES(problem, operation, DLLM_OPERATION_SAMPLER)
CHANGES(problem, hidden_type, DLLM_FP16)
CHANGES(problem, weight_type, DLLM_FP16)
CHANGES(problem, valid_vocab, 126000)
CHANGES(problem, depth, 2048)
CHANGES(problem, rows_max, 600)
CHANGES(problem, alignment_bytes, 8)
CHANGES(device, multiprocessors, 114)
CHANGES(device, memory_clock_mhz, 2619)
CHANGES(device, memory_bytes, (int64_t)40 << 30)

static void change_name(void)
{
    (void)snprintf(device.name, sizeof device.name, "another");
}

static void change_arch(void)
{
    (void)snprintf(device.arch, sizeof device.arch, "sm_80");
}

static void (*const changes[])(void) = {change_operation,
                                        change_hidden_type,
                                        change_weight_type,
                                        change_valid_vocab,
                                        change_depth,
                                        change_rows_max,
                                        change_alignment_bytes,
                                        change_multiprocessors,
                                        change_memory_clock_mhz,
                                        change_memory_bytes,
                                        change_name,
                                        change_arch};

START_TEST(every_fact_that_matters_is_in_the_key)
{
    char before[DLLM_TUNED_TEXT_BYTES], after[DLLM_TUNED_TEXT_BYTES];
    key_of(before);
    changes[_i]();
    key_of(after);
    ck_assert_str_ne(before, after);
}
END_TEST

START_TEST(rows_of_one_bucket_share_a_key)
{
    char before[DLLM_TUNED_TEXT_BYTES], after[DLLM_TUNED_TEXT_BYTES];
    key_of(before);
    problem.rows_max = 512;
    problem.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_FLAGS;
    problem.inputs = DLLM_IN_ROW_INDEX;
    problem.id_type = DLLM_INT64;
    key_of(after);
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(keys_are_sorted_lines)
{
    char key[DLLM_TUNED_TEXT_BYTES];
    key_of(key);
    ck_assert_int_eq(key[strlen(key) - 1], '\n');
    for (char *line = key, *next = strchr(line, '\n') + 1; *next;) {
        ck_assert_msg(strcmp(line, next) < 0, "%s", line);
        line = next;
        next = strchr(line, '\n') + 1;
    }
}
END_TEST

/* ---- the text of a choice ---- */

static dllm_tuned tuned_choice(void)
{
    return (dllm_tuned){.choice = {.family = dllm__family_find("sm90", DLLM_OPERATION_HEAD),
                                   .tile_rows = 128,
                                   .tile_vocab = 192,
                                   .tile_depth = 64,
                                   .stages = 5,
                                   .splits = 33,
                                   .split_columns = 3840},
                        .median_us = 770.125,
                        .spread_us = 1.5,
                        .default_us = 801.0};
}

START_TEST(a_choice_comes_back_from_its_text)
{
    char text[DLLM_TUNED_TEXT_BYTES], again[DLLM_TUNED_TEXT_BYTES];
    const dllm_tuned written = tuned_choice();
    dllm_tuned read;
    dllm__tuned_text(text, &written);
    ck_assert_msg(dllm__tuned_parse(&read, text, DLLM_OPERATION_HEAD) == DLLM_OK, "%s",
                  dllm_last_error());
    ck_assert_ptr_eq(read.choice.family, written.choice.family);
    dllm__tuned_text(again, &read);
    ck_assert_str_eq(again, text);
    ck_assert_int_eq(dllm__tuned_parse(&read, text, DLLM_OPERATION_SAMPLER), DLLM_INVALID_ARGUMENT);
}
END_TEST

/* Cut off anywhere, it is refused whole. */
START_TEST(half_a_text_is_refused)
{
    char text[DLLM_TUNED_TEXT_BYTES];
    const dllm_tuned written = tuned_choice();
    dllm_tuned read;
    dllm__tuned_text(text, &written);
    for (size_t length = strlen(text); length-- > 0;) {
        text[length] = '\0';
        ck_assert_msg(dllm__tuned_parse(&read, text, DLLM_OPERATION_HEAD) != DLLM_OK, "%s", text);
    }
}
END_TEST

/* A piece of the text, and what stands there instead. */
static const struct {
    const char *from, *to;
} spoilt[] = {
    {"family sm90\n", "family sm91\n"},
    {"family sm90\n", "family stream\n"},
    {"family sm90\n", "family cpu\n"},
    {"family sm90\n", ""},
    {"stages 5\n", "stages 5\nstages 5\n"},
    {"stages 5\n", "stages five\n"},
    {"stages 5\n", "stages -5\n"},
    {"stages 5\n", "stages 5 \n"},
    {"stages 5\n", "stages 99999999999\n"},
    {"stages 5\n", "stages \n"},
    {"stages 5\n", "stages\n"},
    {"stages 5\n", "stages 5\nstaged 5\n"},
    {"stages 5\n", "\nstages 5\n"},
    {"median_us 770.125\n", "median_us nan\n"},
    {"median_us 770.125\n", "median_us -1\n"},
    {"median_us 770.125\n", "median_us inf\n"},
    {"median_us 770.125\n", "median_us 770.125us\n"},
    {"revision 1\n", "revision 2\n"},
};

START_TEST(a_spoilt_text_is_refused)
{
    char text[DLLM_TUNED_TEXT_BYTES], changed[2 * DLLM_TUNED_TEXT_BYTES];
    const dllm_tuned written = tuned_choice();
    dllm_tuned read;
    dllm__tuned_text(text, &written);
    const char *at = strstr(text, spoilt[_i].from);
    ck_assert_ptr_nonnull(at);
    (void)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, spoilt[_i].to,
                   at + strlen(spoilt[_i].from));
    ck_assert_msg(dllm__tuned_parse(&read, changed, DLLM_OPERATION_HEAD) == DLLM_INVALID_ARGUMENT,
                  "%s", changed);
    ck_assert_str_ne(dllm_last_error(), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuned");
    TCase *group = tcase_create("key");
    tcase_add_checked_fixture(group, start, NULL);
    tcase_add_loop_test(group, every_fact_that_matters_is_in_the_key, 0,
                        (int)(sizeof changes / sizeof changes[0]));
    tcase_add_test(group, rows_of_one_bucket_share_a_key);
    tcase_add_test(group, keys_are_sorted_lines);
    suite_add_tcase(suite, group);
    group = tcase_create("text");
    tcase_add_checked_fixture(group, start, NULL);
    tcase_add_test(group, a_choice_comes_back_from_its_text);
    tcase_add_test(group, half_a_text_is_refused);
    tcase_add_loop_test(group, a_spoilt_text_is_refused, 0,
                        (int)(sizeof spoilt / sizeof spoilt[0]));
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
