/*
 * plan.c - makes a plan: choose, compile or load, size the workspace
 */
#include "plan.h"

#include "families.h"
#include "gemm.h"
#include "status.h"
#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const source_names[] = {"none",   "memory",   "disk",
                                           "system", "imported", "compiled"};

/* A kernel that entries share, with the most shared memory that any of them gives it. */
typedef struct shared_kernel {
    dllm_kernel_spec spec;
    int shared_bytes;
} shared_kernel;

enum { KERNELS_MAX = DLLM_PLAN_ENTRIES_MAX * DLLM_PLAN_KERNELS_MAX };

typedef struct kernel_set {
    int count;
    shared_kernel kernels[KERNELS_MAX];
    int of_entry[DLLM_PLAN_ENTRIES_MAX][DLLM_PLAN_KERNELS_MAX]; /* places in `kernels` */
    int count_of_entry[DLLM_PLAN_ENTRIES_MAX];
} kernel_set;

static int place_kernel(kernel_set *set, const dllm_kernel_spec *spec, int shared_bytes)
{
    int place = 0;
    while (place < set->count && !dllm__kernel_spec_equal(&set->kernels[place].spec, spec))
        place++;
    shared_kernel *kernel = &set->kernels[place];
    if (place == set->count) {
        set->count++;
        *kernel = (shared_kernel){.spec = *spec};
    }
    if (shared_bytes > kernel->shared_bytes) kernel->shared_bytes = shared_bytes;
    return place;
}

/* What all entries need, that of rows_max first: the information tells of its first, the main one. */
static void collect_kernels(kernel_set *set, const dllm_plan *plan)
{
    for (int e = plan->entry_count - 1; e >= 0; e--) {
        const dllm_plan_entry *entry = &plan->entries[e];
        const dllm_family *family = entry->choice.family;
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        const int count = family->kernels(&entry->problem, &entry->choice, specs);
        for (int i = 0; i < count; i++) {
            const int shared_bytes =
                family->shared_bytes ? family->shared_bytes(&entry->problem, &entry->choice, i) : 0;
            memcpy(specs[i].arch, plan->context->device.arch, sizeof specs[i].arch);
            set->of_entry[e][i] = place_kernel(set, &specs[i], shared_bytes);
        }
        set->count_of_entry[e] = count;
    }
}

/* Loads each kernel once, however many entries have it. */
static dllm_status load_kernels(dllm_plan *plan, const kernel_set *set)
{
    dllm_plan_information *information = &plan->information;
    dllm_cu_function functions[KERNELS_MAX] = {NULL};
    (void)snprintf(information->kernel_source, sizeof information->kernel_source, "%s",
                   source_names[DLLM_KERNEL_NONE]);
    for (int i = 0; i < set->count; i++) {
        dllm_kernel_origin origin = {DLLM_KERNEL_NONE, false, 0.0};
        DLLM_TRY(dllm__kernel_get(&functions[i], &origin, plan->context->kernels,
                                  &set->kernels[i].spec, plan->problem.prepare,
                                  set->kernels[i].shared_bytes));
        if (i == 0)
            (void)snprintf(information->kernel_source, sizeof information->kernel_source, "%s",
                           source_names[origin.source]);
        information->compile_ms += origin.compile_ms;
        if (origin.stored) information->stored = 1;
    }
    for (int e = 0; e < plan->entry_count; e++)
        for (int i = 0; i < set->count_of_entry[e]; i++)
            plan->entries[e].kernels[i] = functions[set->of_entry[e][i]];
    return DLLM_OK;
}

static dllm_status load(dllm_plan *plan)
{
    kernel_set *set = calloc(1, sizeof *set);
    if (!set) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the kernels of a plan");
    collect_kernels(set, plan);
    const dllm_status status = load_kernels(plan, set);
    free(set);
    return status;
}

/* cuBLAS is opened only for a problem that it would be given; it is large. */
static dllm_status look_for_cublas(dllm_device *device, dllm_context *context,
                                   const dllm_problem *problem)
{
    const bool asked = strcmp(problem->family, "gemm_chunk") == 0;
    device->has_cublas = false;
    if (!dllm__wants_cublas(problem, device)) return DLLM_OK;
    const dllm_status status = dllm__context_cublas(context);
    device->has_cublas = status == DLLM_OK;
    return asked ? status : DLLM_OK;
}

static void describe(dllm_plan *plan)
{
    const dllm_choice *choice = &plan->entries[plan->entry_count - 1].choice;
    dllm_plan_information *information = &plan->information;
    (void)snprintf(information->family, sizeof information->family, "%s", choice->family->name);
    information->tile_rows = choice->tile_rows;
    information->tile_vocab = choice->tile_vocab;
    information->tile_depth = choice->tile_depth;
    information->stages = choice->stages;
    information->splits = choice->splits;
}

enum { BUCKETS = 9 };
static const int64_t bucket_rows[BUCKETS] = {1, 16, 64, 128, 256, 512, 1024, 4096, 16384};
_Static_assert(BUCKETS + 1 <= (int)DLLM_PLAN_ENTRIES_MAX, "and one for rows_max");

int dllm__row_buckets(int64_t out[DLLM_PLAN_ENTRIES_MAX], const dllm_problem *problem)
{
    int count = 0;
    const bool one = problem->family[0] || (problem->behaviour & DLLM_BATCH_INVARIANT);
    while (!one && count < BUCKETS && bucket_rows[count] < problem->rows_max) {
        out[count] = bucket_rows[count];
        count++;
    }
    out[count] = problem->rows_max;
    return count + 1;
}

int64_t dllm__row_bucket(int64_t rows)
{
    int i = 0;
    while (i + 1 < BUCKETS && bucket_rows[i] < rows)
        i++;
    return bucket_rows[i];
}

bool dllm__choice_equal(const dllm_choice *a, const dllm_choice *b)
{
    return a->family == b->family && a->tile_rows == b->tile_rows &&
           a->tile_vocab == b->tile_vocab && a->tile_depth == b->tile_depth &&
           a->stages == b->stages && a->splits == b->splits &&
           a->split_columns == b->split_columns && a->finishes == b->finishes &&
           a->chunk_rows == b->chunk_rows && a->chunk_vocab == b->chunk_vocab;
}

/* A bucket with the choice of the one in front is not told apart from it. */
static void add_entry(dllm_plan *plan, const dllm_problem *problem, const dllm_choice *choice)
{
    dllm_plan_entry *last = plan->entry_count ? &plan->entries[plan->entry_count - 1] : NULL;
    if (!last || !dllm__choice_equal(&last->choice, choice))
        last = &plan->entries[plan->entry_count++];
    last->problem = *problem;
    last->choice = *choice;
}

static void tell_source(dllm_plan *plan, const char *source)
{
    (void)snprintf(plan->information.choice_source, sizeof plan->information.choice_source, "%s",
                   source);
}

/* A bucket's choice: measured, if that is known and wanted; else by the rule of thumb. */
static dllm_status choose_one(dllm_choice *out, dllm_plan *plan, const dllm_problem *problem,
                              dllm_device *device, bool measured)
{
    dllm_plan_information *information = &plan->information;
    dllm_tuned tuned;
    if (measured && dllm__tuned_find(&tuned, plan->context, problem, device)) {
        *out = tuned.choice;
        plan->is_tuned = true;
        tell_source(plan, tuned.is_builtin ? "table" : "tuned");
        (void)snprintf(information->why, sizeof information->why,
                       "measured for up to %lld rows: %.1f us, the rule of thumb %.1f us",
                       (long long)dllm__row_bucket(problem->rows_max), tuned.median_us,
                       tuned.default_us);
        return DLLM_OK;
    }
    tell_source(plan, problem->family[0] ? "asked" : "rule");
    return dllm__choose(out, information->why, problem, device);
}

static dllm_status choose_entries(dllm_plan *plan, dllm_device *device, bool measured)
{
    int64_t rows[DLLM_PLAN_ENTRIES_MAX];
    const int buckets = dllm__row_buckets(rows, &plan->problem);
    for (int i = 0; i < buckets; i++) {
        dllm_problem problem = plan->problem;
        dllm_choice choice;
        problem.rows_max = rows[i];
        DLLM_TRY(choose_one(&choice, plan, &problem, device, measured));
        add_entry(plan, &problem, &choice);
    }
    return DLLM_OK;
}

static void size_workspace(dllm_plan *plan)
{
    for (int i = 0; i < plan->entry_count; i++) {
        const dllm_plan_entry *entry = &plan->entries[i];
        const size_t bytes = entry->choice.family->workspace_bytes(&entry->problem, &entry->choice);
        if (bytes > plan->workspace_bytes) plan->workspace_bytes = bytes;
    }
    if (plan->workspace_bytes) plan->workspace_bytes += DLLM_WORKSPACE_ALIGNMENT - 1;
}

static dllm_status prepare_families(dllm_plan *plan)
{
    for (int i = 0; i < plan->entry_count; i++) {
        dllm_plan_entry *entry = &plan->entries[i];
        if (entry->choice.family->prepare) DLLM_TRY(entry->choice.family->prepare(plan, entry));
    }
    return DLLM_OK;
}

/* The entries are chosen. */
static dllm_status make_ready(dllm_plan *plan)
{
    size_workspace(plan);
    describe(plan);
    DLLM_TRY(load(plan));
    return prepare_families(plan);
}

static dllm_status fill(dllm_plan *plan, bool measured)
{
    dllm_device device = plan->context->device;
    /* a run on the CPU needs no more than whole elements */
    if (device.is_cpu) plan->problem.alignment_bytes = 1;
    DLLM_TRY(look_for_cublas(&device, plan->context, &plan->problem));
    DLLM_TRY(choose_entries(plan, &device, measured));
    return make_ready(plan);
}

/* NULL without memory; the message says so. */
static dllm_plan *new_plan(dllm_context *context, const dllm_problem *problem)
{
    dllm_plan *created = calloc(1, sizeof *created);
    if (!created) {
        (void)dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a plan");
        return NULL;
    }
    created->context = context;
    created->problem = *problem;
    return created;
}

/* Makes a plan in the current CUDA context. */
static dllm_status create(dllm_plan **out, dllm_context *context, const dllm_problem *problem,
                          bool measured)
{
    dllm_plan *created = new_plan(context, problem);
    if (!created) return DLLM_OUT_OF_MEMORY;
    const dllm_status status = fill(created, measured);
    if (status == DLLM_OK) {
        *out = created;
        return DLLM_OK;
    }
    const bool again = created->is_tuned;
    dllm_plan_destroy(created);
    if (!again) return status;
    /* what worked where it was tuned must not fail a call here */
    dllm__log(&context->log, "tuned choices are not used: %s", dllm_last_error());
    dllm__clear_error();
    return create(out, context, problem, false);
}

dllm_status dllm__plan_create(dllm_plan **out, dllm_context *context, const dllm_problem *problem)
{
    DLLM_TRY(dllm__context_enter(context));
    const dllm_status status = create(out, context, problem, true);
    dllm__context_leave(context);
    return status;
}

dllm_status dllm__plan_create_with(dllm_plan **out, dllm_context *context,
                                   const dllm_problem *problem, const dllm_choice *choice)
{
    dllm_plan *created = new_plan(context, problem);
    if (!created) return DLLM_OUT_OF_MEMORY;
    add_entry(created, problem, choice);
    dllm_status status = dllm__context_enter(context);
    if (status == DLLM_OK) {
        status = make_ready(created);
        dllm__context_leave(context);
    }
    if (status == DLLM_OK)
        *out = created;
    else
        dllm_plan_destroy(created);
    return status;
}

void dllm_plan_destroy(dllm_plan *plan)
{
    if (!plan) return;
    for (int i = 0; i < plan->entry_count; i++)
        dllm__gemm_destroy(plan->entries[i].gemm);
    free(plan);
}

/* The entry of the smallest bucket that holds the rows; a call never has more than rows_max. */
static const dllm_plan_entry *entry_for(const dllm_plan *plan, int64_t rows)
{
    int i = 0;
    while (i + 1 < plan->entry_count && plan->entries[i].problem.rows_max < rows)
        i++;
    return &plan->entries[i];
}

dllm_status dllm__plan_run(const dllm_plan *plan, const dllm_row_call *call, dllm_stream stream)
{
    const dllm_plan_entry *entry = entry_for(plan, call->rows);
    dllm_row_call aligned = *call;
    const uintptr_t slack = -(uintptr_t)call->workspace % DLLM_WORKSPACE_ALIGNMENT;
    if (aligned.workspace) aligned.workspace += slack;
    DLLM_TRY(dllm__context_enter(plan->context));
    const dllm_status status = entry->choice.family->run(plan, entry, &aligned, stream);
    dllm__context_leave(plan->context);
    return status;
}
