/*
 * family_sm90.c - the head on Hopper: head_sm90.cu, then combine
 *
 * Workspace: states [split][rows]; with a row index or guidance the packed rows, since a box of the copy
 * engine is rows in sequence. Tiles and stages are of lines: with guidance there are two a row.
 */
#include "family_list.h"
#include "family_parts.h"

#include "integers.h"
#include "packed_rows.h"
#include "sm90_params.h"
#include "status.h"
#include "tensor_map.h"

enum {
    COMPUTE = 90,
    TERMS_MAX = 1024,  /* tiles of a split */
    INDEX_SLACK = 256, /* rows and columns of a tile may begin below 2^31 and end above */
    HIDDEN_STEP = 8,   /* rows: a swizzle pattern is 8 lines */
    SIDE_ROWS = 192,   /* rows of a tile that three warpgroups share; two take turns with others */
    PAIR_STAGES = 5,   /* with fewer, two at a time leave the products waiting */
    SMALL_ROWS = 64,   /* of the smallest tile, whose lanes have registers to spare */
    DRAWN_ROWS = 128,  /* most rows that are drawn in such tiles */
    UNIT_COLUMNS = 32, /* what starting a unit costs, beside one that is bound by products */
    NARROW_VOCAB = 128,
    STATES_BYTES_MAX = 16 << 20,
    SPREAD_BYTES = 200 << 10, /* of a multiprocessor: what is given to the blocks of combine */
    SPREAD_ROWS = 8           /* of a multiprocessor: with more, blocks fall where they may */
};

/* Places in kernels(). */
enum { HEAD, COMBINE, GATHER };

/* By row count: the first entry that holds the rows; the last serves all above. 320 rows are five equal
   tiles: of 128, 128 and 64 the small one runs ahead of the others, and the weight is read twice. */
static const struct tile {
    int64_t rows_max;
    int rows, vocab;
} tiles[] = {
    {64, 64, 192},   {128, 128, 192}, {192, SIDE_ROWS, 192},
    {256, 128, 192}, {320, 64, 192},  {INT64_MAX, 128, 192},
};

/* Row tiles that a block of units holds (head_sm90.cu, row_group). */
enum { ROW_GROUP = 12 };

/* Rows of hidden in a stage of the ring. */
static int hidden_rows(const dllm_choice *choice, int64_t lines)
{
    const int64_t wanted = ceil_div(lines < 1 ? 1 : lines, HIDDEN_STEP) * HIDDEN_STEP;
    return (int)smaller(wanted, choice->tile_rows);
}

static int stage_bytes(const dllm_choice *choice, int64_t lines)
{
    return (hidden_rows(choice, lines) + choice->tile_vocab) * DLLM_SM90_LINE_BYTES;
}

static unsigned groups(const dllm_choice *choice)
{
    return choice->tile_rows == SIDE_ROWS ? 3 : 2;
}

/* Where the ring begins: more statistics keep what a lane has of its rows before it. */
static int ring_at(const dllm_problem *problem, const dllm_choice *choice)
{
    const int turns = groups(choice) == 2 ? 2 : 1;
    return DLLM_SM90_RING_AT(choice->tile_rows, turns, dllm__extra_words(problem));
}

static int shared_bytes_for(const dllm_problem *problem, const dllm_choice *choice, int64_t lines)
{
    return ring_at(problem, choice) + choice->stages * stage_bytes(choice, lines);
}

static int64_t lines_max(const dllm_problem *problem)
{
    return dllm__lines(problem, problem->rows_max);
}

/* Blocks of combine that wait for the head would pile up on the multiprocessor that is free first:
   where they are few, shared memory that they do not use spreads them. Two of four rows may share one;
   of one row each no more than must. */
static int spread_bytes(const dllm_problem *problem, int64_t rows, int multiprocessors)
{
    const int block_rows = dllm__combine_rows(problem);
    const int64_t shared_rows = ceil_div(rows, multiprocessors);
    if (shared_rows > SPREAD_ROWS) return 0;
    const int64_t blocks = block_rows == 1 ? shared_rows : SPREAD_ROWS / block_rows;
    return (int)(SPREAD_BYTES / blocks);
}

static int shared_bytes(const dllm_problem *problem, const dllm_choice *choice, int kernel)
{
    if (kernel == COMBINE) return spread_bytes(problem, 1, 1);
    return kernel == HEAD ? shared_bytes_for(problem, choice, lines_max(problem)) : 0;
}

static int64_t row_tiles(const dllm_choice *choice, int64_t lines)
{
    return ceil_div(lines, choice->tile_rows);
}

/* The kernel counts the steps of a block in 32 bits. */
static bool counts_fit(const dllm_problem *problem, const dllm_device *device,
                       const dllm_choice *choice)
{
    const int64_t units = row_tiles(choice, lines_max(problem)) * choice->splits;
    const int64_t unit_steps = ceil_div(choice->split_columns, choice->tile_vocab) *
                               ceil_div(problem->depth, DLLM_SM90_STEP_DEPTH);
    int64_t steps;
    return !__builtin_mul_overflow(ceil_div(units, device->multiprocessors), unit_steps, &steps) &&
           steps <= UINT32_MAX;
}

static dllm_status legal_operands(const dllm_problem *problem)
{
    if (problem->hidden_type != problem->weight_type || problem->hidden_type == DLLM_FP32)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "sm90: hidden and weight must both be bf16 or both fp16");
    if (problem->alignment_bytes < 16)
        return dllm__fail(DLLM_UNSUPPORTED, "sm90: rows keep %d bytes of alignment, 16 are needed",
                          problem->alignment_bytes);
    if (problem->valid_vocab > INT32_MAX - INDEX_SLACK)
        return dllm__fail(DLLM_UNSUPPORTED, "sm90: valid_vocab %lld is above 2^31 - 1 - %d",
                          (long long)problem->valid_vocab, INDEX_SLACK);
    if (lines_max(problem) > INT32_MAX - INDEX_SLACK)
        return dllm__fail(DLLM_UNSUPPORTED, "sm90: rows_max %lld is above (2^31 - 1 - %d) / %d",
                          (long long)problem->rows_max, INDEX_SLACK, dllm__copies(problem));
    return DLLM_OK;
}

static bool is_drawn(const dllm_problem *problem)
{
    return (dllm__statistics(problem) & DLLM_STATISTIC_GUMBEL) != 0;
}

/* Lists of candidates are kept by tiles of 64 rows alone, and so are draws of guided rows behind a softcap:
   lanes of more have no registers for them. */
static bool is_small(const dllm_problem *problem)
{
    return dllm__statistics(problem) & DLLM_STATISTIC_CANDIDATES ||
           (is_drawn(problem) && problem->is_guided && problem->softcap != 0);
}

/* Widest tile: in lanes of more rows a draw, or a transform, leaves no registers for accumulators of
   192 columns. */
static int vocab_most(const dllm_problem *problem, int tile_rows)
{
    const uint32_t of_rows = DLLM_TRANSFORM_TEMPERED | DLLM_TRANSFORM_ROW_TEMPERATURE |
                             DLLM_TRANSFORM_ROW_KEY | DLLM_TRANSFORM_NOISE |
                             DLLM_TRANSFORM_ROW_SEED;
    const bool folds_more = is_drawn(problem) || dllm__transforms(problem) & ~of_rows;
    if (tile_rows <= SMALL_ROWS) return INT32_MAX;
    if (is_small(problem)) return 0;
    return folds_more ? NARROW_VOCAB : INT32_MAX;
}

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    if (device->compute != COMPUTE)
        return dllm__fail(DLLM_UNSUPPORTED, "sm90: %s has no wgmma, sm_90a alone has it",
                          device->arch);
    DLLM_TRY(legal_operands(problem));
    if (choice->stages < 2 || choice->stages > DLLM_SM90_STAGES_MAX ||
        shared_bytes(problem, choice, HEAD) > device->shared_bytes_max)
        return dllm__fail(
            DLLM_UNSUPPORTED, "sm90: %d stages need %d bytes of shared memory, the device has %d",
            choice->stages, shared_bytes(problem, choice, HEAD), device->shared_bytes_max);
    if (choice->tile_vocab > vocab_most(problem, choice->tile_rows))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "sm90: a tile of %d x %d has no registers for what is folded",
                          choice->tile_rows, choice->tile_vocab);
    if (choice->split_columns > choice->tile_vocab * TERMS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "sm90: a split of %d columns is above 1024 tiles",
                          choice->split_columns);
    DLLM_TRY(dllm__check_grid("sm90", row_tiles(choice, lines_max(problem)), choice->splits));
    if (!counts_fit(problem, device, choice))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "sm90: %lld rows x %lld columns x %lld are above 2^32 steps a block",
                          (long long)problem->rows_max, (long long)problem->valid_vocab,
                          (long long)problem->depth);
    return DLLM_OK;
}

/* As many stages as the shared memory holds. */
static int most_stages(const dllm_problem *problem, const dllm_device *device,
                       const dllm_choice *choice)
{
    const int room = device->shared_bytes_max - ring_at(problem, choice);
    return (int)smaller(room / stage_bytes(choice, lines_max(problem)), DLLM_SM90_STAGES_MAX);
}

/* One row tile is bound by reading the weight: equal shares in boxes. More are bound by products: whole
   tiles, and so many splits that the units of a row group fill the device, for hidden rows of more
   groups at a time would not stay in the L2 cache. */
static void choose_splits(const dllm_problem *problem, const dllm_device *device,
                          dllm_choice *choice)
{
    const int64_t tiles_of_rows = row_tiles(choice, lines_max(problem));
    const bool one = tiles_of_rows <= 1;
    /* tiles that would leave blocks without a unit: each block has one of every row tile */
    const bool rotates = choice->tile_rows == SMALL_ROWS && !one && tiles_of_rows < ROW_GROUP &&
                         device->multiprocessors % tiles_of_rows != 0 && !is_small(problem);
    const int group = rotates ? 1 : ROW_GROUP;
    const int64_t states = STATES_BYTES_MAX / (int64_t)sizeof(dllm_row_state);
    const dllm_split_rule rule = {
        .vocab = problem->valid_vocab,
        .row_tiles = tiles_of_rows,
        .slots = device->multiprocessors,
        .splits_least = tiles_of_rows > group ? device->multiprocessors / group : 1,
        .splits_most = states / (problem->rows_max < 1 ? 1 : problem->rows_max),
        .columns_step = one ? DLLM_SM90_BOX_ROWS : choice->tile_vocab,
        .columns_max = choice->tile_vocab * TERMS_MAX,
        .columns_overhead = one ? choice->tile_vocab : UNIT_COLUMNS,
    };
    dllm__split_vocab(choice, &rule);
}

/* With few rows the tensor cores have time to spare: draws then take products in double, whose unit
   shares ports with them, in tiles of 64 rows. Their constants take the last registers of a lane: beside a
   further statistic or a bias something would lie in local memory. Noise that is given has no products. */
static bool draws_in_double(const dllm_problem *problem, int tile_rows)
{
    const uint32_t others = DLLM_TRANSFORM_BIAS | DLLM_TRANSFORM_NOISE;
    return dllm__statistics(problem) == DLLM_STATISTIC_GUMBEL &&
           !(dllm__transforms(problem) & others) && !is_small(problem) && tile_rows <= SMALL_ROWS &&
           lines_max(problem) <= DRAWN_ROWS;
}

static const struct tile *find_tile(const dllm_problem *problem)
{
    const struct tile *tile = tiles;
    if (is_small(problem) || draws_in_double(problem, tile->rows)) return tile;
    while (tile->rows_max < lines_max(problem))
        tile++;
    return tile;
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    const struct tile *tile = find_tile(problem);
    choice->tile_rows = tile->rows;
    choice->tile_vocab = (int)smaller(tile->vocab, vocab_most(problem, tile->rows));
    choice->tile_depth = DLLM_SM90_STEP_DEPTH;
    choice->stages = most_stages(problem, device, choice);
    choose_splits(problem, device, choice);
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    out[HEAD] = (dllm_kernel_spec){.file = "head_sm90.cu", .entry = "head_sm90"};
    dllm__kernel_define(&out[HEAD], "DLLM_HIDDEN_TYPE", problem->hidden_type);
    dllm__kernel_define(&out[HEAD], "DLLM_WEIGHT_TYPE", problem->weight_type);
    dllm__kernel_define(&out[HEAD], "DLLM_TILE_ROWS", choice->tile_rows);
    dllm__kernel_define(&out[HEAD], "DLLM_TILE_VOCAB", choice->tile_vocab);
    if (groups(choice) > 2) {
        dllm__kernel_define(&out[HEAD], "DLLM_GROUPS", groups(choice));
        dllm__kernel_define(&out[HEAD], "DLLM_TAKE_TURNS", 0);
    }
    if (draws_in_double(problem, choice->tile_rows))
        dllm__kernel_define(&out[HEAD], "DLLM_UPPER_IN_DOUBLE", 1);
    dllm__define_request(&out[HEAD], problem);
    dllm__combine_spec(&out[COMBINE], problem);
    return 2 + dllm__packed_spec(&out[GATHER], problem);
}

static size_t workspace_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    return dllm__states_bytes(problem, choice) + dllm__packed_bytes(problem);
}

/* One row tile that is bound by reading the weight, not by products. */
static bool in_pairs(const dllm_choice *choice, int64_t lines)
{
    return row_tiles(choice, lines) == 1 && choice->tile_rows < SIDE_ROWS &&
           choice->stages >= PAIR_STAGES;
}

static dllm_status encode_maps(dllm_sm90_params *params, const dllm_plan *plan,
                               const dllm_row_call *call)
{
    const dllm_problem *problem = &plan->problem;
    const dllm_driver *driver = &plan->context->driver;
    const dllm_tensor_view hidden = {.name = "hidden",
                                     .base = call->hidden,
                                     .type = problem->hidden_type,
                                     .rows = dllm__lines(problem, call->rows),
                                     .columns = problem->depth,
                                     .stride = call->hidden_stride};
    const dllm_tensor_view weight = {.name = "weight",
                                     .base = call->weight,
                                     .type = problem->weight_type,
                                     .rows = problem->valid_vocab,
                                     .columns = problem->depth,
                                     .stride = call->weight_stride,
                                     .in_pairs = params->pairs};
    DLLM_TRY(dllm__tensor_map(&params->hidden, driver, &hidden, params->hidden_rows));
    DLLM_TRY(dllm__tensor_map(&params->last_hidden, driver, &hidden, params->last_rows));
    return dllm__tensor_map(&params->weight, driver, &weight, DLLM_SM90_BOX_ROWS);
}

/* The lines of the call are one after the other. */
static dllm_status run_head(const dllm_plan *plan, const dllm_plan_entry *entry,
                            const dllm_row_call *call, dllm_stream stream)
{
    const dllm_choice *choice = &entry->choice;
    const int64_t lines = dllm__lines(&plan->problem, call->rows);
    const int64_t last_tile = (row_tiles(choice, lines) - 1) * choice->tile_rows;
    dllm_sm90_params params = {
        .states = (dllm_row_state *)(void *)call->workspace,
        .rows_device = call->rows_device,
        .state_stride = call->rows,
        .rows = (int32_t)call->rows,
        .valid_vocab = (int32_t)plan->problem.valid_vocab,
        .depth = (int32_t)plan->problem.depth,
        .split_columns = choice->split_columns,
        .splits = choice->splits,
        .hidden_rows = hidden_rows(choice, lines),
        .last_tile = (int32_t)last_tile,
        .last_rows = hidden_rows(choice, lines - last_tile),
        .stages = choice->stages,
        .pairs = in_pairs(choice, lines),
        .further = dllm__row_inputs(plan, call, choice),
        .guidance = dllm__guidance(plan, call, true),
    };
    const int64_t units = row_tiles(choice, lines) * params.splits;
    const dllm_grid grid = {smaller(units, plan->context->device.multiprocessors),
                            DLLM_SM90_THREADS(groups(choice)),
                            shared_bytes_for(&plan->problem, choice, lines), false};
    DLLM_TRY(encode_maps(&params, plan, call));
    return dllm__launch(plan, entry->kernels[HEAD], &grid, &params, stream);
}

static dllm_status run_combine(const dllm_plan *plan, const dllm_plan_entry *entry,
                               const dllm_row_call *call, dllm_stream stream)
{
    const int spread =
        spread_bytes(&plan->problem, call->rows, plan->context->device.multiprocessors);
    return dllm__launch_combine(plan, entry->kernels[COMBINE], call, &entry->choice, spread,
                                stream);
}

static dllm_status run(const dllm_plan *plan, const dllm_plan_entry *entry,
                       const dllm_row_call *call, dllm_stream stream)
{
    const dllm_problem *problem = &entry->problem;
    dllm_row_call rows = *call;
    if (dllm__packs(problem, call)) {
        char *packed = call->workspace + dllm__states_bytes(problem, &entry->choice);
        DLLM_TRY(dllm__pack_rows(plan, entry->kernels[GATHER], call, packed, stream));
        rows.hidden = packed;
        rows.hidden_stride = dllm__packed_stride(problem);
    }
    DLLM_TRY(run_head(plan, entry, &rows, stream));
    return run_combine(plan, entry, call, stream);
}

static const dllm_tile space_tiles[] = {
    {64, 128, DLLM_SM90_STEP_DEPTH, 0},        {64, 192, DLLM_SM90_STEP_DEPTH, 0},
    {128, 128, DLLM_SM90_STEP_DEPTH, 0},       {128, 192, DLLM_SM90_STEP_DEPTH, 0},
    {SIDE_ROWS, 192, DLLM_SM90_STEP_DEPTH, 0},
};

static const dllm_space space = {
    .revision = 1,
    .tiles = space_tiles,
    .tile_count = sizeof space_tiles / sizeof space_tiles[0],
    .columns_step = DLLM_SM90_BOX_ROWS,
    .blocks_an_sm = 1,
    .tensor_percent = 90,
};

/* Warpgroups that take turns each keep a list of a row. */
static dllm_list_shape lists(const dllm_choice *choice)
{
    return (dllm_list_shape){groups(choice) == 2 ? 2 : 1, choice->tile_vocab};
}

const dllm_family dllm__family_sm90 = {
    .name = "sm90",
    .operation = DLLM_OPERATION_HEAD,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .shared_bytes = shared_bytes,
    .lists = lists,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .space = &space,
};
