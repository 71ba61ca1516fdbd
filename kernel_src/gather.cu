/*
 * gather.cu - a packed copy of rows picked by index, for a product that cannot gather by itself
 *
 *     packed[r, h] = source[row_index[r], h] for h < depth, 0 if the index is outside the source
 *     with guidance packed has the lines of pairs.cuh, the unconditional one of source row i being
 *     source row source_rows + i
 *
 * source   (source_rows, depth) elements of DLLM_ELEMENT_BYTES, source_stride apart, any alignment
 * packed   (rows, depth), packed_stride apart; what lies between depth and stride is left alone, as
 *          are rows from the device's count on
 * Grid     as many blocks of 256 threads as packed has lines, a line a block; 16 bytes a thread where
 *          the row's beginnings in source and packed and its length allow, else an element.
 * Shared   none. Barriers none.
 * Source   numerics.md 12
 */
#include "base.cuh"
#include "load.cuh"
#include "pairs.cuh"
#include "row_params.h"

/* Size of an element in bytes: 2 or 4. */
#ifndef DLLM_ELEMENT_BYTES
#define DLLM_ELEMENT_BYTES 2
#endif

constexpr int element_bytes = DLLM_ELEMENT_BYTES;
constexpr int block_threads = 256;

static_assert(element_bytes == 2 || element_bytes == 4, "rows are bf16, fp16 or fp32");

using raw_element = word_of<element_bytes>::type;

/* `from` is nullptr for a row of zeros. */
template <typename T> DLLM_DEVICE void copy_row(T *to, const T *from, int64_t count)
{
    for (int64_t i = threadIdx.x; i < count; i += block_threads) {
        to[i] = from != nullptr ? from[i] : T{};
    }
}

extern "C" __global__ void __launch_bounds__(block_threads)
    gather(const __grid_constant__ dllm_gather_params params)
{
    const int64_t line = blockIdx.x;
    const int64_t row = row_of_line(line);
    if (row >= row_count(params)) return;
    int64_t source = source_row(params.row_index, params.row_index_is_64, params.source_rows, row);
    if (is_unconditional(line) && source >= 0) source += params.source_rows;
    raw_element *to = static_cast<raw_element *>(params.packed) + line * params.packed_stride;
    const raw_element *from = nullptr;
    if (source >= 0) {
        from = static_cast<const raw_element *>(params.source) + source * params.source_stride;
    }
    const int64_t bytes = static_cast<int64_t>(params.depth) * element_bytes;
    const uint64_t alignment = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from) |
                               static_cast<uint64_t>(bytes);
    if (alignment % 16 == 0) {
        copy_row(reinterpret_cast<uint4 *>(to), reinterpret_cast<const uint4 *>(from), bytes / 16);
    } else {
        copy_row(to, from, params.depth);
    }
}
