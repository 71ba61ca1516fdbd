/* test_search.c - who wins, who is dropped, when nothing changes: over times made up here */
#include "check_suite.h"

#include "search.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 40 };

/* A device that takes what it is told. */
static struct {
    double us[MOST];    /* of each choice */
    double noise[MOST]; /* share by which every second sample is slower, every other faster */
    double drift;       /* share that everything gets slower with each sample */
    bool wrong[MOST];   /* gives wrong answers */
    int dies_at[MOST];  /* number of its own sample that cannot run, 0 = none */
    int samples[MOST];
    int taken; /* samples of all */
    int opened;
    int stop_at; /* samples after which to stop, 0 = never */
    dllm_search_stop stop;
} device;

static dllm_contender contenders[MOST];

static bool open_one(void *user, int contender, char *why)
{
    (void)user;
    device.opened++;
    if (device.wrong[contender]) (void)strcpy(why, "row 3: argmax 7, not 5"); /* NOLINT: fits */
    return !device.wrong[contender];
}

static bool sample_one(void *user, int contender, double *us, char *why)
{
    (void)user;
    const int number = ++device.samples[contender];
    const double sign = number % 2 ? 1.0 : -1.0;
    *us = device.us[contender] * (1.0 + sign * device.noise[contender]) *
          (1.0 + device.drift * device.taken);
    device.taken++;
    if (number == device.dies_at[contender]) (void)strcpy(why, "launch failed"); /* NOLINT: fits */
    return number != device.dies_at[contender];
}

static dllm_search_stop stop_or_not(void *user)
{
    (void)user;
    return device.stop_at && device.taken >= device.stop_at ? device.stop : DLLM_GO_ON;
}

static void start(void)
{
    memset(&device, 0, sizeof device);
    memset(contenders, 0, sizeof contenders);
}

static dllm_search search_of(int count)
{
    dllm_search search = {.contenders = contenders, .count = count};
    search.calls = (dllm_search_calls){.open = open_one, .sample = sample_one, .stop = stop_or_not};
    return search;
}

static dllm_search run(int count)
{
    dllm_search search = search_of(count);
    dllm__search(&search);
    return search;
}

START_TEST(a_clear_gain_wins)
{
    device.us[0] = 100.0;
    device.us[1] = 97.0;
    device.us[2] = 90.0;
    const dllm_search search = run(3);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_WON);
    ck_assert_int_eq(search.winner, 2);
    ck_assert_int_eq(search.runner_up, 1);
    ck_assert_double_eq_tol(search.gain, 0.10, 1e-9);
    ck_assert_double_eq_tol(contenders[2].median_us, 90.0, 1e-9);
}
END_TEST

START_TEST(a_tie_keeps_the_default)
{
    device.us[0] = 100.0;
    device.us[1] = 98.5;
    const dllm_search search = run(2);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_DEFAULT);
    ck_assert_int_eq(search.winner, 0);
    ck_assert_int_eq(search.runner_up, 1);
}
END_TEST

/* Two deviations of gain are not three. */
START_TEST(a_gain_within_noise_keeps_the_default)
{
    device.us[0] = 100.0;
    device.us[1] = 96.0;
    device.noise[1] = 0.02;
    ck_assert_int_eq(run(2).verdict, DLLM_VERDICT_DEFAULT);
    start();
    device.us[0] = 100.0;
    device.us[1] = 90.0;
    device.noise[1] = 0.02;
    ck_assert_int_eq(run(2).verdict, DLLM_VERDICT_WON);
}
END_TEST

START_TEST(a_noisy_device_changes_nothing)
{
    device.us[0] = 100.0;
    device.us[1] = 50.0;
    device.noise[0] = 0.3;
    const dllm_search search = run(2);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_NOISY);
    ck_assert_int_eq(search.winner, 0);
}
END_TEST

START_TEST(a_device_that_does_not_settle_is_noisy)
{
    device.us[0] = 100.0;
    device.us[1] = 50.0;
    device.drift = 0.05;
    ck_assert_int_eq(run(2).verdict, DLLM_VERDICT_NOISY);
    ck_assert_int_eq(contenders[1].sample_count, 0);
}
END_TEST

/* The clock slows down all the while: pairs do not see it. */
START_TEST(a_drift_hits_all_alike)
{
    for (int i = 0; i < 12; i++)
        device.us[i] = 100.0;
    device.us[7] = 95.0;
    device.drift = 0.0002;
    const dllm_search search = run(12);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_WON);
    ck_assert_int_eq(search.winner, 7);
    ck_assert_double_eq_tol(search.gain, 0.05, 0.005);
}
END_TEST

/* A clock that falls makes one who left early look faster than those who stayed. */
START_TEST(a_ratio_is_of_the_same_rounds)
{
    for (int i = 0; i < 12; i++)
        device.us[i] = 100.0 + i;
    device.drift = 0.002;
    const dllm_search search = run(12);
    ck_assert_int_eq(search.winner, 0);
    ck_assert(contenders[11].dropped);
    ck_assert_double_lt(contenders[11].median_us, contenders[0].median_us);
    ck_assert_double_eq_tol(contenders[11].ratio, 1.11, 0.03);
    ck_assert_double_eq_tol(contenders[0].ratio, 1.0, 1e-9);
    ck_assert_double_eq_tol(contenders[1].ratio, 1.01, 0.01);
}
END_TEST

START_TEST(a_wrong_answer_never_wins)
{
    device.us[0] = 100.0;
    device.us[1] = 10.0;
    device.wrong[1] = true;
    const dllm_search search = run(2);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_DEFAULT);
    ck_assert_int_eq(device.samples[1], 0);
    ck_assert(contenders[1].failed);
    ck_assert_str_eq(contenders[1].why, "row 3: argmax 7, not 5");
}
END_TEST

START_TEST(a_time_of_zero_is_refused)
{
    device.us[0] = 100.0;
    const dllm_search search = run(2); /* the other one takes 0 */
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_DEFAULT);
    ck_assert(contenders[1].failed);
    ck_assert_ptr_nonnull(strstr(contenders[1].why, "timed at 0"));
}
END_TEST

START_TEST(one_that_dies_is_out)
{
    device.us[0] = 100.0;
    device.us[1] = 50.0;
    device.us[2] = 80.0;
    device.dies_at[1] = 9;
    const dllm_search search = run(3);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_WON);
    ck_assert_int_eq(search.winner, 2);
    ck_assert_str_eq(contenders[1].why, "launch failed");
}
END_TEST

START_TEST(without_the_default_the_fastest_wins)
{
    device.us[1] = 90.0;
    device.us[2] = 80.0;
    device.wrong[0] = true;
    const dllm_search search = run(3);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_WON);
    ck_assert_int_eq(search.winner, 2);
}
END_TEST

START_TEST(nothing_right_is_impossible)
{
    device.wrong[0] = device.wrong[1] = true;
    const dllm_search search = run(2);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_IMPOSSIBLE);
    ck_assert_int_eq(search.winner, 0);
    ck_assert_int_eq(search.runner_up, -1);
}
END_TEST

START_TEST(the_slow_are_dropped_early)
{
    for (int i = 0; i < MOST; i++)
        device.us[i] = 100.0 + i;
    device.us[5] = 95.0;
    const dllm_search search = run(MOST);
    ck_assert_int_eq(search.winner, 5);
    ck_assert(contenders[MOST - 1].dropped);
    ck_assert_int_eq(contenders[MOST - 1].sample_count, 3);
    int finalists = 0;
    for (int i = 1; i < MOST; i++)
        finalists += !contenders[i].dropped;
    ck_assert_int_eq(finalists, 3);
    ck_assert_int_ge(contenders[5].sample_count, 30);
    ck_assert_int_eq(contenders[5].sample_count, contenders[0].sample_count);
}
END_TEST

START_TEST(an_exhaustive_search_drops_nobody_on_a_few_samples)
{
    for (int i = 0; i < MOST; i++)
        device.us[i] = 100.0 + 10.0 * i;
    device.us[MOST - 1] = 95.0;
    dllm_search search = search_of(MOST);
    search.exhaustive = true;
    dllm__search(&search);
    for (int i = 0; i < MOST; i++)
        ck_assert_int_ge(contenders[i].sample_count, 11);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_WON);
    ck_assert_int_eq(search.winner, MOST - 1);
    ck_assert_int_ge(contenders[MOST - 1].sample_count, 30);
}
END_TEST

/* ---- ends before the end ---- */

START_TEST(when_time_is_up_the_best_so_far_is_taken)
{
    for (int i = 0; i < 10; i++)
        device.us[i] = 86.0;
    device.us[3] = 80.0;
    device.stop = DLLM_TIME_IS_UP;
    device.stop_at = 9 + 3 * 10 + 5; /* warm, three whole rounds, a part of the fourth */
    const dllm_search search = run(10);
    ck_assert_int_eq(search.verdict, DLLM_VERDICT_TIME);
    ck_assert_int_eq(search.winner, 3);
    ck_assert_int_eq(contenders[3].sample_count, 3);
}
END_TEST

START_TEST(without_a_round_nothing_is_taken)
{
    device.us[0] = 100.0;
    device.us[1] = 10.0;
    device.stop = DLLM_TIME_IS_UP;
    for (device.stop_at = 1; device.stop_at < 12; device.stop_at++) {
        device.taken = 0;
        memset(contenders, 0, sizeof contenders);
        const dllm_search search = run(2);
        ck_assert_int_eq(search.verdict, DLLM_VERDICT_TIME);
        ck_assert_int_eq(search.winner, 0);
    }
}
END_TEST

START_TEST(a_stop_changes_nothing_wherever_it_comes)
{
    for (int at = 1;; at++) {
        start();
        device.us[0] = 100.0;
        device.us[1] = 50.0;
        device.us[2] = 60.0;
        device.stop = DLLM_STOP_NOW;
        device.stop_at = at;
        const dllm_search search = run(3);
        if (search.verdict == DLLM_VERDICT_WON) break;
        ck_assert_int_eq(search.verdict, DLLM_VERDICT_STOPPED);
        ck_assert_int_eq(search.winner, 0);
        ck_assert_int_eq(device.taken, at);
    }
    ck_assert_int_gt(device.taken, 60);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *group = tcase_create("verdict");
    tcase_add_checked_fixture(group, start, NULL);
    tcase_add_test(group, a_clear_gain_wins);
    tcase_add_test(group, a_tie_keeps_the_default);
    tcase_add_test(group, a_gain_within_noise_keeps_the_default);
    tcase_add_test(group, a_noisy_device_changes_nothing);
    tcase_add_test(group, a_device_that_does_not_settle_is_noisy);
    tcase_add_test(group, a_drift_hits_all_alike);
    tcase_add_test(group, a_ratio_is_of_the_same_rounds);
    tcase_add_test(group, a_wrong_answer_never_wins);
    tcase_add_test(group, a_time_of_zero_is_refused);
    tcase_add_test(group, one_that_dies_is_out);
    tcase_add_test(group, without_the_default_the_fastest_wins);
    tcase_add_test(group, nothing_right_is_impossible);
    suite_add_tcase(suite, group);
    group = tcase_create("effort");
    tcase_add_checked_fixture(group, start, NULL);
    tcase_add_test(group, the_slow_are_dropped_early);
    tcase_add_test(group, an_exhaustive_search_drops_nobody_on_a_few_samples);
    tcase_add_test(group, when_time_is_up_the_best_so_far_is_taken);
    tcase_add_test(group, without_a_round_nothing_is_taken);
    tcase_add_test(group, a_stop_changes_nothing_wherever_it_comes);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
