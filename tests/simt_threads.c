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

/* ---- clusters ---- */

enum { CLUSTER = 3, CLUSTERS = 4 };

/* What a kernel would call its shared memory. */
static struct {
    int own;
    int from[CLUSTER];
} memory;

/* Each block writes its rank into its own memory and into that of the block behind it. */
static void neighbours_body(const void *params)
{
    (void)params;
    const unsigned rank = simt_cluster_rank();
    const unsigned behind = (rank + 1) % CLUSTER;
    const unsigned before = (rank + CLUSTER - 1) % CLUSTER;
    simt_cluster_arrive();
    if (self() == 0) memory.own = (int)rank;
    simt_barrier();
    simt_cluster_wait();
    if (self() == 0) *(int *)simt_cluster_map(&memory.from[rank], behind) = 10 + (int)rank;
    simt_cluster_arrive();
    simt_cluster_wait();
    if (memory.own != (int)rank || memory.from[before] != 10 + (int)before) seen.wrong++;
    if (simt_block_index.x != simt_cluster_number() * CLUSTER + rank) seen.wrong++;
    if (simt_cluster_blocks() != CLUSTER) seen.wrong++;
    seen.marks[simt_block_index.x]++;
    simt_cluster_arrive();
    simt_cluster_wait();
}

static const char *run_clusters(void (*body)(const void *params), unsigned blocks, simt_order order)
{
    const simt_variant variant = {
        .threads = THREADS,
        .body = body,
        .shared = {(char *)&memory, (char *)(&memory + 1)},
    };
    memset(&seen, 0, sizeof seen);
    return simt_run_clusters(&(simt_clusters){
        .variant = &variant, .blocks = blocks, .cluster = CLUSTER, .order = order});
}

START_TEST(blocks_of_a_cluster_reach_each_others_memory)
{
    ck_assert_ptr_null(run_clusters(neighbours_body, CLUSTERS * CLUSTER, (simt_order)_i));
    ck_assert_int_eq(seen.wrong, 0);
    for (int i = 0; i < CLUSTERS * CLUSTER; i++)
        ck_assert_int_eq(seen.marks[i], THREADS);
}
END_TEST

static void begins_late_body(const void *params)
{
    (void)params;
    (void)simt_cluster_map(&memory.own, (simt_cluster_rank() + 1) % CLUSTER);
}

static void ends_early_body(const void *params)
{
    (void)params;
    simt_cluster_arrive();
    simt_cluster_wait();
    if (simt_cluster_rank() == 1) (void)simt_cluster_map(&memory.own, 0);
}

static void arrives_twice_body(const void *params)
{
    (void)params;
    simt_cluster_arrive();
    simt_cluster_arrive();
}

static void never_waits_body(const void *params)
{
    (void)params;
    simt_cluster_arrive();
}

static void never_arrives_body(const void *params)
{
    (void)params;
    simt_cluster_wait();
}

static void leaves_the_cluster_body(const void *params)
{
    (void)params;
    if (simt_cluster_rank() == 2) return;
    simt_cluster_arrive();
    simt_cluster_wait();
}

static void maps_elsewhere_body(const void *params)
{
    (void)params;
    (void)simt_cluster_map(&seen, 0);
}

static const struct {
    void (*body)(const void *params);
    const char *complaint;
} refused_clusters[] = {{begins_late_body, "the block has not begun"},
                        {ends_early_body, "the block has ended"},
                        {arrives_twice_body, "arrives twice without a wait"},
                        {never_waits_body, "leaves without a wait"},
                        {never_arrives_body, "waits that has not arrived"},
                        {leaves_the_cluster_body, "wait for threads that never come"},
                        {maps_elsewhere_body, "this is no shared memory"}};

START_TEST(says_what_blocks_did_wrong)
{
    const char *wrong = run_clusters(refused_clusters[_i].body, CLUSTER, SIMT_FIRST_COME);
    ck_assert_ptr_nonnull(wrong);
    ck_assert_msg(strstr(wrong, refused_clusters[_i].complaint) != NULL, "%s", wrong);
    ck_assert_ptr_null(run_clusters(neighbours_body, CLUSTER, SIMT_FIRST_COME));
    ck_assert_int_eq(seen.wrong, 0);
}
END_TEST

START_TEST(takes_whole_clusters_alone)
{
    ck_assert_ptr_nonnull(run_clusters(neighbours_body, CLUSTER + 1, SIMT_FIRST_COME));
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
    TCase *clusters = tcase_create("clusters");
    tcase_add_loop_test(clusters, blocks_of_a_cluster_reach_each_others_memory, 0, 2);
    tcase_add_loop_test(clusters, says_what_blocks_did_wrong, 0,
                        sizeof refused_clusters / sizeof refused_clusters[0]);
    tcase_add_test(clusters, takes_whole_clusters_alone);
    suite_add_tcase(suite, clusters);
    return suite;
}

int main(void)
{
    return check_suite_run(threads_suite());
}
