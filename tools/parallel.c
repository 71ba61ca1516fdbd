/*
 * parallel.c - see parallel.h
 */
#include "parallel.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

typedef struct part {
    dllm_parallel_function function;
    void *work;
    int64_t first;
    int64_t last;
    pthread_t handle;
    int thread;
    bool started;
} part;

int dllm_parallel_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    const int count = CPU_COUNT(&set);
    return count > DLLM_PARALLEL_THREADS_MAX ? DLLM_PARALLEL_THREADS_MAX : count;
}

static void *run_part(void *user)
{
    const part *mine = user;
    mine->function(mine->work, mine->first, mine->last, mine->thread);
    return NULL;
}

void dllm_parallel_for(int threads, int64_t count, dllm_parallel_function function, void *work)
{
    part parts[DLLM_PARALLEL_THREADS_MAX];
    assert(threads >= 1);
    assert(threads <= DLLM_PARALLEL_THREADS_MAX);
    for (int i = 0; i < threads; i++) {
        parts[i] =
            (part){function, work, count * i / threads, count * (i + 1) / threads, 0, i, false};
        if (i > 0) parts[i].started = !pthread_create(&parts[i].handle, NULL, run_part, &parts[i]);
    }
    for (int i = 0; i < threads; i++)
        if (!parts[i].started) (void)run_part(&parts[i]);
    for (int i = 0; i < threads; i++) {
        if (!parts[i].started) continue;
        const int joined = pthread_join(parts[i].handle, NULL);
        assert(joined == 0);
        (void)joined;
    }
}
