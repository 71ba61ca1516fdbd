/*
 * head_mma.cu - head on tensor cores by mma.sync: bf16 or fp16 operands, fp32 sums, sm_80 and later
 *
 *     z[r,v] = sum over h of hidden[r,h] * weight[v,h]      states[split,r] = fold of z[r,v] over
 *                                                           the split's v < valid_vocab
 * hidden   (source_rows, depth), type DLLM_HIDDEN_TYPE, row starts 16-byte aligned
 * weight   (vocab, depth), the same type, row starts 16-byte aligned
 * states   (splits, rows) at state_stride; a row outside the source gets that of a row of zeros
 *          (combine flags it), a split without candidates the neutral state
 *
 * Grid     row tiles * splits blocks of tile_vocab threads; a block owns one row tile and one split
 *          and walks the tiles of the split. See place_block for the order.
 * Warps    rows of hidden are M, rows of weight are N. A warp owns warp_rows x warp_columns of the
 *          tile (16 or 32 rows x 32 columns, else half the rows x 64 columns), a lane of it the
 *          rows g, g + 8 of each 16 and the columns 2t, 2t + 1 of each 8. So a row's columns stay
 *          with a lane from tile to tile: its running states live in registers, and lanes and warps
 *          meet once, at the end of the split. With guidance the rows of a tile are the lines of
 *          pairs.cuh: rows g and g + 8 of a lane are a row and its unconditional one.
 * Pipeline one flat walk over (tile, depth step) feeds a ring of stages by cp.async, stages - 1
 *          steps ahead of the products, so that the next tile arrives while this one is folded.
 *          Beyond depth, rows, source and the split's end the copy writes zeros and reads nothing.
 * Shared   dynamic, bytes; shared_bytes is what the host passes
 *              0                          stages x [hidden tile | weight tile], rows of
 *                                         tile_depth * 2 bytes, chunks placed by swizzled_offset
 *              stages * stage_bytes       tile_rows addresses of hidden rows, nullptr for zeros
 *              ... + tile_rows * 8        tile_rows columns: the lowest with NaN of a row
 *          stage_bytes = (tile_rows + tile_vocab) * tile_depth * 2
 *          shared_bytes = stages * stage_bytes + tile_rows * 12
 *          After the last product the ring holds the states of the warps.
 * Barriers one __syncthreads a step: the stage to be read next has arrived from every thread, and
 *          the stage read last may be written again.
 * Limits   (the host's, beside the static asserts) a split has at most 1,024 tiles, so that a lane
 *          adds at most 1,024 tile sums into one; valid_vocab <= 2^31 - 1 - tile_vocab. A split need
 *          not be a multiple of the tile: its last tile then multiplies zeros, and reads nothing.
 * Source   PTX ISA: mma.m16n8k16, ldmatrix, cp.async
 */
#include "base.cuh"
#include "cp_async.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "mma.cuh"
#include "pairs.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "state.cuh"
#include "swizzle.cuh"

#ifndef DLLM_HIDDEN_TYPE
#define DLLM_HIDDEN_TYPE 1 /* 1 bf16, 2 fp16 */
#endif
#ifndef DLLM_WEIGHT_TYPE
#define DLLM_WEIGHT_TYPE 1 /* that of hidden */
#endif
#ifndef DLLM_TILE_ROWS
#define DLLM_TILE_ROWS 64 /* rows of hidden a block: 16, 32, 64 or 128 */
#endif
#ifndef DLLM_TILE_VOCAB
#define DLLM_TILE_VOCAB 128 /* rows of weight a tile, and threads a block: 64, 128 or 256 */
#endif
#ifndef DLLM_TILE_DEPTH
#define DLLM_TILE_DEPTH 64 /* elements of depth a step: 32 or 64 */
#endif
#ifndef DLLM_STAGES
#define DLLM_STAGES 4 /* steps the ring holds: 2 .. 8 */
#endif

constexpr int operand_type = DLLM_HIDDEN_TYPE;
constexpr int tile_rows = DLLM_TILE_ROWS;
constexpr int tile_vocab = DLLM_TILE_VOCAB;
constexpr int tile_depth = DLLM_TILE_DEPTH;
constexpr int stages = DLLM_STAGES;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "head_mma needs sm_80: older GPUs have neither cp.async nor mma.sync of bf16"
#endif
static_assert(operand_type == 1 || operand_type == 2, "mma.sync takes operands of 16 bits");
static_assert(operand_type == DLLM_WEIGHT_TYPE, "mma.sync takes operands of one type");
static_assert(tile_rows == 16 || tile_rows == 32 || tile_rows == 64 || tile_rows == 128,
              "warps cut the rows of a tile into blocks of 16");
static_assert(tile_vocab == 64 || tile_vocab == 128 || tile_vocab == 256,
              "warps cut the columns of a tile into runs of 32 or 64");
static_assert(tile_rows <= tile_vocab, "two warps of 64 x 64 run out of registers on sm_120");
static_assert(tile_depth == 32 || tile_depth == 64,
              "a row of a tile is half a line of banks or one");
static_assert(stages >= 2 && stages <= 8, "one stage is read while another is filled");

/* the part of a tile that a warp multiplies, in blocks of 16 x 16 a fragment */
constexpr int warp_rows = tile_rows <= 32 ? tile_rows : tile_rows / 2;
constexpr int warp_columns = tile_rows <= 32 ? 32 : 64;
constexpr int warps_across = tile_vocab / warp_columns;
constexpr int threads = warp_lanes * (tile_rows / warp_rows) * warps_across;
constexpr int row_blocks = warp_rows / 16;
constexpr int column_blocks = warp_columns / 16;
constexpr int block_rows = tile_rows / copies;     /* of the run */
constexpr int lane_rows = 2 * row_blocks / copies; /* that a lane folds */
constexpr int lane_columns = 4 * column_blocks;
constexpr int inner_steps = tile_depth / 16;
static_assert(threads == tile_vocab, "the host launches tile_vocab threads");

/* how the threads copy a stage: a chunk is 16 bytes, a pass takes pass_rows rows */
constexpr int chunk_elements = 8;
constexpr int row_chunks = tile_depth / chunk_elements;
constexpr int pass_rows = threads / row_chunks;
constexpr int weight_passes = tile_vocab / pass_rows;
constexpr int hidden_passes = ceil_div(tile_rows, pass_rows);
constexpr int passes = weight_passes + hidden_passes;
constexpr int parts = inner_steps - 1;

/* shared memory, bytes */
constexpr int row_bytes = tile_depth * 2;
constexpr int hidden_bytes = tile_rows * row_bytes;
constexpr int stage_bytes = hidden_bytes + tile_vocab * row_bytes;
constexpr int ring_bytes = stages * stage_bytes;
static_assert(warps_across * tile_rows * sizeof(row_state) <= ring_bytes,
              "the states of the warps take the ring's place");

/* Row tiles whose blocks run side by side: their 12 x tile_rows x depth of hidden stay in L2 (12 MB
 * of a head of depth 4,096) while the weight passes by once a group; 12 divides 84, 108 and 132. */
constexpr uint32_t row_group = 12;

extern __shared__ __align__(128) unsigned char shared_memory[];

/** What a block does: a row tile, and columns column_begin .. column_end - 1 of its split. */
struct block_place {
    int32_t row_tile;
    int32_t split;
    int32_t column_begin;
    int32_t column_end;
};

/** The next step to be copied, as one thread sees it. */
struct load_walk {
    const char *weight; /* this thread's chunk of the next pass over weight */
    int32_t column;     /* first column of the tile; at the split's end nothing is left to copy */
    int32_t depth;      /* first element of the step */
    uint32_t stage;     /* shared address of the stage to fill; the one after it is being read */
};

struct fragments {
    uint32_t hidden[row_blocks][4];
    uint32_t weight[column_blocks][4];
};

struct accumulators {
    float value[row_blocks][2 * column_blocks][4];
};

/* Blocks that share columns are neighbours and read the same weight at the same time; row tiles
 * beyond the first row_group follow after all splits of that group. */
DLLM_DEVICE block_place place_block(const dllm_head_params &params)
{
    const auto row_tiles = static_cast<uint32_t>(ceil_div<int64_t>(params.rows, block_rows));
    const uint32_t group_blocks = row_group * (gridDim.x / row_tiles);
    const uint32_t first = blockIdx.x / group_blocks * row_group;
    const uint32_t inside = blockIdx.x % group_blocks;
    const uint32_t members = smaller(row_group, row_tiles - first);
    block_place place;
    place.row_tile = static_cast<int32_t>(first + inside % members);
    place.split = static_cast<int32_t>(inside / members);
    const int64_t begin = static_cast<int64_t>(place.split) * params.split_columns;
    place.column_begin = static_cast<int32_t>(smaller<int64_t>(begin, params.valid_vocab));
    place.column_end =
        static_cast<int32_t>(smaller<int64_t>(begin + params.split_columns, params.valid_vocab));
    return place;
}

DLLM_DEVICE const char **row_addresses()
{
    return reinterpret_cast<const char **>(shared_memory + ring_bytes);
}

DLLM_DEVICE int32_t *nan_columns()
{
    return reinterpret_cast<int32_t *>(shared_memory + ring_bytes + tile_rows * sizeof(char *));
}

/* Once a block: every step reads the addresses from shared memory, which costs no registers. */
DLLM_DEVICE void find_rows(const dllm_head_params &params, int32_t row_tile)
{
    const int64_t rows = row_count(params);
    for (int r = static_cast<int>(threadIdx.x); r < tile_rows; r += threads) {
        const int64_t row = static_cast<int64_t>(row_tile) * block_rows + row_of_line(r);
        int64_t source = row < rows ? source_row(params.row_index, params.row_index_is_64,
                                                 params.source_rows, row)
                                    : -1;
        if (is_unconditional(r) && source >= 0) source += params.source_rows;
        const char *hidden = static_cast<const char *>(params.hidden);
        nan_columns()[r] = DLLM_NO_COLUMN;
        row_addresses()[r] = source < 0 ? nullptr : hidden + source * params.hidden_stride * 2;
    }
    __syncthreads();
}

DLLM_DEVICE uint32_t next_stage(uint32_t stage, uint32_t ring)
{
    stage += stage_bytes;
    return stage == ring + ring_bytes ? ring : stage;
}

/* Copies `bytes` of a chunk and zeros the rest. NOTE: a copy of a part of 16 bytes would still fetch
 * all of them, beyond the end of the row; the one chunk that depth ends in goes by elements. */
DLLM_DEVICE void copy_chunk(uint32_t target, const char *source, int bytes)
{
    if (bytes == 0 || bytes == 16) {
        cp_async_16(target, source, bytes != 0);
        return;
    }
    const auto *elements = reinterpret_cast<const uint16_t *>(source);
    for (int i = 0; i < chunk_elements; i++) {
        st_shared_16(target + i * 2, i * 2 < bytes ? elements[i] : static_cast<uint16_t>(0));
    }
}

/* Copies this thread's chunk of one pass; `bytes` of it lie inside depth. */
DLLM_DEVICE void copy_pass(load_walk &walk, const dllm_head_params &params, int32_t column_end,
                           int pass, int bytes)
{
    const int row = static_cast<int>(threadIdx.x) / row_chunks;
    const int chunk = static_cast<int>(threadIdx.x) % row_chunks;
    if (pass < weight_passes) {
        const int column = pass * pass_rows + row;
        copy_chunk(walk.stage + hidden_bytes + swizzled_offset<row_chunks>(column, chunk),
                   walk.weight, walk.column + column < column_end ? bytes : 0);
        walk.weight += params.weight_stride * (pass_rows * 2);
        return;
    }
    const int hidden_row = (pass - weight_passes) * pass_rows + row;
    if (tile_rows % pass_rows != 0 && hidden_row >= tile_rows) return;
    const char *address = row_addresses()[hidden_row];
    copy_chunk(walk.stage + swizzled_offset<row_chunks>(hidden_row, chunk),
               address + (walk.depth + chunk * chunk_elements) * 2, address == nullptr ? 0 : bytes);
}

/* Copies one of the `parts` of the step. The last step of a depth that is no multiple of the tile
 * comes whole with part 0: it is rare, and its byte counts cost four instructions a copy. */
DLLM_DEVICE void copy_part(load_walk &walk, const dllm_head_params &params, int32_t column_end,
                           int part)
{
    if (walk.column >= column_end) return;
    const int left = params.depth - walk.depth;
    if (left >= tile_depth) {
#pragma unroll
        for (int pass = part * passes / parts; pass < (part + 1) * passes / parts; pass++) {
            copy_pass(walk, params, column_end, pass, 16);
        }
    } else if (part == 0) {
        const int chunk = static_cast<int>(threadIdx.x) % row_chunks;
        const int bytes = smaller(max((left - chunk * chunk_elements) * 2, 0), 16);
#pragma unroll 1
        for (int pass = 0; pass < passes; pass++) {
            copy_pass(walk, params, column_end, pass, bytes);
        }
    }
}

/* This thread's chunk of the first weight row of the walk's step. */
DLLM_DEVICE const char *weight_chunk(const load_walk &walk, const dllm_head_params &params)
{
    const int row = static_cast<int>(threadIdx.x) / row_chunks;
    const int chunk = static_cast<int>(threadIdx.x) % row_chunks;
    const int64_t element = (walk.column + static_cast<int64_t>(row)) * params.weight_stride +
                            walk.depth + chunk * chunk_elements;
    return static_cast<const char *>(params.weight) + element * 2;
}

/* Closes the step's group, empty at the end of the split, and moves on. */
DLLM_DEVICE void next_step(load_walk &walk, const dllm_head_params &params, uint32_t ring)
{
    cp_async_commit_group();
    walk.stage = next_stage(walk.stage, ring);
    walk.depth += tile_depth;
    if (walk.depth >= params.depth) {
        walk.depth = 0;
        walk.column += tile_vocab;
    }
    walk.weight = weight_chunk(walk, params);
}

/* First row of the tile of a thread's warp. */
DLLM_DEVICE int warp_row(int thread)
{
    return thread / warp_lanes / warps_across * warp_rows;
}

/* First column of the tile of a thread's warp. */
DLLM_DEVICE int warp_column(int thread)
{
    return thread / warp_lanes % warps_across * warp_columns;
}

/* The tile's line of a lane's r-th row. */
DLLM_DEVICE int lane_line(int thread, int r)
{
    return warp_row(thread) + r * copies * 8 + thread % warp_lanes / 4;
}

/* threadIdx.x, read here and now: what the fold makes of it would else be computed before the
 * loop and held, and the largest tile has no register left for it. */
DLLM_DEVICE int thread_index_again()
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* Operands of one m16n8k16 step: matrices of 8 x 8 in the order in which mma.cuh wants them, for
 * hidden down the rows first, for weight along the depth first. */
DLLM_DEVICE void load_fragments(fragments &out, uint32_t stage, int inner)
{
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % warp_lanes;
    const uint32_t hidden =
        stage + swizzled_offset<row_chunks>(warp_row(thread) + lane % 16, 2 * inner + lane / 16);
    const uint32_t weight =
        stage + hidden_bytes +
        swizzled_offset<row_chunks>(warp_column(thread) + lane / 16 * 8 + lane % 8,
                                    2 * inner + lane / 8 % 2);
#pragma unroll
    for (int i = 0; i < row_blocks; i++) {
        ldmatrix_x4(out.hidden[i], hidden + static_cast<uint32_t>(i * 16 * row_bytes));
    }
#pragma unroll
    for (int j = 0; j < column_blocks; j++) {
        ldmatrix_x4(out.weight[j], weight + static_cast<uint32_t>(j * 16 * row_bytes));
    }
}

DLLM_DEVICE void multiply(accumulators &sums, const fragments &in)
{
#pragma unroll
    for (int i = 0; i < row_blocks; i++) {
#pragma unroll
        for (int j = 0; j < 2 * column_blocks; j++) {
            mma_m16n8k16<operand_type>(sums.value[i][j], in.hidden[i], in.weight[j / 2][j % 2 * 2],
                                       in.weight[j / 2][j % 2 * 2 + 1]);
        }
    }
}

/* The context of a lane's r-th row. */
DLLM_DEVICE row_context lane_context(const dllm_head_params &params, const block_place &place,
                                     int thread, int r)
{
    const int row = row_of_line(lane_line(thread, r));
    return find_context(params, static_cast<int64_t>(place.row_tile) * block_rows + row,
                        place.split * warps_across + warp_column(thread) / warp_columns);
}

/* A lane's logits of the r-th line that it has of each 16-column block's fragments. */
DLLM_DEVICE void take_line(float (&z)[lane_columns], const accumulators &sums, int line)
{
#pragma unroll
    for (int j = 0; j < lane_columns; j++) {
        z[j] = sums.value[line / 2][j / 2][line % 2 * 2 + j % 2];
    }
}

/* column: the tile's first; from the place's end on there is no candidate. NaN columns, hardly ever
 * needed, are kept in shared memory. */
DLLM_DEVICE void fold_tile(row_state (&states)[lane_rows], const dllm_head_params &params,
                           const block_place &place, const accumulators &sums, int32_t column)
{
    const int thread = thread_index_again();
    const int32_t first = column + warp_column(thread) + thread % 4 * 2;
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        float z[lane_columns];
        take_line(z, sums, r * copies);
        row_state &state = states[r];
        const row_context context = lane_context(params, place, thread, r);
        state_fold_lines<lane_columns, 2, 8>(
            state, z, first, place.column_end, context,
            [&](float(&u)[lane_columns]) { take_line(u, sums, r * copies + 1); });
        list_settle<4, warp_columns>(context);
        if (state.nan_column != DLLM_NO_COLUMN) {
            atomicMin(&nan_columns()[lane_line(thread, r)], state.nan_column);
        }
        state.nan_column = DLLM_NO_COLUMN;
    }
}

/* Lanes of a quad share rows, then the warps across the tile do; in shared memory the states lie
 * (warps_across, tile_rows). */
DLLM_DEVICE void store_states(const dllm_head_params &params, const block_place &place,
                              row_state (&states)[lane_rows])
{
    const int thread = thread_index_again();
    row_state *shares = reinterpret_cast<row_state *>(shared_memory);
    cp_async_wait_group<0>();
    __syncthreads(); /* every warp has read its last stage: the ring is free */
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        states[r].nan_column = nan_columns()[lane_line(thread, r)];
        const row_state merged = lanes_merge<4>(states[r], lane_context(params, place, thread, r));
        if (thread % 4 == 0) {
            shares[warp_column(thread) / warp_columns * tile_rows + lane_line(thread, r)] = merged;
        }
    }
    __syncthreads();
    const int64_t rows = row_count(params);
    for (int r = thread; r < block_rows; r += threads) {
        const int64_t row = static_cast<int64_t>(place.row_tile) * block_rows + r;
        const row_context context = find_context(params, row, 0);
        row_state merged = shares[has_guidance ? line_of_row(r) : r];
        for (int warp = 1; warp < warps_across; warp++) {
            merged = state_merge(
                merged, shares[warp * tile_rows + (has_guidance ? line_of_row(r) : r)], context);
        }
        if (row < rows) store_state(params, place.split * params.state_stride + row, merged);
    }
}

/*
 * The fragments of an inner step are loaded while those before it are multiplied, across the end of
 * a step and of a tile. The stage freed by the barrier of the step before is filled in `parts`, all
 * of them before this step's barrier, whose wait counts their group.
 */
extern "C" __global__
__launch_bounds__(threads, 1) void head_mma(const __grid_constant__ dllm_head_params params)
{
    const block_place place = place_block(params);
    if (static_cast<int64_t>(place.row_tile) * block_rows >= row_count(params)) return;
    const uint32_t ring = shared_address(shared_memory);
    find_rows(params, place.row_tile);

    load_walk walk = {nullptr, place.column_begin, 0, ring};
    walk.weight = weight_chunk(walk, params);
#pragma unroll 1
    for (int step = 0; step < stages - 1; step++) {
#pragma unroll
        for (int part = 0; part < parts; part++) {
            copy_part(walk, params, place.column_end, part);
        }
        next_step(walk, params, ring);
    }

    row_state states[lane_rows];
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        states[r] = state_neutral();
        list_begin(lane_context(params, place, static_cast<int>(threadIdx.x), r));
    }
    fragments operands[2];
    cp_async_wait_group<stages - 2>();
    __syncthreads();
    load_fragments(operands[0], next_stage(walk.stage, ring), 0);
#pragma unroll 1
    for (int32_t column = place.column_begin; column < place.column_end; column += tile_vocab) {
        accumulators sums = {};
#pragma unroll 1
        for (int32_t depth = 0; depth < params.depth; depth += tile_depth) {
#pragma unroll
            for (int inner = 0; inner < inner_steps; inner++) {
                if (inner == inner_steps - 1) {
                    cp_async_wait_group<stages - 2>();
                    __syncthreads();
                }
                load_fragments(operands[(inner + 1) % 2], next_stage(walk.stage, ring),
                               (inner + 1) % inner_steps);
                if (inner < parts) copy_part(walk, params, place.column_end, inner);
                if (inner == parts - 1) next_step(walk, params, ring);
                multiply(sums, operands[inner % 2]);
            }
        }
        fold_tile(states, params, place, sums, column);
    }
    griddepcontrol_launch_dependents();
    store_states(params, place, states);
}
