/* cpu_rows.c - what both operations do with rows on the CPU: find, fold, merge, finish, write */
#include "cpu_rows.h"

#include <string.h>

#include "cpu_candidates.h"

int dllm__cpu_pass_rows(const dllm_problem *problem)
{
    return problem->rows_max < DLLM_CPU_PASS_ROWS ? (int)problem->rows_max : DLLM_CPU_PASS_ROWS;
}

size_t dllm__cpu_aligned(size_t bytes)
{
    const size_t mask = DLLM_CPU_ALIGNMENT_BYTES - 1;
    return (bytes + mask) & ~mask;
}

static int64_t range_count(const dllm_problem *problem, int range_columns)
{
    return (problem->valid_vocab + range_columns - 1) / range_columns;
}

static size_t states_bytes(const dllm_problem *problem, int range_columns)
{
    const size_t rows = (size_t)dllm__cpu_pass_rows(problem);
    return dllm__cpu_aligned(rows * (size_t)range_count(problem, range_columns) *
                             sizeof(dllm_state));
}

size_t dllm__cpu_rows_workspace(const dllm_problem *problem, int range_columns, int threads)
{
    const size_t lists = (size_t)threads * (size_t)dllm__cpu_pass_rows(problem) *
                         (size_t)problem->candidates * sizeof(dllm_state_candidate);
    const bool listed = problem->outputs & DLLM_OUT_CANDIDATES;
    return states_bytes(problem, range_columns) + (listed ? dllm__cpu_aligned(lists) : 0);
}

dllm_cpu_pass dllm__cpu_rows_open(const dllm_problem *problem, const dllm_row_call *call,
                                  int range_columns, char *workspace)
{
    char *lists = workspace + states_bytes(problem, range_columns);
    const bool listed = problem->outputs & DLLM_OUT_CANDIDATES;
    return (dllm_cpu_pass){
        .problem = problem,
        .call = call,
        .transform = {.transforms = dllm__transforms(problem),
                      .scale = problem->scale,
                      .softcap = problem->softcap,
                      .bias = call->bias,
                      .suppress = call->suppress,
                      .suppress_count = call->suppress_count,
                      .vocab_offset = problem->vocab_offset},
        .statistics = dllm__statistics(problem),
        .range_columns = range_columns,
        .ranges = range_count(problem, range_columns),
        .states = (dllm_state *)(void *)workspace,
        .lists = listed ? (dllm_state_candidate *)(void *)lists : NULL,
    };
}

/* The list of a worker and a row of the pass. */
static dllm_state_candidate *list_at(const dllm_cpu_pass *pass, int worker, int64_t row)
{
    return pass->lists
               ? pass->lists + (worker * (int64_t)pass->rows + row) * pass->problem->candidates
               : NULL;
}

static void empty_lists(void *user, int64_t row, int worker)
{
    (void)worker;
    const dllm_cpu_pass *pass = user;
    for (int w = 0; w < pass->threads; w++)
        dllm__cpu_candidates_init(list_at(pass, w, row), pass->problem->candidates);
}

bool dllm__cpu_rows_next(dllm_cpu_pool *pool, dllm_cpu_pass *pass)
{
    pass->first += pass->rows;
    const int64_t left = pass->call->rows - pass->first;
    if (left <= 0) return false;
    pass->rows = left < DLLM_CPU_PASS_ROWS ? (int)left : DLLM_CPU_PASS_ROWS;
    pass->threads = dllm__cpu_pool_threads(pool);
    if (pass->lists) dllm__cpu_pool_run(pool, empty_lists, pass, pass->rows);
    return true;
}

dllm_cpu_row dllm__cpu_rows_at(const dllm_cpu_pass *pass, int64_t row)
{
    return dllm__cpu_row_read(pass->problem, pass->call, pass->statistics,
                              pass->transform.transforms, pass->first + row);
}

int dllm__cpu_rows_columns(const dllm_cpu_pass *pass, int64_t range)
{
    const int64_t left = pass->problem->valid_vocab - range * pass->range_columns;
    return left < pass->range_columns ? (int)left : pass->range_columns;
}

void dllm__cpu_rows_fold(const dllm_cpu_pass *pass, const dllm_cpu_row *row, int64_t range,
                         float *logits, /* NOLINT(readability-non-const-parameter): changed */
                         float *unconditional, /* NOLINT(readability-non-const-parameter) */
                         int worker)
{
    const int64_t place = row->number - pass->first;
    const dllm_cpu_block block = {.logits = logits,
                                  .unconditional = unconditional,
                                  .count = dllm__cpu_rows_columns(pass, range),
                                  .column = range * pass->range_columns};
    pass->states[range * pass->rows + place] = dllm__cpu_fold(
        &pass->transform, row, &block, list_at(pass, worker, place), pass->problem->candidates);
}

/* ---- finish */

static void export_state(const dllm_cpu_pass *pass, int64_t number, const dllm_state *state,
                         const dllm_state_candidate *list)
{
    const size_t bytes = dllm__state_bytes(pass->problem);
    char *out = (char *)pass->call->state + (size_t)number * bytes;
    memcpy(out, state, sizeof *state);
    if (list) memcpy(out + sizeof *state, list, bytes - sizeof *state);
}

static void finish_row(void *user, int64_t index, int worker)
{
    (void)worker;
    const dllm_cpu_pass *pass = user;
    const dllm_cpu_row row = dllm__cpu_rows_at(pass, index);
    dllm_state_candidate *list = list_at(pass, 0, index);
    dllm_state state = dllm__cpu_state_init();
    if (row.source)
        state =
            dllm__cpu_state_merge_all((const char *)(pass->states + index),
                                      pass->rows * (int64_t)sizeof state, pass->ranges, &row.rule);
    state.bits |= row.bits;
    for (int w = 1; list && w < pass->threads; w++)
        dllm__cpu_candidates_merge(list, pass->problem->candidates, list_at(pass, w, index));
    if (pass->problem->behaviour & DLLM_PARTIAL_STATE) {
        export_state(pass, row.number, &state, list);
        return;
    }
    const dllm_row_values values = dllm__cpu_state_finish(&state, row.rule.temperature);
    dllm__cpu_row_write(pass->problem, pass->call, row.number, &values, list);
}

void dllm__cpu_rows_finish(dllm_cpu_pool *pool, const dllm_cpu_pass *pass)
{
    dllm_cpu_pass copy = *pass; /* tasks take a plain pointer */
    dllm__cpu_pool_run(pool, finish_row, &copy, pass->rows);
}
