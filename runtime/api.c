/*
 * api.c - the public entries of the operations: clear the message, check, hand on
 */
#include "argument.h"
#include "capture.h"
#include "heads.h"
#include "plan.h"
#include "status.h"
#include "tuning.h"

#include <stdio.h>

static dllm_status check_prepare(dllm_plan **out, const dllm_context *context)
{
    dllm__clear_error();
    if (!out) return dllm__fail(DLLM_INVALID_ARGUMENT, "out is NULL");
    if (!context) return dllm__fail(DLLM_INVALID_ARGUMENT, "context is NULL");
    return DLLM_OK;
}

static dllm_status check_run(const dllm_plan *plan, dllm_operation operation)
{
    dllm__clear_error();
    if (!plan) return dllm__fail(DLLM_INVALID_ARGUMENT, "plan is NULL");
    if (plan->problem.operation != operation)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "plan was prepared for another operation");
    return DLLM_OK;
}

/* A checked problem into a plan; measured first, where that is asked for and has not been done. */
static dllm_status make_plan(dllm_plan **out, dllm_context *context, const dllm_problem *problem)
{
    dllm__capture(problem, &context->log);
    if (problem->prepare & (DLLM_PREPARE_MEASURE | DLLM_PREPARE_PATIENT))
        dllm__tune_missing(context, problem);
    return dllm__plan_create(out, context, problem);
}

dllm_status dllm_head_prepare(dllm_plan **out, dllm_context *context,
                              const dllm_head_options *options)
{
    dllm_problem problem;
    DLLM_TRY(check_prepare(out, context));
    DLLM_TRY(dllm__head_problem(&problem, options));
    return make_plan(out, context, &problem);
}

dllm_status dllm_head_run(const dllm_plan *plan, const dllm_head_buffers *buffers,
                          dllm_stream stream)
{
    dllm_row_call call;
    DLLM_TRY(check_run(plan, DLLM_OPERATION_HEAD));
    DLLM_TRY(dllm__head_call(&call, &plan->problem, plan->workspace_bytes, buffers));
    return call.rows ? dllm__plan_run(plan, &call, stream) : DLLM_OK;
}

dllm_status dllm_sampler_prepare(dllm_plan **out, dllm_context *context,
                                 const dllm_sampler_options *options)
{
    dllm_problem problem;
    DLLM_TRY(check_prepare(out, context));
    DLLM_TRY(dllm__sampler_problem(&problem, options));
    return make_plan(out, context, &problem);
}

dllm_status dllm_sampler_run(const dllm_plan *plan, const dllm_sampler_buffers *buffers,
                             dllm_stream stream)
{
    dllm_row_call call;
    DLLM_TRY(check_run(plan, DLLM_OPERATION_SAMPLER));
    DLLM_TRY(dllm__sampler_call(&call, &plan->problem, plan->workspace_bytes, buffers));
    return call.rows ? dllm__plan_run(plan, &call, stream) : DLLM_OK;
}

dllm_status dllm_merge_prepare(dllm_plan **out, dllm_context *context,
                               const dllm_merge_options *options)
{
    dllm_problem problem;
    DLLM_TRY(check_prepare(out, context));
    DLLM_TRY(dllm__merge_problem(&problem, options));
    return dllm__plan_create(out, context, &problem);
}

dllm_status dllm_merge_run(const dllm_plan *plan, const dllm_merge_buffers *buffers,
                           dllm_stream stream)
{
    dllm_row_call call;
    DLLM_TRY(check_run(plan, DLLM_OPERATION_MERGE));
    DLLM_TRY(dllm__merge_call(&call, &plan->problem, buffers));
    return call.rows ? dllm__plan_run(plan, &call, stream) : DLLM_OK;
}

dllm_status dllm_model_lookup(dllm_model_information *out, const char *name)
{
    dllm__clear_error();
    const dllm_head_set *set = name ? dllm__head_set_find(name) : NULL;
    if (!set)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "head \"%s\" is not in the table",
                          name ? name : "");
    dllm_model_information found = {.struct_size = sizeof found,
                                    .vocab = set->vocab,
                                    .depth = set->depth,
                                    .valid_vocab = set->valid_vocab,
                                    .mask_id = set->mask_id,
                                    .eos_id = set->eos_id,
                                    .shifted = set->shifted,
                                    .scale = set->scale,
                                    .softcap = set->softcap,
                                    .weight_type = set->weight_type};
    (void)snprintf(found.name, sizeof found.name, "%s", set->set);
    (void)snprintf(found.models, sizeof found.models, "%s", set->models);
    return dllm__give_struct(out, &found, sizeof found);
}

const char *dllm_model_name(int32_t i)
{
    int count;
    const dllm_head_set *sets = dllm__head_sets(&count);
    return i >= 0 && i < count ? sets[i].set : NULL;
}

size_t dllm_plan_workspace_bytes(const dllm_plan *plan)
{
    return plan ? plan->workspace_bytes : 0;
}

size_t dllm_plan_state_bytes(const dllm_plan *plan)
{
    return plan ? dllm__state_bytes(&plan->problem) : 0;
}

dllm_status dllm_plan_info(const dllm_plan *plan, dllm_plan_information *out)
{
    dllm__clear_error();
    if (!plan) return dllm__fail(DLLM_INVALID_ARGUMENT, "plan is NULL");
    return dllm__give_struct(out, &plan->information, sizeof plan->information);
}
