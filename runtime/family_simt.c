/*
 * family_simt.c - the head families without tensor cores: naive and tiled
 *
 * Both take any mix of types, any alignment and any size on every architecture.
 */
#include "family_list.h"
#include "family_parts.h"

#include "status.h"

enum {
    NAIVE_ROWS = 4, /* a warp each */
    NAIVE_THREADS = 128,
    NAIVE_BLOCKS_AN_SM = 6,
    TILED_THREADS = 256,
    TILED_BLOCKS_AN_SM = 2,
    WARP = 32,
    TERMS_MAX = 1024 /* terms one lane may add into one fp32 sum */
};

static int64_t row_tiles(const dllm_problem *problem, int rows_a_block)
{
    return (problem->rows_max + rows_a_block - 1) / rows_a_block;
}

/* Rows of the run in a tile of the tiled kernel: a tile has their unconditional ones too. */
static int rows_of_tile(const dllm_problem *problem, const dllm_choice *choice)
{
    return choice->tile_rows / dllm__copies(problem);
}

static void define_operands(dllm_kernel_spec *spec, const dllm_problem *problem)
{
    dllm__kernel_define(spec, "DLLM_HIDDEN_TYPE", problem->hidden_type);
    dllm__kernel_define(spec, "DLLM_WEIGHT_TYPE", problem->weight_type);
    dllm__kernel_define(spec, "DLLM_ALIGN_BYTES", problem->alignment_bytes);
}

/* ---- naive ---- */

static dllm_status naive_legal(const dllm_problem *problem, const dllm_device *device,
                               const dllm_choice *choice)
{
    (void)device;
    if (choice->split_columns % WARP || choice->split_columns > WARP * TERMS_MAX)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "naive: a split of %d columns is not a multiple of 32 up to 32768",
                          choice->split_columns);
    return dllm__check_grid("naive", row_tiles(problem, NAIVE_ROWS), choice->splits);
}

static void naive_propose(const dllm_problem *problem, const dllm_device *device,
                          dllm_choice *choice)
{
    choice->tile_rows = NAIVE_ROWS;
    choice->tile_vocab = WARP;
    choice->tile_depth = WARP;
    choice->stages = 1;
    const dllm_split_rule rule = {.vocab = problem->valid_vocab,
                                  .row_tiles = row_tiles(problem, NAIVE_ROWS),
                                  .slots = (int64_t)device->multiprocessors * NAIVE_BLOCKS_AN_SM,
                                  .columns_step = WARP,
                                  .columns_max = WARP * TERMS_MAX,
                                  .columns_overhead = 8};
    dllm__split_vocab(choice, &rule);
}

static int naive_kernels(const dllm_problem *problem, const dllm_choice *choice,
                         dllm_kernel_spec *out)
{
    (void)choice;
    out[0] = (dllm_kernel_spec){.file = "head_naive.cu", .entry = "head_naive"};
    define_operands(&out[0], problem);
    dllm__define_request(&out[0], problem);
    dllm__combine_spec(&out[1], problem);
    return 2;
}

static dllm_status naive_run(const dllm_plan *plan, const dllm_plan_entry *entry,
                             const dllm_row_call *call, dllm_stream stream)
{
    return dllm__launch_head(plan, entry, call, NAIVE_ROWS, (dllm_grid){0, NAIVE_THREADS, 0, false},
                             stream);
}

static const dllm_tile naive_tiles[] = {{NAIVE_ROWS, WARP, WARP, 1}};

static const dllm_space naive_space = {
    .revision = 1,
    .tiles = naive_tiles,
    .tile_count = 1,
    .blocks_an_sm = NAIVE_BLOCKS_AN_SM,
    .products_a_clock = 32,
};

static dllm_list_shape naive_lists(const dllm_choice *choice)
{
    (void)choice;
    return (dllm_list_shape){1, WARP};
}

const dllm_family dllm__family_naive = {
    .name = "naive",
    .operation = DLLM_OPERATION_HEAD,
    .able = &dllm__able_all,
    .legal = naive_legal,
    .propose = naive_propose,
    .kernels = naive_kernels,
    .lists = naive_lists,
    .workspace_bytes = dllm__states_workspace,
    .run = naive_run,
    .space = &naive_space,
};

/* ---- tiled ---- */

static dllm_status tiled_legal(const dllm_problem *problem, const dllm_device *device,
                               const dllm_choice *choice)
{
    (void)device;
    if (choice->split_columns % choice->tile_vocab ||
        choice->split_columns > choice->tile_vocab * TERMS_MAX)
        return dllm__fail(
            DLLM_UNSUPPORTED,
            "tiled: a split of %d columns is not a multiple of the tile's %d, or more "
            "than 1024 tiles",
            choice->split_columns, choice->tile_vocab);
    return dllm__check_grid("tiled", row_tiles(problem, rows_of_tile(problem, choice)),
                            choice->splits);
}

static void tiled_propose(const dllm_problem *problem, const dllm_device *device,
                          dllm_choice *choice)
{
    choice->tile_rows = 64;
    choice->tile_vocab = 64;
    choice->tile_depth = 16;
    choice->stages = 1;
    const dllm_split_rule rule = {.vocab = problem->valid_vocab,
                                  .row_tiles = row_tiles(problem, rows_of_tile(problem, choice)),
                                  .slots = (int64_t)device->multiprocessors * TILED_BLOCKS_AN_SM,
                                  .columns_step = choice->tile_vocab,
                                  .columns_max = choice->tile_vocab * TERMS_MAX,
                                  .columns_overhead = 8};
    dllm__split_vocab(choice, &rule);
}

static int tiled_kernels(const dllm_problem *problem, const dllm_choice *choice,
                         dllm_kernel_spec *out)
{
    out[0] = (dllm_kernel_spec){.file = "head_tiled.cu", .entry = "head_tiled"};
    define_operands(&out[0], problem);
    dllm__define_request(&out[0], problem);
    dllm__kernel_define(&out[0], "DLLM_TILE_ROWS", choice->tile_rows);
    dllm__kernel_define(&out[0], "DLLM_TILE_VOCAB", choice->tile_vocab);
    dllm__kernel_define(&out[0], "DLLM_TILE_DEPTH", choice->tile_depth);
    dllm__combine_spec(&out[1], problem);
    return 2;
}

static dllm_status tiled_run(const dllm_plan *plan, const dllm_plan_entry *entry,
                             const dllm_row_call *call, dllm_stream stream)
{
    return dllm__launch_head(plan, entry, call, rows_of_tile(&plan->problem, &entry->choice),
                             (dllm_grid){0, TILED_THREADS, 0, false}, stream);
}

static const dllm_tile tiled_tiles[] = {
    {32, 128, 16, 1}, {64, 64, 16, 1}, {64, 64, 32, 1}, {64, 128, 16, 1}, {128, 64, 16, 1},
};

static const dllm_space tiled_space = {
    .revision = 1,
    .tiles = tiled_tiles,
    .tile_count = sizeof tiled_tiles / sizeof tiled_tiles[0],
    .blocks_an_sm = TILED_BLOCKS_AN_SM,
    .products_a_clock = 48,
};

static dllm_list_shape tiled_lists(const dllm_choice *choice)
{
    return (dllm_list_shape){1, choice->tile_vocab};
}

const dllm_family dllm__family_tiled = {
    .name = "tiled",
    .operation = DLLM_OPERATION_HEAD,
    .able = &dllm__able_all,
    .legal = tiled_legal,
    .propose = tiled_propose,
    .kernels = tiled_kernels,
    .lists = tiled_lists,
    .workspace_bytes = dllm__states_workspace,
    .run = tiled_run,
    .space = &tiled_space,
};
