/*
 * cpu_sampler.c - the sampler on the CPU
 *
 * One task folds one range of one row: the logits are converted into a block of the worker's that
 * stays in the first-level cache, and read from memory once.
 */
#include "cpu_head.h"
#include "cpu_rows.h"
#include "cpu_state.h"

enum { RANGE_COLUMNS = DLLM_CPU_FOLD_COLUMNS };

typedef struct sampler_pass {
    dllm_cpu_pass rows;
    const dllm_cpu_vector *vector;
    char *blocks; /* RANGE_COLUMNS floats for each worker */
} sampler_pass;

static const size_t block_bytes = RANGE_COLUMNS * sizeof(float);

static int64_t range_count(const dllm_problem *problem)
{
    return (problem->valid_vocab + RANGE_COLUMNS - 1) / RANGE_COLUMNS;
}

static size_t states_bytes(const dllm_problem *problem)
{
    const size_t rows = (size_t)dllm__cpu_pass_rows(problem);
    return dllm__cpu_aligned(rows * (size_t)range_count(problem) * sizeof(dllm_row_state));
}

size_t dllm__cpu_sampler_workspace(const dllm_problem *problem, int threads)
{
    return states_bytes(problem) + (size_t)threads * block_bytes;
}

static void fold_range(void *user, int64_t index, int worker)
{
    const sampler_pass *pass = user;
    const dllm_problem *problem = pass->rows.problem;
    const int64_t range = index % pass->rows.ranges;
    const int row = (int)(index / pass->rows.ranges);
    const char *source = dllm__cpu_row(&pass->rows, row);
    if (!source) return; /* finishing the row does not look at its states */
    const int64_t column = range * RANGE_COLUMNS;
    const int64_t left = problem->valid_vocab - column;
    const int columns = left < RANGE_COLUMNS ? (int)left : RANGE_COLUMNS;
    float *block = (float *)(void *)(pass->blocks + (size_t)worker * block_bytes);
    pass->vector->widen(block, source + column * dllm__type_bytes(problem->hidden_type),
                        problem->hidden_type, columns);
    dllm_row_state *state = &pass->rows.states[range * pass->rows.rows + row];
    *state = dllm__cpu_state_init();
    dllm__cpu_state_fold_block(pass->vector, state, block, columns, (int32_t)column);
}

void dllm__cpu_sampler_run_with(dllm_cpu_pool *pool, const dllm_cpu_vector *vector,
                                const dllm_problem *problem, const dllm_row_call *call)
{
    sampler_pass pass = {
        .rows = {.problem = problem,
                 .call = call,
                 .ranges = range_count(problem),
                 .states = (dllm_row_state *)(void *)call->workspace},
        .vector = vector,
        .blocks = call->workspace + states_bytes(problem),
    };
    while (pass.rows.first < call->rows) {
        const int64_t left = call->rows - pass.rows.first;
        pass.rows.rows = left < DLLM_CPU_PASS_ROWS ? (int)left : DLLM_CPU_PASS_ROWS;
        dllm__cpu_pool_run(pool, fold_range, &pass, pass.rows.rows * pass.rows.ranges);
        dllm__cpu_rows_finish(pool, &pass.rows);
        pass.rows.first += pass.rows.rows;
    }
}

void dllm__cpu_sampler_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                           const dllm_row_call *call)
{
    dllm__cpu_sampler_run_with(pool, dllm__cpu_vector_best(), problem, call);
}
