/* test_cpu_candidates.c - the K best entries of a row are those of a full sort */
#include "cpu_candidates.h"

#include <math.h>
#include <stdlib.h>

#include "check_suite.h"

enum { LOGITS = 1000, FIRST = 50 };

static const int counts[] = {1, 2, 7, 64, DLLM_CPU_CANDIDATES_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static int compare(const void *a, const void *b)
{
    const dllm_state_candidate *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Few values, so that many are equal, and -inf and NaN among them. */
static void draw_logits(float *logits)
{
    srand(11);
    for (int i = 0; i < LOGITS; i++) {
        const int value = rand() % 40;
        logits[i] = value == 0 ? -INFINITY : value == 1 ? NAN : (float)value;
    }
}

static int sort_logits(dllm_state_candidate *out, const float *logits)
{
    int count = 0;
    for (int i = 0; i < LOGITS; i++)
        if (!isnan(logits[i])) out[count++] = (dllm_state_candidate){logits[i], 0, FIRST + i};
    qsort(out, (size_t)count, sizeof *out, compare);
    return count;
}

START_TEST(holds_the_best_in_order)
{
    float logits[LOGITS];
    dllm_state_candidate sorted[LOGITS], list[DLLM_CPU_CANDIDATES_MAX];
    draw_logits(logits);
    ck_assert_int_gt(sort_logits(sorted, logits), counts[_i]);
    dllm__cpu_candidates_init(list, counts[_i]);
    for (int i = 0; i < LOGITS; i += 100)
        dllm__cpu_candidates_offer(list, counts[_i], logits + i, 100, FIRST + i);
    ck_assert_mem_eq(list, sorted, (size_t)counts[_i] * sizeof *list);
}
END_TEST

/* Parts that were offered to other lists, the later ids first. */
START_TEST(the_order_of_offers_does_not_matter)
{
    float logits[LOGITS];
    dllm_state_candidate sorted[LOGITS], list[DLLM_CPU_CANDIDATES_MAX];
    draw_logits(logits);
    sort_logits(sorted, logits);
    dllm__cpu_candidates_init(list, counts[_i]);
    for (int i = LOGITS - 250; i >= 0; i -= 250) {
        dllm_state_candidate part[DLLM_CPU_CANDIDATES_MAX];
        dllm__cpu_candidates_init(part, counts[_i]);
        dllm__cpu_candidates_offer(part, counts[_i], logits + i, 250, FIRST + i);
        dllm__cpu_candidates_merge(list, counts[_i], part);
    }
    ck_assert_mem_eq(list, sorted, (size_t)counts[_i] * sizeof *list);
}
END_TEST

START_TEST(what_is_not_there_stands_behind)
{
    const float logits[] = {NAN, -INFINITY, 2.0f};
    dllm_state_candidate list[4];
    const dllm_state_candidate wanted[4] = {
        {2.0f, 0, 2}, {-INFINITY, 0, 1}, {-INFINITY, 0, -1}, {-INFINITY, 0, -1}};
    dllm__cpu_candidates_init(list, 4);
    dllm__cpu_candidates_offer(list, 4, logits, 3, 0);
    ck_assert_mem_eq(list, wanted, sizeof list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_candidates");
    TCase *lists = tcase_create("lists");
    tcase_add_loop_test(lists, holds_the_best_in_order, 0, COUNTS);
    tcase_add_loop_test(lists, the_order_of_offers_does_not_matter, 0, COUNTS);
    tcase_add_test(lists, what_is_not_there_stands_behind);
    suite_add_tcase(suite, lists);
    return check_suite_run(suite);
}
