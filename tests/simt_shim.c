/*
 * simt_shim.c - the scheduler of a block: threads run until they must wait for each other
 *
 * Not reentrant: one block at a time in the whole program, as the state of a GPU is.
 */
#include "simt_shim.h"

#include "simt_fiber.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 256 * 1024, WARPS_MAX = SIMT_THREADS_MAX / SIMT_LANES };

typedef struct simt_thread {
    simt_fiber fiber;
    struct simt_thread *next; /* in the list it waits in */
    unsigned index;
} simt_thread;

typedef struct thread_list {
    simt_thread *first;
    simt_thread *last;
} thread_list;

/* Threads that wait for each other. */
typedef struct meeting {
    thread_list waiting;
    unsigned members;
    unsigned arrived;
    unsigned round;
    const char *call; /* what those who have arrived called */
} meeting;

typedef struct warp {
    meeting meeting;
    uint32_t words[2][SIMT_LANES]; /* by parity of the round: a slow lane may still read the last */
} warp;

static struct block {
    simt_thread threads[SIMT_THREADS_MAX];
    warp warps[WARPS_MAX];
    meeting barrier;
    thread_list ready;
    simt_thread *running;
    simt_thread *previous; /* that switched to the running one; NULL: the caller of simt_run */
    simt_fiber caller;
    simt_order order;
    unsigned live;
    void (*body)(const void *params);
    const void *params;
    const char *error;
    char *stacks;
} block;

simt_index simt_thread_index;
simt_index simt_block_index;

static char error_text[160];

static void append(thread_list *list, simt_thread *thread)
{
    thread->next = NULL;
    if (list->last) {
        list->last->next = thread;
    } else {
        list->first = thread;
    }
    list->last = thread;
}

static void prepend(thread_list *list, simt_thread *thread)
{
    thread->next = list->first;
    list->first = thread;
    if (!list->last) list->last = thread;
}

static simt_thread *take_first(thread_list *list)
{
    simt_thread *thread = list->first;
    if (!thread) return NULL;
    list->first = thread->next;
    if (!list->first) list->last = NULL;
    return thread;
}

static void make_ready(simt_thread *thread)
{
    if (block.order == SIMT_FIRST_COME) {
        append(&block.ready, thread);
    } else {
        prepend(&block.ready, thread);
    }
}

/* Leaves the running thread for good or until it is ready again, for another one or the caller. */
static void run_another(void)
{
    simt_thread *self = block.running;
    simt_thread *next = block.error ? NULL : take_first(&block.ready);
    if (!next && block.live > 0 && !block.error) {
        (void)snprintf(error_text, sizeof error_text,
                       "block %u: %u threads wait for threads that never come", simt_block_index.x,
                       block.live);
        block.error = error_text;
    }
    if (next == self) return;
    block.previous = self;
    block.running = next;
    if (next) simt_thread_index.x = next->index;
    simt_fiber_switch(&self->fiber, next ? &next->fiber : &block.caller);
}

static void refuse(const char *call, const char *rule)
{
    (void)snprintf(error_text, sizeof error_text, "block %u, thread %u: %s: %s", simt_block_index.x,
                   block.running->index, call, rule);
    block.error = error_text;
    run_another(); /* to the caller; this fiber is never taken up again */
}

static void meet(meeting *where, const char *call)
{
    if (where->arrived > 0 && where->call != call && strcmp(where->call, call) != 0)
        refuse(call, "the others are at another call");
    where->call = call;
    if (++where->arrived < where->members) {
        append(&where->waiting, block.running);
        run_another();
        return;
    }
    where->arrived = 0;
    where->round++;
    simt_thread *thread;
    while ((thread = take_first(&where->waiting)))
        make_ready(thread);
    make_ready(block.running);
    run_another();
}

void simt_barrier(void)
{
    meet(&block.barrier, "__syncthreads");
}

const uint32_t *simt_exchange(const char *call, unsigned mask, uint32_t word)
{
    warp *mine = &block.warps[block.running->index / SIMT_LANES];
    if (mask != 0xffffffffu) refuse(call, "the mask must name the whole warp");
    uint32_t *words = mine->words[mine->meeting.round % 2];
    words[block.running->index % SIMT_LANES] = word;
    meet(&mine->meeting, call);
    return words;
}

static void thread_main(void)
{
    simt_fiber_entered(block.previous ? &block.previous->fiber : &block.caller);
    block.body(block.params);
    block.live--;
    run_another();
}

static void run_block(unsigned threads)
{
    memset(block.warps, 0, sizeof block.warps);
    memset(&block.barrier, 0, sizeof block.barrier);
    memset(&block.ready, 0, sizeof block.ready);
    block.barrier.members = threads;
    block.live = threads;
    for (unsigned i = 0; i < threads; i++) {
        block.warps[i / SIMT_LANES].meeting.members++;
        block.threads[i].index = i;
        simt_fiber_prepare(&block.threads[i].fiber, block.stacks + (size_t)i * STACK_BYTES,
                           STACK_BYTES, thread_main);
        make_ready(&block.threads[i]);
    }
    block.previous = NULL;
    block.running = take_first(&block.ready);
    simt_thread_index.x = block.running->index;
    simt_fiber_switch(&block.caller, &block.running->fiber);
}

const char *simt_run(void (*body)(const void *params), const void *params, unsigned blocks,
                     unsigned threads, simt_order order)
{
    if (threads == 0 || threads > SIMT_THREADS_MAX) return "a block has 1 to 1024 threads";
    const size_t bytes = (size_t)threads * STACK_BYTES;
    block.stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block.stacks == MAP_FAILED) return "no memory for the stacks";
    memset(&block.caller, 0, sizeof block.caller);
    block.body = body;
    block.params = params;
    block.order = order;
    block.error = NULL;
    for (unsigned i = 0; i < blocks && !block.error; i++) {
        simt_block_index.x = i;
        run_block(threads);
    }
    for (unsigned i = 0; block.error && i < threads; i++)
        simt_fiber_abandon(&block.threads[i].fiber);
    (void)munmap(block.stacks, bytes);
    return block.error;
}
