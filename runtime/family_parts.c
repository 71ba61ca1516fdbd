/* family_parts.c - what the GPU families share */
#include "family_parts.h"

#include "integers.h"
#include "status.h"

#include <stdio.h>

enum { WARP = 32, SPLITS_MAX = WARP * 1024 };

void dllm__split_vocab(dllm_choice *choice, const dllm_split_rule *rule)
{
    const int64_t row_tiles = larger(rule->row_tiles, 1);
    const int64_t needed = ceil_div(rule->vocab, rule->columns_max);
    const int64_t useful = ceil_div(rule->vocab, rule->columns_step);
    const int64_t held = rule->splits_most ? rule->splits_most : useful;
    const int64_t wanted = larger(4 * ceil_div(rule->slots, row_tiles), 4 * rule->splits_least);
    const int64_t most = larger(needed, smaller(smaller(useful, held), wanted));
    const int64_t least = larger(1, smaller(larger(needed, rule->splits_least), most));
    int64_t best_cost = INT64_MAX;
    for (int64_t splits = least; splits <= most; splits++) {
        const int64_t columns =
            ceil_div(ceil_div(rule->vocab, splits), rule->columns_step) * rule->columns_step;
        const int64_t used = ceil_div(rule->vocab, columns);
        const int64_t waves = ceil_div(row_tiles * used, rule->slots);
        const int64_t cost = waves * (columns + rule->columns_overhead);
        if (cost >= best_cost) continue;
        best_cost = cost;
        choice->splits = (int)used;
        choice->split_columns = (int)columns;
    }
}

size_t dllm__round_256(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Statistics whose values stand beside the states. */
static bool has_extras(const dllm_problem *problem)
{
    return dllm__statistics(problem) & DLLM_EXTRA_STATISTICS;
}

static size_t base_bytes(int64_t rows, int64_t splits)
{
    return dllm__round_256((size_t)rows * (size_t)splits * sizeof(dllm_row_state));
}

static size_t extra_bytes(const dllm_problem *problem, int64_t rows, int64_t splits)
{
    const size_t states = (size_t)rows * (size_t)splits;
    return has_extras(problem) ? dllm__round_256(states * sizeof(dllm_row_extra)) : 0;
}

static bool has_lists(const dllm_problem *problem, const dllm_choice *choice)
{
    return dllm__statistics(problem) & DLLM_STATISTIC_CANDIDATES && choice->family->lists;
}

/* Entries of a list, with its header: the best, and what a fold may add before the next look. */
static int list_stride(const dllm_problem *problem, const dllm_choice *choice)
{
    return 1 + problem->candidates + choice->family->lists(choice).span;
}

static size_t list_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    if (!has_lists(problem, choice)) return 0;
    const int sharers = choice->family->lists(choice).sharers;
    return dllm__round_256((size_t)problem->rows_max * (size_t)choice->splits * (size_t)sharers *
                           (size_t)list_stride(problem, choice) * sizeof(dllm_candidate));
}

size_t dllm__states_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    const int64_t rows = problem->rows_max;
    return base_bytes(rows, choice->splits) + extra_bytes(problem, rows, choice->splits) +
           list_bytes(problem, choice);
}

size_t dllm__states_workspace(const dllm_problem *problem, const dllm_choice *choice)
{
    return dllm__states_bytes(problem, choice);
}

/* Without a value the kernel has 0: one of plain logits is the same whatever is built beside it. */
static void define_request(dllm_kernel_spec *out, uint32_t statistics, uint32_t transforms)
{
    if (statistics) dllm__kernel_define(out, "DLLM_STATISTICS", (int64_t)statistics);
    if (transforms) dllm__kernel_define(out, "DLLM_TRANSFORMS", (int64_t)transforms);
}

void dllm__define_request(dllm_kernel_spec *out, const dllm_problem *problem)
{
    define_request(out, dllm__statistics(problem), dllm__transforms(problem));
}

int dllm__extra_words(const dllm_problem *problem)
{
    const uint32_t statistics = dllm__statistics(problem);
    int words = 0;
    if (statistics & DLLM_STATISTIC_ENTROPY) words += 1;
    if (statistics & DLLM_STATISTIC_SECOND) words += 2;
    if (statistics & DLLM_STATISTIC_TARGET) words += 1;
    if (statistics & DLLM_STATISTIC_GUMBEL) words += 3;
    return words;
}

enum { GROUP_ROWS = 8 };

int64_t dllm__lines(const dllm_problem *problem, int64_t rows)
{
    return problem->is_guided ? ceil_div(rows, GROUP_ROWS) * GROUP_ROWS * 2 : rows;
}

bool dllm__is_plain(const dllm_problem *problem)
{
    return dllm__statistics(problem) == 0 && dllm__transforms(problem) == 0;
}

void dllm__finish_spec(dllm_kernel_spec *out, const char *entry, const dllm_problem *problem)
{
    const bool flags_scale =
        problem->inputs & DLLM_IN_CFG_SCALE && problem->outputs & DLLM_OUT_FLAGS;
    const uint32_t of_rows = DLLM_TRANSFORM_TEMPERED | DLLM_TRANSFORM_ROW_TEMPERATURE |
                             (flags_scale ? DLLM_TRANSFORM_GUIDANCE : 0U);
    const bool exported = problem->behaviour & DLLM_PARTIAL_STATE;
    *out = (dllm_kernel_spec){.entry = entry};
    dllm__kernel_define(out, "DLLM_OUTPUTS",
                        exported ? DLLM_STATE_OUTPUT : (int64_t)problem->outputs);
    dllm__kernel_define(out, "DLLM_ID_BYTES", problem->id_type == DLLM_INT64 ? 8 : 4);
    define_request(out, dllm__statistics(problem), dllm__transforms(problem) & of_rows);
}

void dllm__combine_spec(dllm_kernel_spec *out, const dllm_problem *problem)
{
    dllm__finish_spec(out, "combine", problem);
    out->file = "combine.cu";
}

/* Extras and lists lie behind the states of the rows of this call. */
dllm_row_inputs dllm__row_inputs(const dllm_plan *plan, const dllm_row_call *call,
                                 const dllm_choice *choice)
{
    const dllm_problem *problem = &plan->problem;
    const bool extra = call->workspace && has_extras(problem); /* merge has none */
    const bool listed = has_lists(problem, choice);
    const dllm_list_shape shape = listed ? choice->family->lists(choice) : (dllm_list_shape){0};
    const size_t extras_at = base_bytes(call->rows, choice->splits);
    const size_t lists_at = extras_at + extra_bytes(problem, call->rows, choice->splits);
    return (dllm_row_inputs){
        .extras = extra ? (dllm_row_extra *)(void *)(call->workspace + extras_at) : NULL,
        .lists = listed ? (dllm_candidate *)(void *)(call->workspace + lists_at) : NULL,
        .row_index = call->row_index,
        .target = call->target,
        .temperatures = call->temperature,
        .bias = call->bias,
        .suppress = call->suppress,
        .penalty_id = call->penalty_id,
        .penalty = call->penalty,
        .row_key = call->row_key,
        .seed = call->seed,
        .draw = call->draw,
        .noise = call->noise,
        .vocab_offset = problem->vocab_offset,
        .vocab = (int32_t)problem->vocab,
        .suppress_count = (int32_t)call->suppress_count,
        .scale = problem->scale,
        .softcap = problem->softcap,
        .temperature = problem->temperature,
        .ids_are_64 = problem->id_type == DLLM_INT64,
        .row_index_is_64 = problem->index_type == DLLM_INT64,
        .candidates = problem->candidates,
        .sharers = shape.sharers,
        .list_stride = listed ? list_stride(problem, choice) : 0,
    };
}

dllm_guidance dllm__guidance(const dllm_plan *plan, const dllm_row_call *call, bool is_packed)
{
    return (dllm_guidance){call->cfg_scale, plan->problem.cfg_scale, is_packed};
}

dllm_row_outputs dllm__row_outputs(const dllm_plan *plan, const dllm_row_call *call,
                                   const dllm_choice *choice)
{
    return (dllm_row_outputs){
        .inputs = dllm__row_inputs(plan, call, choice),
        .entropy = call->entropy,
        .second = call->second,
        .second_id = call->second_id,
        .margin = call->margin,
        .target_logprob = call->target_logprob,
        .gumbel_id = call->gumbel_id,
        .gumbel_logprob = call->gumbel_logprob,
        .candidate_values = call->candidate_values,
        .candidate_ids = call->candidate_ids,
        .state = call->state,
        .state_bytes = (int64_t)dllm__state_bytes(&plan->problem),
    };
}

dllm_status dllm__check_grid(const char *family, int64_t row_tiles, int64_t splits)
{
    if (splits > SPLITS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "%s: %lld splits are above %d, what a warp of combine may merge", family,
                          (long long)splits, SPLITS_MAX);
    if (row_tiles * splits <= INT32_MAX) return DLLM_OK;
    return dllm__fail(DLLM_UNSUPPORTED, "%s: %lld row tiles x %lld splits is above 2^31 - 1 blocks",
                      family, (long long)row_tiles, (long long)splits);
}

dllm_status dllm__launch(const dllm_plan *plan, dllm_cu_function function, const dllm_grid *grid,
                         void *params, dllm_stream stream)
{
    void *arguments[] = {params};
    return dllm__launch_clusters(plan, function, grid, 0, arguments, stream);
}

dllm_status dllm__launch_clusters(const dllm_plan *plan, dllm_cu_function function,
                                  const dllm_grid *grid, unsigned cluster, void **arguments,
                                  dllm_stream stream)
{
    const dllm_context *context = plan->context;
    dllm_cu_launch_attribute attributes[2];
    unsigned count = 0;
    if (grid->dependent && context->device.dependent_launch)
        attributes[count++] = (dllm_cu_launch_attribute){
            .id = DLLM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value = {.on = 1}};
    if (cluster)
        attributes[count++] = (dllm_cu_launch_attribute){.id = DLLM_CU_LAUNCH_CLUSTER_DIMENSION,
                                                         .value = {.cluster = {cluster, 1, 1}}};
    const dllm_cu_launch_config config = {
        .grid_x = (unsigned)grid->blocks,
        .grid_y = 1,
        .grid_z = 1,
        .block_x = grid->threads,
        .block_y = 1,
        .block_z = 1,
        .shared_bytes = (unsigned)grid->shared_bytes,
        .stream = stream,
        .attributes = attributes,
        .attribute_count = count,
    };
    return dllm__driver_check(&context->driver,
                              context->driver.launch(&config, function, arguments, NULL),
                              "cuLaunchKernelEx");
}

int dllm__combine_rows(const dllm_problem *problem)
{
    return DLLM_COMBINE_ROWS(dllm__statistics(problem));
}

dllm_combine_params dllm__combine_params(const dllm_plan *plan, const dllm_row_call *call,
                                         const dllm_choice *choice)
{
    return (dllm_combine_params){
        .states = (const dllm_row_state *)(const void *)call->workspace,
        .row_index = call->row_index,
        .rows_device = call->rows_device,
        .argmax = call->argmax,
        .max = call->max,
        .lse = call->lse,
        .confidence = call->confidence,
        .flags = call->flags,
        .rows = call->rows,
        .source_rows = call->source_rows,
        .state_stride = call->rows,
        .vocab_offset = plan->problem.vocab_offset,
        .row_index_is_64 = plan->problem.index_type == DLLM_INT64,
        .splits = choice->splits,
        .further = dllm__row_outputs(plan, call, choice),
        .guidance = dllm__guidance(plan, call, false),
    };
}

dllm_status dllm__launch_combine(const dllm_plan *plan, dllm_cu_function function,
                                 const dllm_row_call *call, const dllm_choice *choice,
                                 int shared_bytes, dllm_stream stream)
{
    dllm_combine_params params = dllm__combine_params(plan, call, choice);
    const int block_rows = dllm__combine_rows(&plan->problem);
    const dllm_grid grid = {ceil_div(call->rows, block_rows), (unsigned)(block_rows * WARP),
                            shared_bytes, true};
    return dllm__launch(plan, function, &grid, &params, stream);
}

dllm_status dllm__launch_head(const dllm_plan *plan, const dllm_plan_entry *entry,
                              const dllm_row_call *call, int rows_a_block, dllm_grid grid,
                              dllm_stream stream)
{
    const dllm_problem *problem = &plan->problem;
    dllm_head_params params = {
        .hidden = call->hidden,
        .weight = call->weight,
        .row_index = call->row_index,
        .rows_device = call->rows_device,
        .states = (dllm_row_state *)(void *)call->workspace,
        .hidden_stride = call->hidden_stride,
        .weight_stride = call->weight_stride,
        .rows = call->rows,
        .source_rows = call->source_rows,
        .state_stride = call->rows,
        .row_index_is_64 = problem->index_type == DLLM_INT64,
        .valid_vocab = (int32_t)problem->valid_vocab,
        .depth = (int32_t)problem->depth,
        .split_columns = entry->choice.split_columns,
        .further = dllm__row_inputs(plan, call, &entry->choice),
        .guidance = dllm__guidance(plan, call, false),
    };
    grid.blocks = ceil_div(call->rows, rows_a_block) * entry->choice.splits;
    DLLM_TRY(dllm__launch(plan, entry->kernels[0], &grid, &params, stream));
    return dllm__launch_combine(plan, entry->kernels[1], call, &entry->choice, 0, stream);
}

void dllm__sampler_spec(dllm_kernel_spec *out, const dllm_problem *problem, dllm_type logits_type)
{
    *out = (dllm_kernel_spec){.file = "sampler_stream.cu", .entry = "sampler_stream"};
    dllm__kernel_define(out, "DLLM_LOGITS_TYPE", logits_type);
    dllm__define_request(out, problem);
    /* lists hold what a warp may add in one fold: 256 columns, one packet a lane; of guided rows half the
       packets are those of the other row */
    if (dllm__statistics(problem) & DLLM_STATISTIC_CANDIDATES)
        dllm__kernel_define(out, "DLLM_PACKETS", 1);
    else if (problem->is_guided)
        dllm__kernel_define(out, "DLLM_PACKETS", 2);
}

dllm_list_shape dllm__sampler_lists(const dllm_choice *choice)
{
    (void)choice;
    return (dllm_list_shape){DLLM_SAMPLER_THREADS / WARP, DLLM_SAMPLER_SPAN};
}

dllm_status dllm__check_lists(const char *family, const dllm_problem *problem)
{
    if (!(dllm__statistics(problem) & DLLM_STATISTIC_CANDIDATES) ||
        problem->valid_vocab <= INT32_MAX - DLLM_SAMPLER_SPAN)
        return DLLM_OK;
    return dllm__fail(DLLM_UNSUPPORTED,
                      "%s: valid_vocab %lld is above 2^31 - 1 - %d with candidates", family,
                      (long long)problem->valid_vocab, DLLM_SAMPLER_SPAN);
}

void dllm__split_sampler(dllm_choice *choice, int64_t rows, int64_t columns, dllm_type type,
                         const dllm_device *device)
{
    /* what the kernel's registers let an SM hold */
    const int blocks_an_sm = type == DLLM_FP32 ? 12 : 9;
    const dllm_split_rule rule = {.vocab = columns,
                                  .row_tiles = rows,
                                  .slots = (int64_t)device->multiprocessors * blocks_an_sm,
                                  .columns_step = DLLM_SAMPLER_COLUMNS_STEP,
                                  .columns_max = DLLM_SAMPLER_COLUMNS_MAX,
                                  .columns_overhead = 256};
    dllm__split_vocab(choice, &rule);
}

dllm_sampler_params dllm__sampler_params(const dllm_plan *plan, const dllm_plan_entry *entry,
                                         const dllm_row_call *call, const dllm_logits_block *block)
{
    return (dllm_sampler_params){
        .logits = block->logits,
        .row_index = block->row_index,
        .rows_device = call->rows_device,
        .states = (dllm_row_state *)(void *)call->workspace,
        .logits_stride = block->logits_stride,
        .rows = call->rows,
        .source_rows = call->source_rows,
        .state_stride = call->rows,
        .row_begin = block->row_begin,
        .row_limit = (int32_t)block->rows,
        .row_index_is_64 = plan->problem.index_type == DLLM_INT64,
        .column_begin = block->column_begin,
        .columns = block->columns,
        .split_columns = entry->choice.split_columns,
        .continues = block->continues,
        .further = dllm__row_inputs(plan, call, &entry->choice),
        .guidance = dllm__guidance(plan, call, block->is_packed),
    };
}

dllm_status dllm__launch_sampler(const dllm_plan *plan, const dllm_plan_entry *entry,
                                 const dllm_row_call *call, const dllm_logits_block *block,
                                 dllm_stream stream)
{
    dllm_sampler_params params = dllm__sampler_params(plan, entry, call, block);
    const dllm_grid grid = {block->rows * entry->choice.splits, DLLM_SAMPLER_THREADS, 0,
                            block->dependent};
    return dllm__launch(plan, entry->kernels[0], &grid, &params, stream);
}
