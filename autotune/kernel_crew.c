/* kernel_crew.c - threads that take the next kernel from a list */
#include "kernel_crew.h"

#include "status.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

typedef struct crew {
    dllm_context *context;
    uint32_t prepare;
    dllm_kernel_spec *specs;
    int count;
    pthread_mutex_t lock; /* of what follows, and of the calls to step */
    int next;
    int done;
    bool stopped;
    bool (*step)(void *user, int done, int total);
    void *user;
} crew;

static bool is_listed(const crew *all, const dllm_kernel_spec *spec)
{
    for (int i = 0; i < all->count; i++)
        if (dllm__kernel_spec_equal(&all->specs[i], spec)) return true;
    return false;
}

static void collect(crew *all, const dllm_problem *problem, const dllm_candidate *candidates,
                    int count)
{
    for (int c = 0; c < count; c++) {
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        const dllm_choice *choice = &candidates[c].choice;
        const int kernels = choice->family->kernels(problem, choice, specs);
        for (int k = 0; k < kernels; k++) {
            memcpy(specs[k].arch, all->context->device.arch, sizeof specs[k].arch);
            if (!is_listed(all, &specs[k])) all->specs[all->count++] = specs[k];
        }
    }
}

/* The next of the list, -1 when there is none. */
static int take(crew *all)
{
    (void)pthread_mutex_lock(&all->lock);
    const int number = all->stopped || all->next == all->count ? -1 : all->next++;
    (void)pthread_mutex_unlock(&all->lock);
    return number;
}

static void tell(crew *all)
{
    (void)pthread_mutex_lock(&all->lock);
    all->done++;
    if (all->step && !all->step(all->user, all->done, all->count)) all->stopped = true;
    (void)pthread_mutex_unlock(&all->lock);
}

static void *work(void *argument)
{
    crew *all = argument;
    if (dllm__context_enter(all->context) != DLLM_OK) return NULL;
    for (int number = take(all); number >= 0; number = take(all)) {
        dllm_cu_function function;
        (void)dllm__kernel_get(&function, NULL, all->context->kernels, &all->specs[number],
                               all->prepare, 0);
        tell(all);
    }
    dllm__context_leave(all->context);
    return NULL;
}

/* Threads beside this one; where they cannot be had, this one does all. */
static void work_together(crew *all)
{
    pthread_t threads[THREADS_MAX];
    int started = 0;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = cores < THREADS_MAX ? (int)cores : THREADS_MAX;
    if (wanted > all->count) wanted = all->count;
    while (started < wanted - 1 && pthread_create(&threads[started], NULL, work, all) == 0)
        started++;
    (void)work(all);
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}

void dllm__kernel_crew_run(dllm_context *context, const dllm_problem *problem,
                           const dllm_candidate *candidates, int count,
                           bool (*step)(void *user, int done, int total), void *user)
{
    crew all = {.context = context, .prepare = problem->prepare, .step = step, .user = user};
    all.specs = calloc((size_t)count * DLLM_PLAN_KERNELS_MAX, sizeof *all.specs);
    if (!all.specs) return; /* they are fetched one by one then */
    if (pthread_mutex_init(&all.lock, NULL) == 0) {
        collect(&all, problem, candidates, count);
        if (all.count > 0) work_together(&all);
        (void)pthread_mutex_destroy(&all.lock);
    }
    free(all.specs);
    dllm__clear_error();
}
