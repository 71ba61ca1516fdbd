/* family_stream.c - the sampler: one pass over logits, a block a (split, row) */
#include "family_list.h"
#include "family_parts.h"

#include "status.h"

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    (void)device;
    if (choice->split_columns > DLLM_SAMPLER_COLUMNS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "stream: a split of %d columns is above %d",
                          choice->split_columns, DLLM_SAMPLER_COLUMNS_MAX);
    DLLM_TRY(dllm__check_lists("stream", problem));
    return dllm__check_grid("stream", problem->rows_max, choice->splits);
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    choice->tile_rows = 1;
    choice->tile_vocab = DLLM_SAMPLER_COLUMNS_STEP;
    choice->stages = 1;
    dllm__split_sampler(choice, problem->rows_max, problem->valid_vocab, problem->hidden_type,
                        device);
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    (void)choice;
    dllm__sampler_spec(&out[0], problem, problem->hidden_type);
    dllm__combine_spec(&out[1], problem);
    return 2;
}

static dllm_status run(const dllm_plan *plan, const dllm_plan_entry *entry,
                       const dllm_row_call *call, dllm_stream stream)
{
    const dllm_logits_block block = {
        .logits = call->hidden,
        .row_index = call->row_index,
        .logits_stride = call->hidden_stride,
        .rows = call->rows,
        .columns = (int)plan->problem.valid_vocab,
    };
    DLLM_TRY(dllm__launch_sampler(plan, entry, call, &block, stream));
    return dllm__launch_combine(plan, entry->kernels[1], call, &entry->choice, 0, stream);
}

static const dllm_tile space_tiles[] = {{1, DLLM_SAMPLER_COLUMNS_STEP, 0, 1}};

static const dllm_space space = {
    .revision = 1,
    .tiles = space_tiles,
    .tile_count = 1,
    .blocks_an_sm = 9,
    .products_a_clock = 16, /* an exponential, a compare and a sum a logit */
};

const dllm_family dllm__family_stream = {
    .name = "stream",
    .operation = DLLM_OPERATION_SAMPLER,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .lists = dllm__sampler_lists,
    .workspace_bytes = dllm__states_workspace,
    .run = run,
    .space = &space,
};
