/* simt_threads.c - the shim itself: threads meet as on a GPU, what a GPU leaves undefined shows */
#include "check_suite.h"
#include "simt_shim.h"

#include <string.h>

enum { THREADS = 96, ROUNDS = 5, WHOLE_WARP = -1 };

typedef struct board {
    int marks[THREADS];
    int wrong;
} board;

static board seen;

static unsigned self(void)
{
    return simt_thread_index.x;
}

/* Each round every thread writes, and after the barrier reads what its neighbour wrote. */
static void rounds_body(const void *params)
{
    (void)params;
    for (int round = 0; round < ROUNDS; round++) {
        seen.marks[self()] = round;
        simt_barrier();
        if (seen.marks[(self() + 1) % THREADS] != round) seen.wrong++;
        simt_barrier();
    }
}

START_TEST(barrier_waits_for_every_thread)
{
    memset(&seen, 0, sizeof seen);
    ck_assert_ptr_null(simt_run(rounds_body, NULL, 3, THREADS, (simt_order)_i));
    ck_assert_int_eq(seen.wrong, 0);
}
END_TEST

/* Two exchanges in a row: words of the first must not be overwritten while a lane reads them. */
static void exchange_body(const void *params)
{
    (void)params;
    const unsigned lane = self() % SIMT_LANES;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t *words = simt_exchange("round", (unsigned)WHOLE_WARP, self() * 10 + round);
        if (words[lane ^ 5u] != ((self() ^ 5u) * 10 + round)) seen.wrong++;
    }
}

START_TEST(lanes_read_what_their_warp_wrote)
{
    memset(&seen, 0, sizeof seen);
    ck_assert_ptr_null(simt_run(exchange_body, NULL, 2, THREADS, (simt_order)_i));
    ck_assert_int_eq(seen.wrong, 0);
}
END_TEST

static void block_body(const void *params)
{
    (void)params;
    seen.marks[simt_block_index.x]++;
}

START_TEST(every_block_runs_every_thread_once)
{
    memset(&seen, 0, sizeof seen);
    ck_assert_ptr_null(simt_run(block_body, NULL, 7, THREADS, SIMT_FIRST_COME));
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(seen.marks[i], i < 7 ? THREADS : 0);
}
END_TEST

static void leaves_body(const void *params)
{
    (void)params;
    if (self() != 40) simt_barrier();
}

static void diverges_body(const void *params)
{
    (void)params;
    const char *call = self() % 2 ? "shuffle" : "ballot";
    (void)simt_exchange(call, (unsigned)WHOLE_WARP, 0);
}

static void part_of_a_warp_body(const void *params)
{
    (void)params;
    (void)simt_exchange("shuffle", 0xffffu, 0);
}

static const struct {
    void (*body)(const void *params);
    const char *complaint;
} refused[] = {{leaves_body, "wait for threads that never come"},
               {diverges_body, "the others are at another call"},
               {part_of_a_warp_body, "the mask must name the whole warp"}};

/* And the next launch is not troubled by the fibers that were left where they stood. */
START_TEST(says_what_threads_did_wrong)
{
    const char *wrong = simt_run(refused[_i].body, NULL, 2, THREADS, SIMT_FIRST_COME);
    ck_assert_ptr_nonnull(wrong);
    ck_assert_msg(strstr(wrong, refused[_i].complaint) != NULL, "%s", wrong);
    memset(&seen, 0, sizeof seen);
    ck_assert_ptr_null(simt_run(rounds_body, NULL, 1, THREADS, SIMT_FIRST_COME));
    ck_assert_int_eq(seen.wrong, 0);
}
END_TEST

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("simt_threads");
    TCase *meetings = tcase_create("meetings");
    tcase_add_loop_test(meetings, barrier_waits_for_every_thread, 0, 2);
    tcase_add_loop_test(meetings, lanes_read_what_their_warp_wrote, 0, 2);
    tcase_add_test(meetings, every_block_runs_every_thread_once);
    tcase_add_loop_test(meetings, says_what_threads_did_wrong, 0,
                        sizeof refused / sizeof refused[0]);
    suite_add_tcase(suite, meetings);
    return suite;
}

int main(void)
{
    return check_suite_run(threads_suite());
}
