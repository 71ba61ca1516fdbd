/*
 * family_stream.c - the sampler: one pass over logits
 *
 * Rows of up to 8 splits are finished by the kernel that reads them, a block or a cluster of blocks a
 * row; else, and with lists of candidates, a block a (split, row) leaves a state for combine.
 *
 * tile_vocab   8 columns a thread of a block: what one 16-byte load of 2-byte logits each takes
 * stages       such loads that a thread has in flight; guided rows halve them, the other half reads
 *              the unconditional row
 */
#include "family_list.h"
#include "family_parts.h"

#include "integers.h"
#include "status.h"

enum {
    STEP = DLLM_SAMPLER_COLUMNS_STEP,
    COLUMNS_A_THREAD = STEP / DLLM_SAMPLER_THREADS,
    PACKETS = 4, /* the kernel's own number */
    WIDEST = 4 * STEP,
    CLUSTER_BLOCKS_MAX = 8,     /* that every device with clusters takes */
    SHARE_BYTES_MAX = 256 << 10 /* that a block reads while others idle */
};

static bool is_plain(const dllm_problem *problem)
{
    return dllm__is_plain(problem) && !(problem->behaviour & DLLM_PARTIAL_STATE);
}

/* Into how many splits a row may be cut and still be finished by the kernel that reads it. */
static int splits_finished(const dllm_problem *problem, const dllm_device *device)
{
    if (dllm__statistics(problem) & DLLM_STATISTIC_CANDIDATES) return 0;
    return device->clusters ? CLUSTER_BLOCKS_MAX : 1;
}

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    const int most = splits_finished(problem, device);
    if (choice->split_columns > DLLM_SAMPLER_COLUMNS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "stream: a split of %d columns is above %d",
                          choice->split_columns, DLLM_SAMPLER_COLUMNS_MAX);
    if (choice->finishes && choice->splits > most)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "stream: %d splits are above %d, what one kernel can finish here",
                          choice->splits, most);
    if (!choice->finishes && (choice->tile_vocab != STEP || choice->stages != PACKETS))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "stream: states come from tiles of %d columns and %d stages alone", STEP,
                          PACKETS);
    if (choice->tile_vocab > WIDEST && !is_plain(problem))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "stream: blocks of %d columns have registers for plain outputs alone",
                          choice->tile_vocab);
    DLLM_TRY(dllm__check_lists("stream", problem));
    return dllm__check_grid("stream", problem->rows_max, choice->splits);
}

/* Blocks that finish rows: the wider, the fewer a multiprocessor has, so that all of them run at once
   (autotune/facts.md, "Sampler"). Many rows come wave after wave, and narrow ones hide each other's ends. */
static const struct {
    int64_t blocks; /* of a multiprocessor, at most */
    int tile_vocab, stages;
    bool plain; /* for plain outputs alone: others are worth fewer kernels */
} widths[] = {{2, 4 * STEP, 4, false}, {8, 2 * STEP, 2, true}, {INT64_MAX, STEP, PACKETS, false}};

/* A block a row or, while multiprocessors would be left idle, a cluster. False where a row is too long for
   that: more splits, and combine behind them, take less time. */
static bool choose_blocks(dllm_choice *choice, const dllm_problem *problem,
                          const dllm_device *device, int splits_most)
{
    const int64_t rows = larger(problem->rows_max, 1);
    const int64_t least = ceil_div(problem->valid_vocab, DLLM_SAMPLER_COLUMNS_MAX);
    const int64_t useful = ceil_div(problem->valid_vocab, widths[0].tile_vocab);
    const int64_t idle = device->multiprocessors / rows;
    const int64_t splits = larger(least, larger(1, smaller(idle, smaller(useful, splits_most))));
    const int64_t columns = ceil_div(ceil_div(problem->valid_vocab, splits), STEP) * STEP;
    const bool fills = rows * splits >= device->multiprocessors;
    if (splits > splits_most ||
        (!fills && columns * dllm__type_bytes(problem->hidden_type) > SHARE_BYTES_MAX))
        return false;
    choice->split_columns = (int)columns;
    choice->splits = (int)larger(1, ceil_div(problem->valid_vocab, columns));
    const int64_t blocks = ceil_div(rows * choice->splits, device->multiprocessors);
    int i = 0;
    while (blocks > widths[i].blocks || (widths[i].plain && !is_plain(problem)))
        i++;
    choice->tile_vocab = widths[i].tile_vocab;
    choice->stages = widths[i].stages;
    return true;
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    const int most = splits_finished(problem, device);
    choice->tile_rows = 1;
    choice->tile_vocab = STEP;
    choice->stages = PACKETS;
    choice->finishes = 1;
    if (most > 1 && choose_blocks(choice, problem, device, most)) return;
    dllm__split_sampler(choice, problem->rows_max, problem->valid_vocab, problem->hidden_type,
                        device);
    choice->finishes = choice->splits <= most;
}

static void finishing_spec(dllm_kernel_spec *out, const dllm_problem *problem,
                           const dllm_choice *choice)
{
    const int packets = problem->is_guided ? choice->stages / 2 : choice->stages;
    const int threads = choice->tile_vocab / COLUMNS_A_THREAD;
    *out = (dllm_kernel_spec){.file = "sampler_finish.cu", .entry = "sampler_finish"};
    dllm__kernel_define(out, "DLLM_LOGITS_TYPE", problem->hidden_type);
    dllm__define_request(out, problem);
    if (problem->behaviour & DLLM_PARTIAL_STATE) {
        dllm__kernel_define(out, "DLLM_OUTPUTS", DLLM_STATE_OUTPUT);
    } else {
        /* it serves any set of the plain outputs */
        dllm__kernel_define(out, "DLLM_OUTPUTS", problem->outputs | DLLM_PLAIN_OUTPUTS);
        dllm__kernel_define(out, "DLLM_ID_BYTES", problem->id_type == DLLM_INT64 ? 8 : 4);
    }
    if (packets != PACKETS) dllm__kernel_define(out, "DLLM_PACKETS", packets);
    if (threads != DLLM_SAMPLER_THREADS) dllm__kernel_define(out, "DLLM_THREADS", threads);
    if (choice->splits > 1) dllm__kernel_define(out, "DLLM_CLUSTERED", 1);
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    if (choice->finishes) {
        finishing_spec(&out[0], problem, choice);
        return 1;
    }
    dllm__sampler_spec(&out[0], problem, problem->hidden_type);
    dllm__combine_spec(&out[1], problem);
    return 2;
}

static size_t workspace_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    return choice->finishes ? 0 : dllm__states_bytes(problem, choice);
}

static dllm_status run_finishing(const dllm_plan *plan, const dllm_plan_entry *entry,
                                 const dllm_row_call *call, const dllm_logits_block *block,
                                 dllm_stream stream)
{
    const dllm_choice *choice = &entry->choice;
    const uint32_t outputs = plan->problem.outputs;
    dllm_sampler_params params = dllm__sampler_params(plan, entry, call, block);
    dllm_combine_params to = dllm__combine_params(plan, call, choice);
    if (!(outputs & DLLM_OUT_ARGMAX)) to.argmax = NULL;
    if (!(outputs & DLLM_OUT_MAX)) to.max = NULL;
    if (!(outputs & DLLM_OUT_LSE)) to.lse = NULL;
    if (!(outputs & DLLM_OUT_CONFIDENCE)) to.confidence = NULL;
    if (!(outputs & DLLM_OUT_FLAGS)) to.flags = NULL;
    const dllm_grid grid = {call->rows * choice->splits,
                            (unsigned)(choice->tile_vocab / COLUMNS_A_THREAD), 0, false};
    return dllm__launch_clusters(plan, entry->kernels[0], &grid,
                                 choice->splits > 1 ? (unsigned)choice->splits : 0,
                                 (void *[]){&params, &to}, stream);
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
    if (entry->choice.finishes) return run_finishing(plan, entry, call, &block, stream);
    DLLM_TRY(dllm__launch_sampler(plan, entry, call, &block, stream));
    return dllm__launch_combine(plan, entry->kernels[1], call, &entry->choice, 0, stream);
}

static const dllm_tile space_tiles[] = {
    {1, STEP, 0, 4},     {1, STEP, 0, 2},     {1, 2 * STEP, 0, 4}, {1, 2 * STEP, 0, 2},
    {1, 4 * STEP, 0, 4}, {1, 4 * STEP, 0, 2}, {1, 8 * STEP, 0, 2},
};

static const dllm_space space = {
    .revision = 2,
    .tiles = space_tiles,
    .tile_count = sizeof space_tiles / sizeof space_tiles[0],
    .columns_step = STEP,
    .blocks_an_sm = 9,
    .wide_blocks = true,
    .finishes = true,
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
    .workspace_bytes = workspace_bytes,
    .run = run,
    .space = &space,
};
