/*
 * simt_shim.c - the scheduler of a cluster of blocks: threads run until they must wait for each other
 *
 * Blocks without clusters are clusters of one. Not reentrant: one cluster at a time in the whole
 * program, as the state of a GPU is.
 */
#include "simt_shim.h"

#include "simt_fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 256 * 1024, WARPS_MAX = SIMT_THREADS_MAX / SIMT_LANES, POISON = 0xa5 };

typedef struct simt_thread {
    simt_fiber fiber;
    struct simt_thread *next; /* in the list it waits in */
    unsigned rank;            /* of its block in the cluster */
    unsigned index;
    bool has_arrived; /* at the cluster's barrier, and not waited */
    unsigned round;   /* of the barrier in which it did */
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

typedef struct block {
    simt_thread threads[SIMT_THREADS_MAX];
    warp warps[WARPS_MAX];
    meeting barrier;
    thread_list ready;
    unsigned live;
    bool has_begun;
    char *shared; /* its shared memory while another block of the cluster runs */
} block;

static struct cluster {
    block blocks[SIMT_CLUSTER_MAX];
    unsigned size;
    block *current; /* whose shared memory is in place */
    meeting barrier;
    simt_shared shared;
    simt_thread *running;
    simt_thread *previous; /* that switched to the running one; NULL: the caller of simt_run */
    simt_fiber caller;
    simt_order order;
    unsigned first; /* number of the first block in the grid */
    void (*body)(const void *params);
    const void *params;
    const char *error;
    char *stacks;
} cluster;

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

static block *block_of(const simt_thread *thread)
{
    return &cluster.blocks[thread->rank];
}

static void make_ready(simt_thread *thread)
{
    if (cluster.order == SIMT_FIRST_COME) {
        append(&block_of(thread)->ready, thread);
    } else {
        prepend(&block_of(thread)->ready, thread);
    }
}

static size_t shared_bytes(void)
{
    return (size_t)(cluster.shared.end - cluster.shared.begin);
}

/* Puts a block's shared memory in place of that of the one that ran. */
static void enter_block(block *entered)
{
    if (cluster.current && cluster.current != entered)
        memcpy(cluster.current->shared, cluster.shared.begin, shared_bytes());
    if (cluster.current != entered && entered->shared)
        memcpy(cluster.shared.begin, entered->shared, shared_bytes());
    cluster.current = entered;
    entered->has_begun = true;
    simt_block_index.x = cluster.first + (unsigned)(entered - cluster.blocks);
}

/* Of the block that runs, as long as one of its threads can; then of another block. */
static simt_thread *take_next(void)
{
    simt_thread *next = cluster.current ? take_first(&cluster.current->ready) : NULL;
    for (unsigned i = 0; !next && i < cluster.size; i++) {
        const unsigned rank = cluster.order == SIMT_FIRST_COME ? i : cluster.size - 1 - i;
        next = take_first(&cluster.blocks[rank].ready);
    }
    return next;
}

static unsigned live_threads(void)
{
    unsigned live = 0;
    for (unsigned i = 0; i < cluster.size; i++)
        live += cluster.blocks[i].live;
    return live;
}

/* Leaves the running thread for good or until it is ready again, for another one or the caller. */
static void run_another(void)
{
    simt_thread *self = cluster.running;
    simt_thread *next = cluster.error ? NULL : take_next();
    if (!next && live_threads() > 0 && !cluster.error) {
        (void)snprintf(error_text, sizeof error_text,
                       "block %u: %u threads wait for threads that never come", simt_block_index.x,
                       live_threads());
        cluster.error = error_text;
    }
    if (next == self) return;
    cluster.previous = self;
    cluster.running = next;
    if (next) {
        enter_block(block_of(next));
        simt_thread_index.x = next->index;
    }
    simt_fiber_switch(&self->fiber, next ? &next->fiber : &cluster.caller);
}

static void refuse(const char *call, const char *rule)
{
    (void)snprintf(error_text, sizeof error_text, "block %u, thread %u: %s: %s", simt_block_index.x,
                   cluster.running->index, call, rule);
    cluster.error = error_text;
    run_another(); /* to the caller; this fiber is never taken up again */
}

/* Everyone has arrived. */
static void end_round(meeting *where)
{
    simt_thread *thread;
    where->arrived = 0;
    where->round++;
    while ((thread = take_first(&where->waiting)))
        make_ready(thread);
}

static void meet(meeting *where, const char *call)
{
    if (where->arrived > 0 && where->call != call && strcmp(where->call, call) != 0)
        refuse(call, "the others are at another call");
    where->call = call;
    if (++where->arrived < where->members) {
        append(&where->waiting, cluster.running);
        run_another();
        return;
    }
    end_round(where);
    make_ready(cluster.running);
    run_another();
}

void simt_barrier(void)
{
    meet(&block_of(cluster.running)->barrier, "__syncthreads");
}

const uint32_t *simt_exchange(const char *call, unsigned mask, uint32_t word)
{
    warp *mine = &block_of(cluster.running)->warps[cluster.running->index / SIMT_LANES];
    if (mask != 0xffffffffu) refuse(call, "the mask must name the whole warp");
    uint32_t *words = mine->words[mine->meeting.round % 2];
    words[cluster.running->index % SIMT_LANES] = word;
    meet(&mine->meeting, call);
    return words;
}

unsigned simt_cluster_number(void)
{
    return cluster.first / cluster.size;
}

unsigned simt_cluster_rank(void)
{
    return cluster.running->rank;
}

unsigned simt_cluster_blocks(void)
{
    return cluster.size;
}

void *simt_cluster_map(void *here, unsigned rank)
{
    const char *call = "cluster_map";
    const ptrdiff_t offset = (char *)here - cluster.shared.begin;
    if (offset < 0 || (size_t)offset >= shared_bytes()) refuse(call, "this is no shared memory");
    if (rank >= cluster.size) refuse(call, "the cluster has no such block");
    const block *there = &cluster.blocks[rank];
    if (!there->has_begun) refuse(call, "the block has not begun");
    if (there->live == 0) refuse(call, "the block has ended");
    return there == cluster.current ? here : there->shared + offset;
}

void simt_cluster_arrive(void)
{
    simt_thread *self = cluster.running;
    if (self->has_arrived) refuse("cluster_arrive", "a thread arrives twice without a wait");
    self->has_arrived = true;
    self->round = cluster.barrier.round;
    if (++cluster.barrier.arrived == cluster.barrier.members) end_round(&cluster.barrier);
}

void simt_cluster_wait(void)
{
    simt_thread *self = cluster.running;
    if (!self->has_arrived) refuse("cluster_wait", "a thread waits that has not arrived");
    self->has_arrived = false;
    if (self->round != cluster.barrier.round) return;
    append(&cluster.barrier.waiting, self);
    run_another();
}

static void thread_main(void)
{
    simt_fiber_entered(cluster.previous ? &cluster.previous->fiber : &cluster.caller);
    cluster.body(cluster.params);
    if (cluster.running->has_arrived) refuse("cluster_arrive", "a thread leaves without a wait");
    block_of(cluster.running)->live--;
    run_another();
}

static void prepare_block(block *made, unsigned threads)
{
    const unsigned rank = (unsigned)(made - cluster.blocks);
    char *stacks = cluster.stacks + (size_t)rank * threads * STACK_BYTES;
    memset(made->warps, 0, sizeof made->warps);
    memset(&made->barrier, 0, sizeof made->barrier);
    memset(&made->ready, 0, sizeof made->ready);
    made->barrier.members = made->live = threads;
    made->has_begun = false;
    if (made->shared) memset(made->shared, POISON, shared_bytes());
    for (unsigned i = 0; i < threads; i++) {
        simt_thread *thread = &made->threads[i];
        made->warps[i / SIMT_LANES].meeting.members++;
        *thread = (simt_thread){.rank = rank, .index = i};
        simt_fiber_prepare(&thread->fiber, stacks + (size_t)i * STACK_BYTES, STACK_BYTES,
                           thread_main);
        make_ready(thread);
    }
}

static void run_cluster(unsigned threads)
{
    cluster.barrier = (meeting){.members = threads * cluster.size};
    cluster.current = NULL;
    for (unsigned i = 0; i < cluster.size; i++)
        prepare_block(&cluster.blocks[i], threads);
    cluster.previous = NULL;
    cluster.running = take_next();
    enter_block(block_of(cluster.running));
    simt_thread_index.x = cluster.running->index;
    simt_fiber_switch(&cluster.caller, &cluster.running->fiber);
}

/* The size, its order, body and shared memory have been set. */
static const char *run_grid(const void *params, unsigned blocks, unsigned threads)
{
    if (threads == 0 || threads > SIMT_THREADS_MAX) return "a block has 1 to 1024 threads";
    const size_t bytes = (size_t)cluster.size * threads * STACK_BYTES;
    cluster.stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cluster.stacks == MAP_FAILED) return "no memory for the stacks";
    memset(&cluster.caller, 0, sizeof cluster.caller);
    cluster.params = params;
    cluster.error = NULL;
    for (cluster.first = 0; cluster.first < blocks && !cluster.error; cluster.first += cluster.size)
        run_cluster(threads);
    for (unsigned i = 0; cluster.error && i < cluster.size * threads; i++)
        simt_fiber_abandon(&cluster.blocks[i / threads].threads[i % threads].fiber);
    (void)munmap(cluster.stacks, bytes);
    return cluster.error;
}

const char *simt_run(void (*body)(const void *params), const void *params, unsigned blocks,
                     unsigned threads, simt_order order)
{
    cluster.body = body;
    cluster.order = order;
    cluster.size = 1;
    cluster.shared = (simt_shared){NULL, NULL};
    return run_grid(params, blocks, threads);
}

const char *simt_run_clusters(const simt_clusters *grid)
{
    const char *wrong = "no memory for the shared memory of a cluster";
    if (grid->cluster == 0 || grid->cluster > SIMT_CLUSTER_MAX || grid->blocks % grid->cluster)
        return "a cluster has 1 to 8 blocks, a grid whole clusters";
    cluster.body = grid->variant->body;
    cluster.order = grid->order;
    cluster.size = grid->cluster;
    cluster.shared = grid->variant->shared;
    char *copies = malloc(cluster.size * shared_bytes());
    for (unsigned i = 0; copies && i < cluster.size; i++)
        cluster.blocks[i].shared = copies + i * shared_bytes();
    if (copies) wrong = run_grid(grid->params, grid->blocks, grid->variant->threads);
    for (unsigned i = 0; i < cluster.size; i++)
        cluster.blocks[i].shared = NULL;
    free(copies);
    return wrong;
}
