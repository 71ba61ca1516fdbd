/*
 * tune_workers.c - forks, hands out kernels, gathers outcomes, minds signals
 */
#include "tune_workers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_cache.h"

_Static_assert(sizeof(tune_outcome) <= PIPE_BUF, "an outcome must pass the pipe in one piece");

enum { POLL_MS = 500 };

/* Shared by all processes. */
typedef struct shared_state {
    atomic_int next; /* first kernel that nobody took */
    atomic_bool stop;
} shared_state;

typedef struct worker_pool {
    const tune_work *work;
    shared_state *shared;
    int outcomes;   /* the pipe's end to read from */
    pid_t *workers; /* 0: reaped */
    int count;
} worker_pool;

static volatile sig_atomic_t stop_asked; /* SIGINT or SIGTERM came */
static volatile sig_atomic_t interrupts; /* SIGINT alone */

static void note_signal(int number)
{
    stop_asked = 1;
    if (number == SIGINT) interrupts = interrupts + 1;
}

static void fill_outcome(tune_outcome *out, dllm_kernel_cache *cache, const dllm_kernel_spec *spec)
{
    dllm_kernel_origin origin = {0};
    out->status = dllm__kernel_prebuild(&origin, cache, spec);
    out->compiled = origin.source == DLLM_KERNEL_COMPILED;
    out->stored = origin.stored;
    out->compile_ms = origin.compile_ms;
    if (out->status != DLLM_OK)
        (void)snprintf(out->message, sizeof out->message, "%s", dllm_last_error());
}

/* The life of a worker. It leaves signals that reach the whole process group to its parent: Ctrl-C,
   and the SIGTERM of a job. */
static int work_until_done(const tune_work *work, shared_state *shared, int outcomes)
{
    dllm_kernel_cache *cache = NULL;
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const dllm_status created = dllm__kernel_cache_create(&cache, NULL, &work->log);
    while (!atomic_load(&shared->stop)) {
        tune_outcome outcome = {.index = atomic_fetch_add(&shared->next, 1), .status = created};
        if (outcome.index >= work->count) break;
        if (created == DLLM_OK)
            fill_outcome(&outcome, cache, &work->specs[outcome.index]);
        else
            (void)snprintf(outcome.message, sizeof outcome.message, "%s", dllm_last_error());
        if (write(outcomes, &outcome, sizeof outcome) != (ssize_t)sizeof outcome) break;
    }
    dllm__kernel_cache_destroy(cache);
    return 0;
}

static bool start_workers(worker_pool *pool)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    (void)fflush(NULL); /* a copy of unwritten text in a worker would be written twice */
    const int wanted = pool->work->jobs < pool->work->count ? pool->work->jobs : pool->work->count;
    while (pool->count < wanted) {
        const pid_t child = fork();
        if (child == 0) {
            (void)close(ends[0]);
            _exit(work_until_done(pool->work, pool->shared, ends[1]));
        }
        if (child < 0) break;
        pool->workers[pool->count++] = child;
    }
    (void)close(ends[1]);
    pool->outcomes = ends[0];
    return pool->count > 0;
}

static void kill_workers(const worker_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->workers[i]) (void)kill(pool->workers[i], SIGKILL);
}

/* Reaps those that have ended; true when none is left. */
static bool all_ended(worker_pool *pool)
{
    bool ended = true;
    for (int i = 0; i < pool->count; i++) {
        if (pool->workers[i] && waitpid(pool->workers[i], NULL, WNOHANG) != 0) pool->workers[i] = 0;
        ended &= pool->workers[i] == 0;
    }
    return ended;
}

/* Reads outcomes until every worker has closed its end of the pipe; or has ended, where a process
   that it left behind holds that end open. */
static void gather(worker_pool *pool)
{
    const tune_work *work = pool->work;
    bool ended = false;
    for (;;) {
        struct pollfd wanted = {.fd = pool->outcomes, .events = POLLIN};
        const int ready = poll(&wanted, 1, ended ? 0 : POLL_MS);
        if (stop_asked) atomic_store(&pool->shared->stop, true);
        if (interrupts > 1) kill_workers(pool);
        if (ready < 0 && errno != EINTR) return;
        if (ready == 0 && ended) return; /* and nothing is left in the pipe */
        if (ready <= 0) {
            ended = all_ended(pool);
            (void)work->visit(work->user, NULL);
            continue;
        }
        tune_outcome outcome;
        const ssize_t got = read(pool->outcomes, &outcome, sizeof outcome);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof outcome) return;
        if (!work->visit(work->user, &outcome)) atomic_store(&pool->shared->stop, true);
    }
}

static void wait_for_workers(const worker_pool *pool)
{
    for (int i = 0; i < pool->count; i++) {
        while (pool->workers[i] && waitpid(pool->workers[i], NULL, 0) < 0 && errno == EINTR) {
            if (interrupts > 1) kill_workers(pool);
        }
    }
}

tune_end tune_workers_run(const tune_work *work)
{
    worker_pool pool = {.work = work};
    struct sigaction before[2];
    struct sigaction noting = {.sa_handler = note_signal}; /* no SA_RESTART: poll must wake up */
    tune_end end = TUNE_END_FAILED;
    if (work->count == 0) return TUNE_END_DONE;
    pool.workers = calloc((size_t)work->jobs, sizeof *pool.workers);
    pool.shared =
        mmap(NULL, sizeof *pool.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pool.workers && pool.shared != MAP_FAILED) {
        stop_asked = 0;
        interrupts = 0;
        (void)sigemptyset(&noting.sa_mask);
        (void)sigaction(SIGINT, &noting, &before[0]);
        (void)sigaction(SIGTERM, &noting, &before[1]);
        if (start_workers(&pool)) {
            gather(&pool);
            wait_for_workers(&pool);
            (void)close(pool.outcomes);
            end = stop_asked ? TUNE_END_INTERRUPTED : TUNE_END_DONE;
        }
        (void)sigaction(SIGINT, &before[0], NULL);
        (void)sigaction(SIGTERM, &before[1], NULL);
    }
    if (pool.shared != MAP_FAILED) (void)munmap(pool.shared, sizeof *pool.shared);
    free(pool.workers);
    return end;
}
