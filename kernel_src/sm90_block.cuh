/*
 * sm90_block.cuh - what a block of head_sm90 works on, and where it lies in shared memory
 *
 * The tile that a kernel is made for, the units of work and their order, the ring of stages. The map of
 * the shared memory is drawn in head_sm90.cu.
 */
#ifndef DLLM_SM90_BLOCK_CUH
#define DLLM_SM90_BLOCK_CUH

#include "base.cuh"
#include "load.cuh"
#include "pairs.cuh"
#include "sm90_params.h"
#include "state.cuh"

#ifndef DLLM_HIDDEN_TYPE
#define DLLM_HIDDEN_TYPE 1 /* 1 bf16, 2 fp16 */
#endif
#ifndef DLLM_WEIGHT_TYPE
#define DLLM_WEIGHT_TYPE 1 /* that of hidden */
#endif
#ifndef DLLM_TILE_ROWS
#define DLLM_TILE_ROWS 128 /* rows of hidden a tile: 64, 128 or 192 */
#endif
#ifndef DLLM_TILE_VOCAB
#define DLLM_TILE_VOCAB 192 /* rows of weight a tile: 128 or 192 */
#endif
#ifndef DLLM_GROUPS
#define DLLM_GROUPS 2 /* consuming warpgroups: 2, or 3 side by side */
#endif
#ifndef DLLM_TAKE_TURNS
#define DLLM_TAKE_TURNS 1 /* 1: a warpgroup has whole tiles, in turn; 0: each has its rows of all */
#endif

constexpr int operand_type = DLLM_HIDDEN_TYPE;
constexpr int tile_rows = DLLM_TILE_ROWS;
constexpr int tile_vocab = DLLM_TILE_VOCAB;

static_assert(operand_type == 1 || operand_type == 2, "wgmma takes operands of 16 bits");
static_assert(operand_type == DLLM_WEIGHT_TYPE, "wgmma takes operands of one type");
static_assert(tile_rows % 64 == 0 && tile_rows > 0, "a product has 64 rows");
static_assert(tile_vocab == 128 || tile_vocab == 192, "widths of wgmma.cuh, whole boxes");

constexpr int groups = DLLM_GROUPS;
constexpr int turns = DLLM_TAKE_TURNS ? groups : 1; /* tiles in work at a time */
constexpr int parts = groups / turns;               /* warpgroups that share a tile's rows */
constexpr int part_rows = tile_rows / parts;
static_assert(turns <= 2, "turns are between two");
static_assert(tile_rows % (64 * parts) == 0, "a warpgroup has blocks of 64 rows");

constexpr int row_blocks = part_rows / 64;
constexpr int lane_rows = 2 * row_blocks / copies; /* that a lane folds */
constexpr int lane_columns = tile_vocab / 4;
constexpr int group_threads = 128;
constexpr int block_threads = DLLM_SM90_THREADS(groups);
constexpr int step_depth = DLLM_SM90_STEP_DEPTH;
constexpr int inner_steps = step_depth / 16;
constexpr uint32_t line_bytes = DLLM_SM90_LINE_BYTES;
constexpr uint32_t box_bytes = DLLM_SM90_BOX_ROWS * line_bytes;

/* with the producer's as many as the warpgroups were launched with: 3 x 168 or 4 x 128 */
constexpr int consumer_registers = groups == 2 ? 240 : 160;
constexpr int producer_registers = groups == 2 ? 24 : 32;
static_assert(row_blocks * tile_vocab / 2 + 40 <= consumer_registers, "accumulators must fit");

/* shared memory, bytes */
constexpr uint32_t empty_at = 8 * DLLM_SM90_STAGES_MAX;
constexpr uint32_t turn_at = 2 * empty_at;
constexpr uint32_t shares_full_at = turn_at + 16;
constexpr uint32_t shares_empty_at = shares_full_at + 8;
constexpr uint32_t rows_at = shares_empty_at + 8;
constexpr uint32_t shares_at = DLLM_SM90_BARRIER_BYTES;
constexpr uint32_t nan_columns_at = shares_at + tile_rows * sizeof(row_state);
constexpr uint32_t extras_at = nan_columns_at + 2 * tile_rows * sizeof(int32_t);
constexpr uint32_t ring_at = DLLM_SM90_RING_AT(tile_rows, turns, extra_words);
static_assert(extras_at + lane_rows * groups * group_threads * extra_words * 4 <= ring_at,
              "what lanes keep must fit");
static_assert(rows_at + 4 <= shares_at, "barriers and the row count must fit");

/* Row tiles whose units run side by side: their 12 x tile_rows x depth of hidden stay in L2 while
 * the weight passes by once a group, each part of it read by 12 blocks at a time; 12 divides 132. */
constexpr uint32_t row_group = 12;

extern __shared__ __align__(1024) unsigned char shared_memory[];

/** A row tile, and the columns of a split. */
struct unit_place {
    int32_t
        row; /* its first; with guidance a line of pairs.cuh, as all rows but of states are here */
    int32_t split;
    int32_t column_begin;
    int32_t column_end;
};

/** A stage of the ring and the parity of its barriers' phase in this round. */
struct ring_place {
    uint32_t stage;
    uint32_t parity;
};

/** What a lane keeps of a row in registers; the rest is in shared memory. */
struct lane_state {
    float max;
    float sum;
    int32_t column;
};

struct accumulators {
    float value[row_blocks][tile_vocab / 2];
};

DLLM_DEVICE uint32_t shared_base()
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared_memory));
}

DLLM_DEVICE row_state *shares()
{
    return reinterpret_cast<row_state *>(shared_memory + shares_at);
}

/* A value that is the same in all lanes of a warp, for a compiler that cannot see it: what follows from
 * it then takes uniform registers, as copies and products want it. All lanes call. */
template <typename T> DLLM_DEVICE T uniform(T value)
{
    return __shfl_sync(whole_warp, value, 0);
}

/* Rows of the run, found once a block: in shared memory it costs no register. */
DLLM_DEVICE int32_t &found_rows()
{
    return *reinterpret_cast<int32_t *>(shared_memory + rows_at);
}

DLLM_DEVICE int32_t run_rows()
{
    return uniform(found_rows());
}

/* The calling warpgroup's number. */
DLLM_DEVICE uint32_t warp_group()
{
    return uniform(threadIdx.x / group_threads);
}

DLLM_DEVICE uint32_t row_tile_count()
{
    return static_cast<uint32_t>(ceil_div(run_rows(), tile_rows));
}

/* The lowest NaN column of each row of the tile, as far as the thread's warpgroup saw it. */
DLLM_DEVICE int32_t *nan_columns(int thread)
{
    return reinterpret_cast<int32_t *>(shared_memory + nan_columns_at) +
           thread / group_threads * part_rows;
}

/* Units that share columns are neighbours and read the same weight at the same time; row tiles
 * beyond the first row_group follow after all splits of that group. From round to round a block has
 * another row tile: the last one may be less work. */
DLLM_DEVICE unit_place place_unit(const dllm_sm90_params &params, uint32_t unit)
{
    const uint32_t group_units = row_group * static_cast<uint32_t>(params.splits);
    const uint32_t first = unit / group_units * row_group;
    const uint32_t inside = unit % group_units;
    const uint32_t members = smaller(row_group, row_tile_count() - first);
    const uint32_t split = inside / members;
    const uint32_t round =
        split / (gridDim.x / members); /* no grid has fewer blocks than members */
    unit_place place;
    place.row = static_cast<int32_t>(first + (inside + round) % members) * tile_rows;
    place.split = static_cast<int32_t>(split);
    place.column_begin = place.split * params.split_columns;
    place.column_end =
        place.column_begin + smaller(params.split_columns, params.valid_vocab - place.column_begin);
    return place;
}

DLLM_DEVICE uint32_t unit_count(const dllm_sm90_params &params)
{
    return row_tile_count() * static_cast<uint32_t>(params.splits);
}

DLLM_DEVICE uint32_t stage_bytes(const dllm_sm90_params &params)
{
    return static_cast<uint32_t>(params.hidden_rows + tile_vocab) * line_bytes;
}

DLLM_DEVICE ring_place place_step(const dllm_sm90_params &params, uint32_t step)
{
    const auto stages = static_cast<uint32_t>(params.stages);
    return {step % stages, step / stages % 2};
}

DLLM_DEVICE void next_stage(ring_place &place, const dllm_sm90_params &params)
{
    place.stage++;
    if (place.stage == static_cast<uint32_t>(params.stages)) {
        place.stage = 0;
        place.parity ^= 1;
    }
}

#endif
