/* cpu_rows.c - what both operations do with rows on the CPU: find, merge, finish, write */
#include "cpu_rows.h"

#include <string.h>

#include "cpu_state.h"

int dllm__cpu_pass_rows(const dllm_problem *problem)
{
    return problem->rows_max < DLLM_CPU_PASS_ROWS ? (int)problem->rows_max : DLLM_CPU_PASS_ROWS;
}

size_t dllm__cpu_aligned(size_t bytes)
{
    const size_t mask = DLLM_CPU_ALIGNMENT_BYTES - 1;
    return (bytes + mask) & ~mask;
}

/* Index arrays and ids need no more alignment than the caller gave them. */
static int64_t read_integer(const void *array, dllm_id_type type, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    if (type == DLLM_INT64) {
        memcpy(&wide, (const char *)array + i * (int64_t)sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)array + i * (int64_t)sizeof narrow, sizeof narrow);
    return narrow;
}

static void write_integer(void *array, dllm_id_type type, int64_t i, int64_t value)
{
    const int32_t narrow = (int32_t)value;
    if (type == DLLM_INT64)
        memcpy((char *)array + i * (int64_t)sizeof value, &value, sizeof value);
    else
        memcpy((char *)array + i * (int64_t)sizeof narrow, &narrow, sizeof narrow);
}

const void *dllm__cpu_row(const dllm_cpu_pass *pass, int row)
{
    const dllm_row_call *call = pass->call;
    int64_t source = pass->first + row;
    if (call->row_index) source = read_integer(call->row_index, pass->problem->index_type, source);
    if (source < 0 || source >= call->source_rows) return NULL;
    const int64_t bytes = dllm__type_bytes(pass->problem->hidden_type);
    return (const char *)call->hidden + source * call->hidden_stride * bytes;
}

/* Ranges begin .. end - 1 of a row, merged as a balanced tree: one after the other, thousands of
   ranges would each round the same sum. The tree follows from the number of ranges alone. */
static dllm_row_state merge_ranges(const dllm_cpu_pass *pass, int64_t row, int64_t begin,
                                   int64_t end)
{
    if (end - begin == 1) return pass->states[begin * pass->rows + row];
    const int64_t middle = begin + (end - begin) / 2;
    dllm_row_state state = merge_ranges(pass, row, begin, middle);
    const dllm_row_state upper = merge_ranges(pass, row, middle, end);
    dllm__cpu_state_merge(&state, &upper);
    return state;
}

static void finish_row(void *user, int64_t row, int worker)
{
    (void)worker;
    const dllm_cpu_pass *pass = user;
    const dllm_row_call *call = pass->call;
    const uint32_t outputs = pass->problem->outputs;
    dllm_row_values values = dllm__cpu_state_no_row();
    if (dllm__cpu_row(pass, (int)row)) {
        const dllm_row_state state = merge_ranges(pass, row, 0, pass->ranges);
        values = dllm__cpu_state_finish(&state, pass->problem->vocab_offset);
    }
    const int64_t i = pass->first + row;
    if (outputs & DLLM_OUT_ARGMAX)
        write_integer(call->argmax, pass->problem->id_type, i, values.argmax);
    if (outputs & DLLM_OUT_MAX) call->max[i] = values.max;
    if (outputs & DLLM_OUT_LSE) call->lse[i] = values.lse;
    if (outputs & DLLM_OUT_CONFIDENCE) call->confidence[i] = values.confidence;
    if (outputs & DLLM_OUT_FLAGS) call->flags[i] = values.flags;
}

void dllm__cpu_rows_finish(dllm_cpu_pool *pool, const dllm_cpu_pass *pass)
{
    dllm_cpu_pass copy = *pass; /* tasks take a plain pointer */
    dllm__cpu_pool_run(pool, finish_row, &copy, pass->rows);
}
