/* test_cpu_pool.c - every index once, whoever runs it and however many call */
#include "cpu_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_suite.h"

enum { INDICES = 1000, CALLERS = 4, REPEATS = 50 };

/* What a run did: times each index was run, and whether two tasks shared a worker's number. */
typedef struct tally {
    atomic_int runs[INDICES];
    atomic_int busy[DLLM_CPU_THREADS_MAX];
    atomic_int shared;
    atomic_int workers; /* highest number seen */
} tally;

static void count_index(void *user, int64_t index, int worker)
{
    tally *t = user;
    if (atomic_fetch_add(&t->busy[worker], 1) != 0) atomic_fetch_add(&t->shared, 1);
    atomic_fetch_add(&t->runs[index], 1);
    int seen = atomic_load(&t->workers);
    while (worker > seen && !atomic_compare_exchange_weak(&t->workers, &seen, worker)) {
    }
    atomic_fetch_sub(&t->busy[worker], 1);
}

/* The number of indices that were not run exactly once, with those beyond count run never. */
static int wrong_indices(tally *t, int count)
{
    int wrong = 0;
    for (int i = 0; i < INDICES; i++)
        wrong += atomic_load(&t->runs[i]) != (i < count);
    return wrong;
}

static int check_run(dllm_cpu_pool *pool, int count)
{
    static _Thread_local tally t;
    t = (tally){0};
    dllm__cpu_pool_run(pool, count_index, &t, count);
    return wrong_indices(&t, count) + atomic_load(&t.shared) +
           (atomic_load(&t.workers) >= dllm__cpu_pool_threads(pool));
}

static dllm_cpu_pool *create(int threads)
{
    dllm_cpu_pool *pool = NULL;
    ck_assert_int_eq(dllm__cpu_pool_create(&pool, threads), DLLM_OK);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

static const int thread_counts[] = {1, 2, 3, 8};
static const int index_counts[] = {0, 1, 2, 7, INDICES};

START_TEST(runs_every_index_once)
{
    dllm_cpu_pool *pool = create(thread_counts[_i]);
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (size_t c = 0; c < sizeof index_counts / sizeof index_counts[0]; c++)
            ck_assert_int_eq(check_run(pool, index_counts[c]), 0);
    dllm__cpu_pool_destroy(pool);
}
END_TEST

/* Waits until another task of the run has begun: both ends only if two threads work. */
static void meet(void *user, int64_t index, int worker)
{
    atomic_int *arrived = user;
    (void)index;
    (void)worker;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < 2)
        sched_yield();
}

START_TEST(a_worker_takes_part)
{
    dllm_cpu_pool *pool = create(2);
    atomic_int arrived = 0;
    dllm__cpu_pool_run(pool, meet, &arrived, 2);
    ck_assert_int_eq(atomic_load(&arrived), 2);
    dllm__cpu_pool_destroy(pool);
}
END_TEST

typedef struct caller {
    dllm_cpu_pool *pool;
    int wrong;
} caller;

static void *call_often(void *argument)
{
    caller *c = argument;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        c->wrong += check_run(c->pool, INDICES);
    return NULL;
}

START_TEST(callers_at_once_do_not_disturb_each_other)
{
    dllm_cpu_pool *pool = create(3);
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){pool, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(callers[i].wrong, 0);
    }
    dllm__cpu_pool_destroy(pool);
}
END_TEST

START_TEST(a_forked_child_runs_alone)
{
    dllm_cpu_pool *pool = create(3);
    ck_assert_int_eq(check_run(pool, INDICES), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const int wrong = check_run(pool, INDICES);
        dllm__cpu_pool_destroy(pool);
        _exit(wrong ? 1 : 0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    ck_assert_int_eq(check_run(pool, INDICES), 0);
    dllm__cpu_pool_destroy(pool);
}
END_TEST

static void note_rounding(void *user, int64_t index, int worker)
{
    (void)index;
    (void)worker;
    if (fegetround() != FE_TONEAREST) atomic_fetch_add((atomic_int *)user, 1);
}

/* A caller that rounds upwards, or flushes small numbers to zero, changes no result. */
START_TEST(tasks_run_in_the_default_floating_point_environment)
{
    atomic_int other = 0;
    ck_assert_int_eq(fesetround(FE_UPWARD), 0);
    dllm_cpu_pool *pool = create(thread_counts[_i]);
    dllm__cpu_pool_run(pool, note_rounding, &other, INDICES);
    const int callers = fegetround();
    (void)fesetround(FE_TONEAREST);
    dllm__cpu_pool_destroy(pool);
    ck_assert_int_eq(atomic_load(&other), 0);
    ck_assert_int_eq(callers, FE_UPWARD);
}
END_TEST

START_TEST(zero_threads_means_the_affinity_mask)
{
    cpu_set_t before, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    dllm_cpu_pool *pool = create(0);
    ck_assert_int_eq(dllm__cpu_pool_threads(pool), CPU_COUNT(&before));
    dllm__cpu_pool_destroy(pool);
    size_t first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    pool = create(0);
    ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
    ck_assert_int_eq(dllm__cpu_pool_threads(pool), 1);
    dllm__cpu_pool_destroy(pool);
}
END_TEST

START_TEST(refuses_thread_counts_outside_the_limits)
{
    static const int refused[] = {-1, DLLM_CPU_THREADS_MAX + 1};
    dllm_cpu_pool *pool = NULL;
    ck_assert_int_eq(dllm__cpu_pool_create(&pool, refused[_i]), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_null(pool);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "threads"));
}
END_TEST

START_TEST(destroy_takes_null_and_an_unused_pool)
{
    dllm__cpu_pool_destroy(NULL);
    dllm_cpu_pool *pool = create(4);
    ck_assert_int_eq(dllm__cpu_pool_threads(pool), 4);
    dllm__cpu_pool_destroy(pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_pool");
    TCase *run = tcase_create("run");
    tcase_add_loop_test(run, runs_every_index_once, 0,
                        sizeof thread_counts / sizeof thread_counts[0]);
    tcase_add_test(run, a_worker_takes_part);
    tcase_add_test(run, callers_at_once_do_not_disturb_each_other);
    tcase_add_test(run, a_forked_child_runs_alone);
    tcase_add_loop_test(run, tasks_run_in_the_default_floating_point_environment, 0,
                        sizeof thread_counts / sizeof thread_counts[0]);
    suite_add_tcase(suite, run);
    TCase *create_and_destroy = tcase_create("create");
    tcase_add_test(create_and_destroy, zero_threads_means_the_affinity_mask);
    tcase_add_loop_test(create_and_destroy, refuses_thread_counts_outside_the_limits, 0, 2);
    tcase_add_test(create_and_destroy, destroy_takes_null_and_an_unused_pool);
    suite_add_tcase(suite, create_and_destroy);
    return check_suite_run(suite);
}
