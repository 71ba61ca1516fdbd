/*
 * head_tiled.cu - the head over tiles in shared memory, with ordinary arithmetic
 *
 *     z[r, v] = sum over h of hidden[index(r), h] * weight[v, h], folded into a state a split, row
 *
 * hidden   (source_rows, depth) DLLM_HIDDEN_TYPE, row-major, hidden_stride elements apart
 * weight   (vocab, depth) DLLM_WEIGHT_TYPE, row-major, weight_stride elements apart
 * states   [splits][state_stride]; row r of split s is written when r < row_count, nothing else is
 * Grid     splits * ceil(rows / tile_rows) blocks, block = split * row_tiles + row_tile, so that
 *          blocks that run together share a range of the weight. 256 threads as 16 x 16: thread
 *          (y, x) has tile_rows / 16 neighbouring rows and, of every 64 columns, 4 x .. 4 x + 3.
 *          A row's threads are 16 neighbouring lanes; they merge their states at the end. With
 *          guidance the tile has half as many rows, each followed by its unconditional one.
 * Shared   hidden_tile [2][tile_depth][tile_rows + 4] fp32, then
 *          weight_tile [2][tile_depth][tile_vocab + 4] fp32. Depth is outermost, so that a thread
 *          reads its rows and columns as 16-byte words; 4 floats of padding keep these aligned and
 *          halve the bank conflicts of the stores. What does not exist is zeros.
 * Barriers all threads, one a slice of the depth: slice s + 1 is loaded to registers while slice s
 *          is multiplied, then stored to the other buffer. Without the barrier a thread would
 *          overwrite the slice that a slower one still multiplies.
 * Limits   split_columns a multiple of tile_vocab, at most 1,024 tiles (one fold a tile)
 * Source   numerics.md 2, 6, 11
 */
#include "base.cuh"
#include "griddepcontrol.cuh"
#include "load.cuh"
#include "pairs.cuh"
#include "reduce.cuh"
#include "row_params.h"
#include "state.cuh"

/* Element types: 1 bf16, 2 fp16, 3 fp32. */
#ifndef DLLM_HIDDEN_TYPE
#define DLLM_HIDDEN_TYPE 1
#endif
#ifndef DLLM_WEIGHT_TYPE
#define DLLM_WEIGHT_TYPE 1
#endif
/* Bytes that base pointers and row starts keep: 1, 2, 4, 8 or 16; an element's are a given. */
#ifndef DLLM_ALIGN_BYTES
#define DLLM_ALIGN_BYTES 16
#endif
/* Rows of a tile: 16, 32, 64 or 128. */
#ifndef DLLM_TILE_ROWS
#define DLLM_TILE_ROWS 64
#endif
/* Columns of a tile: 64 or 128. */
#ifndef DLLM_TILE_VOCAB
#define DLLM_TILE_VOCAB 64
#endif
/* Depth of a slice in elements: 8, 16 or 32; shared memory bounds it for large tiles. */
#ifndef DLLM_TILE_DEPTH
#define DLLM_TILE_DEPTH 16
#endif

using hidden_element = element<DLLM_HIDDEN_TYPE>::type;
using weight_element = element<DLLM_WEIGHT_TYPE>::type;
constexpr int align_bytes = DLLM_ALIGN_BYTES;
constexpr int tile_rows = DLLM_TILE_ROWS;
constexpr int tile_vocab = DLLM_TILE_VOCAB;
constexpr int tile_depth = DLLM_TILE_DEPTH;

constexpr int side = 16; /* threads along the rows and along the columns of a tile */
constexpr int block_threads = side * side;
constexpr int thread_rows = tile_rows / side;
constexpr int thread_columns = tile_vocab / side;
constexpr int block_rows = tile_rows / copies; /* of the run; of each a thread has all copies */
constexpr int thread_states = thread_rows / copies;
constexpr int quad = 4; /* elements of a load, columns of a thread in a row of threads */
constexpr int pad = 4;

static_assert(tile_rows == 16 || tile_rows == 32 || tile_rows == 64 || tile_rows == 128,
              "a thread reads 1, 2, 4 or 8 rows as whole words");
static_assert(tile_vocab == 64 || tile_vocab == 128, "a thread has 4 or 8 columns");
static_assert(tile_depth == 8 || tile_depth == 16 || tile_depth == 32, "a slice is whole quads");
static_assert(thread_rows * thread_columns <= 32, "accumulators, states and two slices of operands "
                                                  "must fit the 128 registers of two blocks an SM");
static_assert(thread_rows % copies == 0, "a thread has a row and the one that guides it");
static_assert(align_bytes > 0 && align_bytes <= 16 && (align_bytes & (align_bytes - 1)) == 0,
              "loads come in words of 2, 4, 8 and 16 bytes");

struct tiled_memory {
    alignas(16) float hidden_tile[2][tile_depth][tile_rows + pad];
    alignas(16) float weight_tile[2][tile_depth][tile_vocab + pad];
};

static_assert(sizeof(tiled_memory) <= 48 * 1024, "static shared memory ends at 48 KiB");

/* A thread's share of one operand's slice: quads of some lines, between memory and shared memory.
 */
template <typename T, int LINES> struct slice_share {
    static constexpr int line_quads = tile_depth / quad;
    static constexpr int quads = LINES * line_quads;
    static constexpr int count = ceil_div(quads, block_threads);
    const T *lines[count]; /* nullptr: this line does not exist */
    element_run<T, quad> held[count];
};

/* Line and depth of the thread's i-th quad; a line of LINES or above is nobody's. */
template <typename T, int LINES> DLLM_DEVICE int quad_line(int i)
{
    const int number = i * block_threads + static_cast<int>(threadIdx.x);
    return number / slice_share<T, LINES>::line_quads;
}

template <typename T, int LINES> DLLM_DEVICE int quad_depth()
{
    return static_cast<int>(threadIdx.x) % slice_share<T, LINES>::line_quads * quad;
}

/* A quad at depth h of a line; what lies beyond the depth, or on no line, is zero. */
template <typename T>
DLLM_DEVICE element_run<T, quad> load_quad(const T *line, int64_t h, int64_t depth)
{
    if (line != nullptr && h + quad <= depth) return load_run<quad, align_bytes>(line + h);
    element_run<T, quad> run = {};
    if (line == nullptr) return run;
#pragma unroll
    for (int i = 0; i < quad; i++) {
        if (h + i < depth) run.values[i] = line[h + i];
    }
    return run;
}

template <typename T, int LINES>
DLLM_DEVICE void fetch_slice(slice_share<T, LINES> &share, int64_t slice, int64_t depth)
{
    const int64_t h = slice * tile_depth + quad_depth<T, LINES>();
#pragma unroll
    for (int i = 0; i < share.count; i++)
        share.held[i] = load_quad(share.lines[i], h, depth);
}

template <typename T, int LINES>
DLLM_DEVICE void store_slice(float (&tile)[tile_depth][LINES + pad],
                             const slice_share<T, LINES> &share)
{
    const int depth = quad_depth<T, LINES>();
#pragma unroll
    for (int i = 0; i < share.count; i++) {
        const int line = quad_line<T, LINES>(i);
        if (line >= LINES) continue;
#pragma unroll
        for (int j = 0; j < quad; j++)
            tile[depth + j][line] = to_float(share.held[i].values[j]);
    }
}

using hidden_share = slice_share<hidden_element, tile_rows>;
using weight_share = slice_share<weight_element, tile_vocab>;

/* The thread's hidden lines, by the row index; rows outside the source or beyond the last are none.
 */
DLLM_DEVICE void point_at_rows(hidden_share &share, const dllm_head_params &params,
                               int64_t first_row)
{
    const int64_t rows = row_count(params);
#pragma unroll
    for (int i = 0; i < share.count; i++) {
        const int line = quad_line<hidden_element, tile_rows>(i);
        const int64_t row = first_row + line / copies;
        int64_t source = -1;
        if (line < tile_rows && row < rows) {
            source = source_row(params.row_index, params.row_index_is_64, params.source_rows, row);
        }
        if (line % copies != 0 && source >= 0) source += params.source_rows;
        share.lines[i] = source < 0 ? nullptr
                                    : static_cast<const hidden_element *>(params.hidden) +
                                          source * params.hidden_stride;
    }
}

/* The thread's weight lines of the tile that begins at column `first`; none from `end` on. */
DLLM_DEVICE void point_at_columns(weight_share &share, const dllm_head_params &params,
                                  int64_t first, int64_t end)
{
#pragma unroll
    for (int i = 0; i < share.count; i++) {
        const int line = quad_line<weight_element, tile_vocab>(i);
        const int64_t column = first + line;
        const bool exists = line < tile_vocab && column < end;
        share.lines[i] = exists ? static_cast<const weight_element *>(params.weight) +
                                      column * params.weight_stride
                                : nullptr;
    }
}

using accumulators = float[thread_rows][thread_columns];

DLLM_DEVICE void multiply_slice(accumulators &sums, const tiled_memory &memory, int buffer)
{
    const int x = static_cast<int>(threadIdx.x) % side;
    const int y = static_cast<int>(threadIdx.x) / side;
#pragma unroll
    for (int k = 0; k < tile_depth; k++) {
        const element_run<float, thread_rows> rows =
            load_run<thread_rows, 16>(&memory.hidden_tile[buffer][k][y * thread_rows]);
#pragma unroll
        for (int group = 0; group < thread_columns / quad; group++) {
            const element_run<float, quad> columns =
                load_run<quad, 16>(&memory.weight_tile[buffer][k][(group * side + x) * quad]);
#pragma unroll
            for (int i = 0; i < thread_rows * quad; i++) {
                float &sum = sums[i / quad][group * quad + i % quad];
                sum = fmaf(rows.values[i / quad], columns.values[i % quad], sum);
            }
        }
    }
}

/* The products of one tile, over the whole depth. */
DLLM_DEVICE void multiply_tile(accumulators &sums, tiled_memory &memory, hidden_share &hidden,
                               weight_share &weight, int64_t depth)
{
    const int64_t slices = ceil_div(depth, static_cast<int64_t>(tile_depth));
    fetch_slice(hidden, 0, depth);
    fetch_slice(weight, 0, depth);
    for (int64_t slice = 0; slice < slices; slice++) {
        const int buffer = static_cast<int>(slice % 2);
        store_slice(memory.hidden_tile[buffer], hidden);
        store_slice(memory.weight_tile[buffer], weight);
        __syncthreads();
        if (slice + 1 < slices) {
            fetch_slice(hidden, slice + 1, depth);
            fetch_slice(weight, slice + 1, depth);
        }
        multiply_slice(sums, memory, buffer);
    }
    __syncthreads(); /* the next tile begins with a buffer that may still be read */
}

/* The thread's i-th row of the run. */
DLLM_DEVICE int64_t thread_row(int64_t first_row, int i)
{
    return first_row + threadIdx.x / side * thread_states + i;
}

DLLM_DEVICE void copy_sums(float (&to)[thread_columns], const float (&from)[thread_columns])
{
#pragma unroll
    for (int i = 0; i < thread_columns; i++)
        to[i] = from[i];
}

DLLM_DEVICE void fold_split(row_state (&states)[thread_states], const dllm_head_params &params,
                            tiled_memory &memory, int64_t first_row, int64_t split)
{
    const int32_t x = static_cast<int32_t>(threadIdx.x) % side;
    const int64_t begin = split * params.split_columns;
    const int64_t end = smaller<int64_t>(params.valid_vocab, begin + params.split_columns);
    hidden_share hidden;
    weight_share weight;
    point_at_rows(hidden, params, first_row);
    for (int64_t first = begin; first < end; first += tile_vocab) {
        accumulators sums = {};
        point_at_columns(weight, params, first, end);
        multiply_tile(sums, memory, hidden, weight, params.depth);
#pragma unroll
        for (int i = 0; i < thread_states; i++) {
            const row_context context = find_context(params, thread_row(first_row, i), split);
            state_fold_lines<thread_columns, quad, side * quad>(
                states[i], sums[i * copies], static_cast<int32_t>(first) + x * quad,
                static_cast<int32_t>(end), context,
                [&](float(&u)[thread_columns]) { copy_sums(u, sums[i * copies + 1]); });
            list_settle<side, tile_vocab>(context);
        }
    }
}

/* More statistics want the registers of a whole SM. */
extern "C" __global__ void __launch_bounds__(block_threads, asks_further ? 1 : 2)
    head_tiled(const __grid_constant__ dllm_head_params params)
{
    __shared__ tiled_memory memory;
    const uint32_t row_tiles = static_cast<uint32_t>(ceil_div<int64_t>(params.rows, block_rows));
    const int64_t split = blockIdx.x / row_tiles; /* 32-bit division: row_tiles <= grid */
    const int64_t row_tile = blockIdx.x % row_tiles;
    const int64_t first_row = row_tile * block_rows;
    const int64_t rows = row_count(params);
    if (first_row >= rows) return;

    row_state states[thread_states];
#pragma unroll
    for (int i = 0; i < thread_states; i++) {
        states[i] = state_neutral();
        list_begin(find_context(params, thread_row(first_row, i), split));
    }
    fold_split(states, params, memory, first_row, split);
    griddepcontrol_launch_dependents();
#pragma unroll
    for (int i = 0; i < thread_states; i++) {
        const int64_t row = thread_row(first_row, i);
        const row_state merged = lanes_merge<side>(states[i], find_context(params, row, split));
        if (threadIdx.x % side == 0 && row < rows) {
            store_state(params, split * params.state_stride + row, merged);
        }
    }
}
