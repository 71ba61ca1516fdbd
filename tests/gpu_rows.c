/*
 * gpu_rows.c - the row cases and the model's head rows on a GPU; exit 77 without one
 *
 *     gpu_rows [FAMILY]  of one family, or of all
 */
#include "check_rows.h"
#include "check_suite.h"
#include "head_rows.h"
#include "row_suite.h"

#include <stdio.h>
#include <string.h>

static const char case_file[] = DLLM_SOURCE_DIR "/tests/cases/row_cases.json";

static const struct {
    const char *name;
    unsigned operation;
    int passed_min; /* of all but the large one; one of them is fp32 alone */
} families[] = {{"stream", CHECK_SAMPLER, 35}, {"naive", CHECK_HEAD, 35},
                {"tiled", CHECK_HEAD, 35},     {"mma", CHECK_HEAD, 34},
                {"sm90", CHECK_HEAD, 34},      {"gemm_chunk", CHECK_HEAD, 35}};

enum { FAMILY_COUNT = sizeof families / sizeof families[0], FIRST_HEAD = 1 };

static row_checker checker;
static row_cases cases;
static head_rows rows;

static void open_all(void)
{
    dllm_message message;
    ck_assert_msg(row_cases_load(&cases, case_file, &message), "%s", message.text);
    ck_assert_msg(head_rows_open(&rows, &message), "%s", message.text);
    ck_assert_msg(row_checker_open(&checker, 0, &message), "%s", message.text);
}

static void close_all(void)
{
    row_checker_close(&checker);
    head_rows_close(&rows);
    row_cases_release(&cases);
}

START_TEST(no_case_fails_and_enough_pass)
{
    int64_t passed = 0;
    checker.family = families[_i].name;
    checker.operations = families[_i].operation;
    for (int64_t i = 0; i < cases.count; i++) {
        dllm_message why;
        const check_verdict verdict = row_checker_run(&checker, &cases.cases[i], &why);
        ck_assert_msg(verdict != CHECK_FAIL, "%s: %s: %s", families[_i].name, cases.cases[i].id,
                      why.text);
        passed += verdict == CHECK_PASS;
    }
    ck_assert_msg(passed >= families[_i].passed_min, "%s: %lld passed, at least %d wanted",
                  families[_i].name, (long long)passed, families[_i].passed_min);
}
END_TEST

START_TEST(every_argmax_of_the_model_is_exact)
{
    dllm_message message;
    ck_assert_msg(
        head_rows_check(&rows, &checker.memory, checker.context, families[_i].name, &message),
        "%s: %s", families[_i].name, message.text);
}
END_TEST

/* The number of the named family; FAMILY_COUNT if there is none of that name. */
static int find_family(const char *name)
{
    int found = 0;
    while (found < FAMILY_COUNT && strcmp(families[found].name, name) != 0)
        found++;
    return found;
}

int main(int count, char **arguments)
{
    const int first = count > 1 ? find_family(arguments[1]) : 0;
    const int end = count > 1 ? first + 1 : FAMILY_COUNT;
    if (!row_suite_has_device()) return 77;
    if (first == FAMILY_COUNT) {
        (void)fprintf(stderr, "gpu_rows: %s is no family\n", arguments[1]);
        return 1;
    }
    Suite *suite = suite_create("gpu_rows");
    tcase_add_loop_test(check_suite_case(suite, "row_cases", open_all, close_all),
                        no_case_fails_and_enough_pass, first, end);
    tcase_add_loop_test(check_suite_case(suite, "model_rows", open_all, close_all),
                        every_argmax_of_the_model_is_exact, first > FIRST_HEAD ? first : FIRST_HEAD,
                        end);
    return row_suite_run(suite);
}
