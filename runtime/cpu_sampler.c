/*
 * cpu_sampler.c - the sampler on the CPU
 *
 * One task folds one range of one row: the logits are converted into a block of the worker's that
 * stays in the first-level cache, and read from memory once.
 */
#include "cpu_head.h"
#include "cpu_rows.h"

enum { RANGE_COLUMNS = DLLM_CPU_FOLD_COLUMNS };

typedef struct sampler_pass {
    dllm_cpu_pass rows;
    const dllm_cpu_vector *vector;
    char *blocks; /* RANGE_COLUMNS floats for each worker, and copy of a row */
} sampler_pass;

static const size_t block_bytes = RANGE_COLUMNS * sizeof(float);

size_t dllm__cpu_sampler_workspace(const dllm_problem *problem, int threads)
{
    return dllm__cpu_rows_workspace(problem, RANGE_COLUMNS, threads) +
           (size_t)(threads * dllm__copies(problem)) * block_bytes;
}

static void widen_range(const sampler_pass *pass, float *block, const char *row, int64_t range)
{
    const dllm_type type = pass->rows.problem->hidden_type;
    pass->vector->widen(block, row + range * RANGE_COLUMNS * dllm__type_bytes(type), type,
                        dllm__cpu_rows_columns(&pass->rows, range));
}

static void fold_range(void *user, int64_t index, int worker)
{
    const sampler_pass *pass = user;
    const int copies = dllm__copies(pass->rows.problem);
    const int64_t range = index % pass->rows.ranges;
    const dllm_cpu_row row = dllm__cpu_rows_at(&pass->rows, index / pass->rows.ranges);
    if (!row.source) return; /* finishing the row does not look at its states */
    float *block = (float *)(void *)(pass->blocks + (size_t)(worker * copies) * block_bytes);
    float *unconditional = row.unconditional ? block + RANGE_COLUMNS : NULL;
    widen_range(pass, block, row.source, range);
    if (unconditional) widen_range(pass, unconditional, row.unconditional, range);
    dllm__cpu_rows_fold(&pass->rows, &row, range, block, unconditional, worker);
}

void dllm__cpu_sampler_run_with(dllm_cpu_pool *pool, const dllm_cpu_vector *vector,
                                const dllm_problem *problem, const dllm_row_call *call)
{
    const int threads = dllm__cpu_pool_threads(pool);
    sampler_pass pass = {
        .rows = dllm__cpu_rows_open(problem, call, RANGE_COLUMNS, call->workspace),
        .vector = vector,
        .blocks = call->workspace + dllm__cpu_rows_workspace(problem, RANGE_COLUMNS, threads),
    };
    pass.rows.transform.vector = vector;
    while (dllm__cpu_rows_next(pool, &pass.rows)) {
        dllm__cpu_pool_run(pool, fold_range, &pass, pass.rows.rows * pass.rows.ranges);
        dllm__cpu_rows_finish(pool, &pass.rows);
    }
}

void dllm__cpu_sampler_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                           const dllm_row_call *call)
{
    dllm__cpu_sampler_run_with(pool, dllm__cpu_vector_best(), problem, call);
}
