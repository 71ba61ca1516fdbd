/* cpu_pool.c - worker threads of a CPU context */
#include "cpu_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status.h"

typedef struct worker {
    dllm_cpu_pool *pool;
    pthread_t thread;
    int number; /* 1 .. threads - 1; 0 is the caller */
} worker;

struct dllm_cpu_pool {
    pthread_mutex_t caller; /* held by the caller that has the workers */
    pthread_mutex_t mutex;  /* guards what follows, `next` excepted */
    pthread_cond_t begin;   /* a run, or the end */
    pthread_cond_t done;    /* the last worker has left the run */
    pid_t process;          /* a forked child has the memory but not the workers */
    bool stop;
    uint64_t run; /* number of the run under way; open = false between two */
    bool open;
    int inside; /* workers in the run */
    dllm_cpu_task task;
    void *user;
    int64_t count;
    atomic_int_fast64_t next;
    int threads;
    int started;
    worker workers[];
};

static void work(dllm_cpu_pool *pool, dllm_cpu_task task, void *user, int64_t count, int number)
{
    for (;;) {
        const int64_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= count) return;
        task(user, i, number);
    }
}

static void *worker_main(void *argument)
{
    const worker *self = argument;
    dllm_cpu_pool *pool = self->pool;
    uint64_t last = 0;
    (void)fesetenv(FE_DFL_ENV); /* not that of the thread that made the context */
    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stop && !(pool->open && pool->run != last))
            (void)pthread_cond_wait(&pool->begin, &pool->mutex);
        if (pool->stop) break;
        last = pool->run;
        pool->inside++;
        const dllm_cpu_task task = pool->task;
        void *user = pool->user;
        const int64_t count = pool->count;
        (void)pthread_mutex_unlock(&pool->mutex);
        work(pool, task, user, count, self->number);
        (void)pthread_mutex_lock(&pool->mutex);
        if (--pool->inside == 0) (void)pthread_cond_signal(&pool->done);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Without signals, so that the application's handlers keep to its own threads. */
static int start_worker(worker *w)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error) return error;
    error = pthread_create(&w->thread, NULL, worker_main, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int affinity_threads(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    long count = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
    else /* more processors than a cpu_set_t holds */
        count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1) return 1;
    return count < DLLM_CPU_THREADS_MAX ? (int)count : DLLM_CPU_THREADS_MAX;
}

static void init_locks(dllm_cpu_pool *pool)
{
    /* with default attributes none of these can fail on Linux */
    (void)pthread_mutex_init(&pool->caller, NULL);
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->begin, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
}

dllm_status dllm__cpu_pool_create(dllm_cpu_pool **out, int threads)
{
    if (threads < 0 || threads > DLLM_CPU_THREADS_MAX)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "threads %d is outside 0 .. %d", threads,
                          DLLM_CPU_THREADS_MAX);
    if (threads == 0) threads = affinity_threads();
    const size_t bytes = sizeof(dllm_cpu_pool) + (size_t)(threads - 1) * sizeof(worker);
    dllm_cpu_pool *pool = calloc(1, bytes);
    if (!pool) return dllm__fail(DLLM_OUT_OF_MEMORY, "no %zu bytes for %d threads", bytes, threads);
    init_locks(pool);
    pool->process = getpid();
    pool->threads = threads;
    for (int i = 0; i < threads - 1; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->number = i + 1;
        const int error = start_worker(w);
        if (error) {
            dllm__cpu_pool_destroy(pool);
            return dllm__fail(DLLM_OUT_OF_MEMORY, "thread %d of %d cannot be started: %s", i + 2,
                              threads, strerror(error));
        }
        pool->started++;
    }
    *out = pool;
    return DLLM_OK;
}

void dllm__cpu_pool_destroy(dllm_cpu_pool *pool)
{
    if (!pool) return;
    /* in a forked child the locks may be held for ever by threads that do not exist */
    if (pool->process == getpid()) {
        (void)pthread_mutex_lock(&pool->mutex);
        pool->stop = true;
        (void)pthread_cond_broadcast(&pool->begin);
        (void)pthread_mutex_unlock(&pool->mutex);
        for (int i = 0; i < pool->started; i++)
            (void)pthread_join(pool->workers[i].thread, NULL);
        (void)pthread_cond_destroy(&pool->done);
        (void)pthread_cond_destroy(&pool->begin);
        (void)pthread_mutex_destroy(&pool->mutex);
        (void)pthread_mutex_destroy(&pool->caller);
    }
    free(pool);
}

int dllm__cpu_pool_threads(const dllm_cpu_pool *pool)
{
    return pool->threads;
}

static void run_shared(dllm_cpu_pool *pool, dllm_cpu_task task, void *user, int64_t count)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->task = task;
    pool->user = user;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->run++;
    pool->open = true;
    (void)pthread_cond_broadcast(&pool->begin);
    (void)pthread_mutex_unlock(&pool->mutex);

    work(pool, task, user, count, 0);

    (void)pthread_mutex_lock(&pool->mutex);
    pool->open = false; /* who has not begun yet stays outside */
    while (pool->inside > 0)
        (void)pthread_cond_wait(&pool->done, &pool->mutex);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void run_anywhere(dllm_cpu_pool *pool, dllm_cpu_task task, void *user, int64_t count)
{
    const bool alone = pool->threads == 1 || count <= 1 || pool->process != getpid();
    if (!alone && pthread_mutex_trylock(&pool->caller) == 0) {
        run_shared(pool, task, user, count);
        (void)pthread_mutex_unlock(&pool->caller);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        task(user, i, 0);
}

/* NOTE: a program built with -ffast-math flushes small numbers to zero in all its threads, and then
   1e-40 and 2e-40 tie. Tasks run in the default environment, whatever the caller's. */
void dllm__cpu_pool_run(dllm_cpu_pool *pool, dllm_cpu_task task, void *user, int64_t count)
{
    fenv_t callers;
    (void)fegetenv(&callers);
    (void)fesetenv(FE_DFL_ENV);
    run_anywhere(pool, task, user, count);
    (void)fesetenv(&callers);
}
