/*
 * family_mma.c - the head on tensor cores by mma.sync, sm_80 and later
 */
#include "family_list.h"
#include "family_parts.h"

#include "status.h"

enum {
    TERMS_MAX = 1024,
    COLUMNS_STEP = 16,
    DEPTH_MAX = 1 << 29, /* the kernel counts a row's bytes in 32 bits */
    FURTHER_ROWS = 64    /* of a tile: lanes of more have no registers for more statistics */
};

typedef struct tile {
    int shared_bytes_max; /* of the devices it is for, least */
    int rows, vocab, depth, stages, blocks_an_sm;
} tile;

/* By device and row bucket: the first entry that the device can hold and that holds the rows; the
   last entry of a device serves all larger row counts. */
static const tile tiles[] = {
    {227 << 10, 16, 128, 64, 6, 2}, /* sm_90a, sm_100 */
    {227 << 10, 32, 128, 64, 5, 2}, {227 << 10, 64, 256, 64, 5, 1}, {227 << 10, 128, 256, 64, 4, 1},
    {163 << 10, 16, 128, 64, 4, 2}, /* sm_80 */
    {163 << 10, 32, 128, 64, 3, 2}, {163 << 10, 64, 128, 64, 3, 2}, {163 << 10, 128, 256, 32, 6, 1},
    {99 << 10, 16, 128, 64, 5, 1}, /* sm_86, sm_89, sm_120 */
    {99 << 10, 32, 128, 64, 4, 1},  {99 << 10, 64, 256, 32, 4, 1},  {99 << 10, 128, 256, 32, 3, 1},
};

/* The ring of stages; for each row of the tile its address and its NaN column. */
static int shared_bytes(const dllm_problem *problem, const dllm_choice *choice, int kernel)
{
    (void)problem;
    if (kernel > 0) return 0;
    return choice->stages * (choice->tile_rows + choice->tile_vocab) * choice->tile_depth * 2 +
           choice->tile_rows * 12;
}

static int64_t row_tiles(const dllm_problem *problem, const dllm_choice *choice)
{
    return (dllm__lines(problem, problem->rows_max) + choice->tile_rows - 1) / choice->tile_rows;
}

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    if (device->compute < 80)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "mma: %s has no bf16 mma.sync and cp.async, sm_80 or later is needed",
                          device->arch);
    if (problem->hidden_type != problem->weight_type || problem->hidden_type == DLLM_FP32)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "mma: hidden and weight must both be bf16 or both fp16");
    if (problem->alignment_bytes < 16)
        return dllm__fail(DLLM_UNSUPPORTED, "mma: rows keep %d bytes of alignment, 16 are needed",
                          problem->alignment_bytes);
    if (shared_bytes(problem, choice, 0) > device->shared_bytes_max)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "mma: %d bytes of shared memory are above the device's %d",
                          shared_bytes(problem, choice, 0), device->shared_bytes_max);
    if (choice->tile_rows > FURTHER_ROWS && !dllm__is_plain(problem))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "mma: a tile of %d rows is above %d, the most with more statistics",
                          choice->tile_rows, FURTHER_ROWS);
    if (choice->split_columns > choice->tile_vocab * TERMS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "mma: a split of %d columns is above 1024 tiles",
                          choice->split_columns);
    if (problem->depth > DEPTH_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "mma: depth %lld is above %d",
                          (long long)problem->depth, DEPTH_MAX);
    if (problem->valid_vocab > INT32_MAX - choice->tile_vocab)
        return dllm__fail(DLLM_UNSUPPORTED, "mma: valid_vocab %lld is above 2^31 - 1 - %d",
                          (long long)problem->valid_vocab, choice->tile_vocab);
    return dllm__check_grid("mma", row_tiles(problem, choice), choice->splits);
}

static const tile *choose_tile(const dllm_problem *problem, const dllm_device *device)
{
    const tile *found = NULL;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        if (tiles[i].shared_bytes_max > device->shared_bytes_max) continue;
        if (found && found->shared_bytes_max != tiles[i].shared_bytes_max) break;
        if (tiles[i].rows > FURTHER_ROWS && !dllm__is_plain(problem)) break;
        found = &tiles[i];
        if (found->rows >= dllm__lines(problem, problem->rows_max)) break;
    }
    return found ? found : &tiles[0]; /* a device with less holds none: legal() says so */
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    const tile *chosen = choose_tile(problem, device);
    choice->tile_rows = chosen->rows;
    choice->tile_vocab = chosen->vocab;
    choice->tile_depth = chosen->depth;
    choice->stages = chosen->stages;
    const dllm_split_rule rule = {
        .vocab = problem->valid_vocab,
        .row_tiles = row_tiles(problem, choice),
        .slots = (int64_t)device->multiprocessors * chosen->blocks_an_sm,
        .columns_step = COLUMNS_STEP,
        .columns_max = chosen->vocab * TERMS_MAX,
        .columns_overhead = 32,
    };
    dllm__split_vocab(choice, &rule);
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    out[0] = (dllm_kernel_spec){.file = "head_mma.cu", .entry = "head_mma"};
    dllm__kernel_define(&out[0], "DLLM_HIDDEN_TYPE", problem->hidden_type);
    dllm__kernel_define(&out[0], "DLLM_WEIGHT_TYPE", problem->weight_type);
    dllm__kernel_define(&out[0], "DLLM_TILE_ROWS", choice->tile_rows);
    dllm__kernel_define(&out[0], "DLLM_TILE_VOCAB", choice->tile_vocab);
    dllm__kernel_define(&out[0], "DLLM_TILE_DEPTH", choice->tile_depth);
    dllm__kernel_define(&out[0], "DLLM_STAGES", choice->stages);
    dllm__define_request(&out[0], problem);
    dllm__combine_spec(&out[1], problem);
    return 2;
}

static dllm_status run(const dllm_plan *plan, const dllm_plan_entry *entry,
                       const dllm_row_call *call, dllm_stream stream)
{
    const dllm_choice *choice = &entry->choice;
    const dllm_grid grid = {0, (unsigned)choice->tile_vocab,
                            shared_bytes(&entry->problem, choice, 0), false};
    const int rows = choice->tile_rows / dllm__copies(&plan->problem);
    return dllm__launch_head(plan, entry, call, rows, grid, stream);
}

static const dllm_tile space_tiles[] = {
    {16, 128, 64, 4}, {16, 128, 64, 5},  {16, 128, 64, 6},  {32, 128, 64, 3},
    {32, 128, 64, 4}, {32, 128, 64, 5},  {64, 128, 64, 3},  {64, 256, 32, 4},
    {64, 256, 64, 5}, {128, 256, 32, 3}, {128, 256, 32, 6}, {128, 256, 64, 4},
};

static const dllm_space space = {
    .revision = 1,
    .tiles = space_tiles,
    .tile_count = sizeof space_tiles / sizeof space_tiles[0],
    .columns_step = COLUMNS_STEP,
    .blocks_an_sm = 1,
    .tensor_percent = 50,
};

/* The warps across a tile each keep a list of a row. */
static dllm_list_shape lists(const dllm_choice *choice)
{
    const int warp_columns = choice->tile_rows <= 32 ? 32 : 64;
    return (dllm_list_shape){choice->tile_vocab / warp_columns, warp_columns};
}

const dllm_family dllm__family_mma = {
    .name = "mma",
    .operation = DLLM_OPERATION_HEAD,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .shared_bytes = shared_bytes,
    .lists = lists,
    .workspace_bytes = dllm__states_workspace,
    .run = run,
    .space = &space,
};
