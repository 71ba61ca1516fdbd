/*
 * plan.c - makes a plan: choose, compile or load, size the workspace
 */
#include "plan.h"

#include "families.h"
#include "gemm.h"
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_ALIGNMENT = 256 };

static const char *const source_names[] = {"none", "memory", "disk", "compiled"};

/* Loads the kernels of an entry; the information tells of the first, the main one. */
static dllm_status load_kernels(dllm_plan *plan, dllm_plan_entry *entry)
{
    const dllm_family *family = entry->choice.family;
    dllm_plan_information *information = &plan->information;
    dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
    const int count = family->kernels(&plan->problem, &entry->choice, specs);
    (void)snprintf(information->kernel_source, sizeof information->kernel_source, "%s",
                   source_names[DLLM_KERNEL_NONE]);
    for (int i = 0; i < count; i++) {
        dllm_kernel_origin origin = {DLLM_KERNEL_NONE, false, 0.0};
        const int shared_bytes = i == 0 && family->shared_bytes
                                     ? family->shared_bytes(&plan->problem, &entry->choice)
                                     : 0;
        memcpy(specs[i].arch, plan->context->device.arch, sizeof specs[i].arch);
        DLLM_TRY(dllm__kernel_get(&entry->kernels[i], &origin, plan->context->kernels, &specs[i],
                                  plan->problem.prepare, shared_bytes));
        if (i == 0)
            (void)snprintf(information->kernel_source, sizeof information->kernel_source, "%s",
                           source_names[origin.source]);
        information->compile_ms += origin.compile_ms;
        if (origin.stored) information->stored = 1;
    }
    return DLLM_OK;
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
    const dllm_choice *choice = &plan->entries[0].choice;
    dllm_plan_information *information = &plan->information;
    (void)snprintf(information->family, sizeof information->family, "%s", choice->family->name);
    (void)snprintf(information->choice_source, sizeof information->choice_source, "%s",
                   plan->problem.family[0] ? "asked" : "rule");
    information->tile_rows = choice->tile_rows;
    information->tile_vocab = choice->tile_vocab;
    information->tile_depth = choice->tile_depth;
    information->stages = choice->stages;
    information->splits = choice->splits;
}

static dllm_status fill(dllm_plan *plan)
{
    dllm_device device = plan->context->device;
    dllm_plan_entry *entry = &plan->entries[0];
    dllm_choice choice;
    /* a run on the CPU needs no more than whole elements */
    if (device.is_cpu) plan->problem.alignment_bytes = 1;
    DLLM_TRY(look_for_cublas(&device, plan->context, &plan->problem));
    DLLM_TRY(dllm__choose(&choice, plan->information.why, &plan->problem, &device));
    entry->choice = choice;
    plan->entry_count = 1;
    entry->rows_max = plan->problem.rows_max;
    plan->workspace_bytes = entry->choice.family->workspace_bytes(&plan->problem, &entry->choice);
    if (plan->workspace_bytes) plan->workspace_bytes += WORKSPACE_ALIGNMENT - 1;
    describe(plan);
    DLLM_TRY(load_kernels(plan, entry));
    return entry->choice.family->prepare ? entry->choice.family->prepare(plan, entry) : DLLM_OK;
}

dllm_status dllm__plan_create(dllm_plan **out, dllm_context *context, const dllm_problem *problem)
{
    dllm_plan *created = calloc(1, sizeof *created);
    if (!created) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a plan");
    created->context = context;
    created->problem = *problem;
    dllm_status status = dllm__context_enter(context);
    if (status == DLLM_OK) {
        status = fill(created);
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
    while (i + 1 < plan->entry_count && plan->entries[i].rows_max < rows)
        i++;
    return &plan->entries[i];
}

dllm_status dllm__plan_run(const dllm_plan *plan, const dllm_row_call *call, dllm_stream stream)
{
    const dllm_plan_entry *entry = entry_for(plan, call->rows);
    dllm_row_call aligned = *call;
    const uintptr_t slack = -(uintptr_t)call->workspace % WORKSPACE_ALIGNMENT;
    if (aligned.workspace) aligned.workspace += slack;
    DLLM_TRY(dllm__context_enter(plan->context));
    const dllm_status status = entry->choice.family->run(plan, entry, &aligned, stream);
    dllm__context_leave(plan->context);
    return status;
}
