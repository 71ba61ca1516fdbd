/*
 * swizzle.cuh - where a 16-byte chunk of a tile lies in shared memory
 *
 * A tile is stored row after row, 64 or 128 bytes each, without padding. A warp touches shared
 * memory 8 chunks at a time, and 8 chunks meet no bank twice only if they lie in 8 different
 * columns of the 128-byte lines that the 32 banks form. ldmatrix wants the same chunk of 8
 * successive rows, which in the plain layout is one column; so each line permutes its chunks.
 */
#ifndef DLLM_SWIZZLE_CUH
#define DLLM_SWIZZLE_CUH

#include "base.cuh"

/**
 * Byte offset of a chunk (16 bytes) of a row; the XOR is its own inverse and stays inside the row,
 * so a row that is written whole still fills whole lines. Digits: chunk of the row, letters: row.
 *
 *   row of 128 bytes, ROW_CHUNKS = 8       row of 64 bytes, ROW_CHUNKS = 4: two rows a line
 *   row  plain     stored                  line  plain      stored
 *   a    01234567  01234567                0     a0123b0123 a0123b0123
 *   b    01234567  10325476                1     c0123d0123 c1032d1032
 *   c    01234567  23016745                2     e0123f0123 e2301f2301
 *   ...                                    3     g0123h0123 g3210h3210
 *   h    01234567  76543210
 *
 * The permutation repeats every 8 rows: rows that are a multiple of 8 apart have the same one, so
 * their offsets differ by rows * ROW_CHUNKS * 16 whatever the chunk.
 */
template <int ROW_CHUNKS> DLLM_DEVICE uint32_t swizzled_offset(int row, int chunk)
{
    static_assert(ROW_CHUNKS == 4 || ROW_CHUNKS == 8, "a row is half a line of banks or one");
    const int line = ROW_CHUNKS == 8 ? row : row / 2;
    return (uint32_t)(row * ROW_CHUNKS + (chunk ^ (line & (ROW_CHUNKS - 1)))) * 16;
}

#endif
