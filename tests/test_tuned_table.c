/*
 * test_tuned_table.c - choices that the library brings along, over a fake driver
 *
 * The table of this program stands in for the library's: one head for up to 16 rows, of a card of
 * another name.
 */
#include "check_suite.h"

#include "fake_driver.h"
#include "scratch.h"
#include "timed_device.h"
#include "tuned_table.h"

#include <stdlib.h>
#include <string.h>

#define CHOICE                                                                                     \
    "chunk_rows 0\nchunk_vocab 0\ndefault_us 9.000\nfamily mma\nfinishes 0\nmedian_us 8.000\n"     \
    "revision 1\n"                                                                                 \
    "split_columns 256\nsplits 16\nspread_us 0.100\nstages 4\ntile_depth 64\ntile_rows 16\n"       \
    "tile_vocab 128\n"

#define KEY_OF(arch, rows)                                                                         \
    "format 1\nalignment_bytes 16\narch " arch                                                     \
    "\ndepth 64\ndevice Another GPU\nhidden_type bf16\n"                                           \
    "memory_clock_mhz 1\nmemory_gib 1\nmultiprocessors 132\noperation head\noutputs plain\n"       \
    "policy graph\nrows " rows "\nvalid_vocab 4096\nweight_type bf16\n\n"

const char dllm__builtin_plans[] =
    KEY_OF("sm_80", "16") CHOICE "\nend\n"                             /* another device */
                                 "format 2\n\n\nend\n"                 /* another format */
    KEY_OF("sm_90a", "16") CHOICE "\ndate 2026-11-30T00:00:00Z\nend\n" /* this one */
    KEY_OF("sm_90a", "64") "family mma\n\nend\n";                      /* half a choice */

static char folder[SCRATCH_BYTES];
static dllm_context *context;

static void open_context(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
    timed_device_reset();
    timed_device_start();
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
}

static void close_context(void)
{
    dllm_context_destroy(context);
    ck_assert_int_eq(fake_driver_live(), 0);
    scratch_remove(folder);
}

static dllm_plan_information prepare(int64_t rows, uint32_t bits)
{
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_plan *plan = NULL;
    options.vocab = 4096;
    options.depth = 64;
    options.rows_max = rows;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    options.prepare = bits;
    ck_assert_msg(dllm_head_prepare(&plan, context, &options) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_int_eq(dllm_plan_info(plan, &information), DLLM_OK);
    dllm_plan_destroy(plan);
    return information;
}

START_TEST(a_device_of_the_architecture_takes_the_table)
{
    const dllm_plan_information information = prepare(16, 0);
    ck_assert_str_eq(information.choice_source, "table");
    ck_assert_str_eq(information.family, "mma");
    ck_assert_int_eq(information.splits, 16);
}
END_TEST

START_TEST(deterministic_takes_the_table_too)
{
    ck_assert_str_eq(prepare(16, DLLM_PREPARE_DETERMINISTIC).choice_source, "table");
}
END_TEST

START_TEST(what_is_not_in_the_table_goes_by_the_rule)
{
    ck_assert_str_eq(prepare(1, 0).choice_source, "rule");
    ck_assert_str_eq(prepare(64, 0).choice_source, "rule");
}
END_TEST

START_TEST(other_multiprocessors_do_not_take_it)
{
    dllm_context_destroy(context);
    fake_driver_set_attribute(DLLM_CU_ATTRIBUTE_MULTIPROCESSORS, 114);
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    ck_assert_str_eq(prepare(16, 0).choice_source, "rule");
}
END_TEST

/* What was measured elsewhere is no reason not to measure here. */
START_TEST(measuring_goes_before_the_table)
{
    timed_device.other_us = 20.0;
    const dllm_plan_information information = prepare(16, DLLM_PREPARE_MEASURE);
    ck_assert_str_eq(information.choice_source, "tuned");
    ck_assert_str_ne(information.family, "mma");
    ck_assert_str_eq(prepare(16, 0).choice_source, "tuned");
    ck_assert_str_eq(prepare(16, DLLM_PREPARE_DETERMINISTIC).choice_source, "table");
}
END_TEST

/* A file counts when its last line is there, and not before. */
START_TEST(a_table_cut_off_anywhere_is_no_harm)
{
    static char table[sizeof dllm__builtin_plans];
    char key[DLLM_TUNED_TEXT_BYTES];
    const char *wanted = strstr(dllm__builtin_plans, "arch sm_90a");
    const size_t whole = (size_t)(strstr(wanted, "end\n") + 4 - dllm__builtin_plans);
    (void)strcpy(key, strchr(KEY_OF("sm_90a", "16"), '\n') + 1); /* NOLINT: fits */
    key[strlen(key) - 1] = '\0';                                 /* the empty line */
    for (size_t length = 0; length < sizeof table; length++) {
        dllm_tuned tuned;
        memcpy(table, dllm__builtin_plans, length);
        table[length] = '\0';
        ck_assert_msg(dllm__tuned_table_find(&tuned, table, key, DLLM_OPERATION_HEAD) ==
                          (length >= whole),
                      "cut at %zu, whole at %zu", length, whole);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuned_table");
    TCase *group = tcase_create("table");
    tcase_add_checked_fixture(group, open_context, close_context);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, a_device_of_the_architecture_takes_the_table);
    tcase_add_test(group, deterministic_takes_the_table_too);
    tcase_add_test(group, what_is_not_in_the_table_goes_by_the_rule);
    tcase_add_test(group, other_multiprocessors_do_not_take_it);
    tcase_add_test(group, measuring_goes_before_the_table);
    tcase_add_test(group, a_table_cut_off_anywhere_is_no_harm);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
