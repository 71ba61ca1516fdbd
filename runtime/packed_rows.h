/*
 * packed_rows.h - the rows that row_index names, copied together for a product that cannot gather
 *
 * A part of the workspace; a problem with neither row index nor guidance needs none. Guided rows become
 * the lines of kernel_src/pairs.cuh.
 */
#ifndef DLLM_PACKED_ROWS_H
#define DLLM_PACKED_ROWS_H

#include "plan.h"

/** Elements from one packed row to the next: rows start at multiples of 16 bytes. */
int64_t dllm__packed_stride(const dllm_problem *problem);

/** Does a call of the problem pack its rows? */
bool dllm__packs(const dllm_problem *problem, const dllm_row_call *call);

/** Device memory for those of rows_max rows, a multiple of 256 bytes; 0 where none are packed. */
size_t dllm__packed_bytes(const dllm_problem *problem);

/** Adds the gather kernel if rows may be packed; returns how many were added. */
int dllm__packed_spec(dllm_kernel_spec *out, const dllm_problem *problem);

/** Launches the gather kernel. */
dllm_status dllm__pack_rows(const dllm_plan *plan, dllm_cu_function function,
                            const dllm_row_call *call, void *packed, dllm_stream stream);

#endif
