/*
 * pairs.cuh - guidance: where the lines of a row lie, its own and its unconditional one
 *
 * Kernels of guided rows multiply two lines a row. In packed memory, and in the tiles of the tensor
 * cores, they lie in groups of 16: 8 rows, then the same 8 unconditionally. So one lane of an mma
 * fragment has both, its rows g and g + 8. Without guidance a row is one line, and the same number.
 */
#ifndef DLLM_PAIRS_CUH
#define DLLM_PAIRS_CUH

#include "base.cuh"
#include "request.cuh"

/* Lines of a row. */
constexpr int copies = has_guidance ? 2 : 1;
constexpr int group_rows = 8;

/** The line of a row; its unconditional one lies group_rows behind it. */
template <typename T> DLLM_DEVICE constexpr T line_of_row(T row)
{
    if constexpr (has_guidance) return row / group_rows * (2 * group_rows) + row % group_rows;
    return row;
}

template <typename T> DLLM_DEVICE constexpr T row_of_line(T line)
{
    if constexpr (has_guidance) return line / (2 * group_rows) * group_rows + line % group_rows;
    return line;
}

template <typename T> DLLM_DEVICE constexpr bool is_unconditional(T line)
{
    return has_guidance && line % (2 * group_rows) >= group_rows;
}

/** Lines of so many rows: whole groups, of which the last may have lines of no row. */
template <typename T> DLLM_DEVICE constexpr T line_count(T rows)
{
    if constexpr (has_guidance) return (rows + group_rows - 1) / group_rows * (2 * group_rows);
    return rows;
}

#endif
