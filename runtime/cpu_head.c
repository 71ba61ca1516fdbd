/*
 * cpu_head.c - the head on the CPU
 *
 * A pass packs its hidden rows as fp32, then each task multiplies one tile of rows with one range of
 * the vocabulary and folds the logits, which never leave the worker's cache. With guidance a packed row
 * is followed by its unconditional one, in the same tile.
 */
#include "cpu_head.h"

#include "cpu_rows.h"

enum {
    RANGE_COLUMNS = 192,     /* whole blocks of 4 and of 6 columns */
    TILE_BYTES = 512 * 1024, /* packed rows of a tile stay in the second-level cache */
    TILE_ROWS_MAX = 96       /* bounds a worker's block of logits */
};

/* Parts of the workspace, in order. */
typedef struct workspace_parts {
    size_t packed_bytes; /* (lines of a pass, packed depth) fp32 */
    size_t rows_bytes;   /* states and lists */
    size_t worker_bytes; /* (tile rows, RANGE_COLUMNS) fp32, for each worker */
} workspace_parts;

typedef struct head_pass {
    dllm_cpu_pass rows;
    const dllm_cpu_vector *vector;
    float *packed;
    char *logits;
    size_t worker_bytes;
    int64_t packed_depth;
    int copies;    /* lines of a row: itself, and with guidance its unconditional one */
    int tile_rows; /* lines of a task, the last may have fewer */
    int tiles;
} head_pass;

static int64_t packed_depth(const dllm_problem *problem)
{
    const int64_t multiple = DLLM_CPU_PACK_MULTIPLE;
    return (problem->depth + multiple - 1) / multiple * multiple;
}

static workspace_parts parts_of(const dllm_problem *problem, int threads)
{
    const size_t lines = (size_t)dllm__cpu_pass_rows(problem) * (size_t)dllm__copies(problem);
    const size_t tile = lines < TILE_ROWS_MAX ? lines : TILE_ROWS_MAX;
    return (workspace_parts){
        dllm__cpu_aligned(lines * (size_t)packed_depth(problem) * sizeof(float)),
        dllm__cpu_rows_workspace(problem, RANGE_COLUMNS, threads),
        dllm__cpu_aligned(tile * RANGE_COLUMNS * sizeof(float))};
}

size_t dllm__cpu_head_workspace(const dllm_problem *problem, int threads)
{
    const workspace_parts parts = parts_of(problem, threads);
    return parts.packed_bytes + parts.rows_bytes + (size_t)threads * parts.worker_bytes;
}

static int64_t lines_of(const head_pass *pass)
{
    return (int64_t)pass->rows.rows * pass->copies;
}

/* Lines of a task: what the cache holds, in groups of the product and whole rows, evenly spread. */
static int tile_rows(const head_pass *pass)
{
    const int64_t fit = TILE_BYTES / (pass->packed_depth * (int64_t)sizeof(float));
    const int most = fit < TILE_ROWS_MAX ? (int)fit : TILE_ROWS_MAX;
    const int group = pass->vector->tile_rows * (pass->vector->tile_rows % pass->copies ? 2 : 1);
    const int groups_most = most < group ? 1 : most / group;
    const int groups = (int)((lines_of(pass) + group - 1) / group);
    const int tiles = (groups + groups_most - 1) / groups_most;
    return (groups + tiles - 1) / tiles * group;
}

/* The product of a tile of lines with range `range`, its logits going to `logits`. */
static dllm_cpu_product product_of(const head_pass *pass, int tile, int64_t range, float *logits)
{
    const dllm_problem *problem = pass->rows.problem;
    const int first = tile * pass->tile_rows;
    const int64_t left = lines_of(pass) - first;
    const int64_t column = range * RANGE_COLUMNS;
    const int64_t weight_offset = column * pass->rows.call->weight_stride;
    return (dllm_cpu_product){
        .hidden = pass->packed + first * pass->packed_depth,
        .weight = (const char *)pass->rows.call->weight +
                  weight_offset * dllm__type_bytes(problem->weight_type),
        .logits = logits,
        .weight_stride = pass->rows.call->weight_stride,
        .logits_stride = RANGE_COLUMNS,
        .depth = problem->depth,
        .packed_depth = pass->packed_depth,
        .rows = left < pass->tile_rows ? (int)left : pass->tile_rows,
        .columns = dllm__cpu_rows_columns(&pass->rows, range),
        .weight_type = problem->weight_type,
    };
}

static void pack_line(void *user, int64_t line, int worker)
{
    (void)worker;
    const head_pass *pass = user;
    const int tile = (int)line / pass->tile_rows;
    const dllm_cpu_product product = product_of(pass, tile, 0, NULL);
    const dllm_cpu_row row = dllm__cpu_rows_at(&pass->rows, line / pass->copies);
    pass->vector->pack(&product, (int)line % pass->tile_rows,
                       line % pass->copies ? row.unconditional : row.source,
                       pass->rows.problem->hidden_type);
}

/* Tiles of one range are neighbours in the order of tasks: they share its weights in the cache. */
static void multiply_range(void *user, int64_t index, int worker)
{
    const head_pass *pass = user;
    const int64_t range = index / pass->tiles;
    const int tile = (int)(index % pass->tiles);
    float *logits = (float *)(void *)(pass->logits + (size_t)worker * pass->worker_bytes);
    const dllm_cpu_product product = product_of(pass, tile, range, logits);
    pass->vector->multiply(&product);
    for (int64_t line = 0; line < product.rows; line += pass->copies) {
        const dllm_cpu_row row =
            dllm__cpu_rows_at(&pass->rows, ((int64_t)tile * pass->tile_rows + line) / pass->copies);
        float *own = logits + line * RANGE_COLUMNS;
        if (row.source)
            dllm__cpu_rows_fold(&pass->rows, &row, range, own,
                                row.unconditional ? own + RANGE_COLUMNS : NULL, worker);
    }
}

void dllm__cpu_head_run_with(dllm_cpu_pool *pool, const dllm_cpu_vector *vector,
                             const dllm_problem *problem, const dllm_row_call *call)
{
    const workspace_parts parts = parts_of(problem, dllm__cpu_pool_threads(pool));
    char *workspace = call->workspace;
    head_pass pass = {
        .rows = dllm__cpu_rows_open(problem, call, RANGE_COLUMNS, workspace + parts.packed_bytes),
        .vector = vector,
        .packed = (float *)(void *)workspace,
        .logits = workspace + parts.packed_bytes + parts.rows_bytes,
        .worker_bytes = parts.worker_bytes,
        .packed_depth = packed_depth(problem),
        .copies = dllm__copies(problem),
    };
    pass.rows.transform.vector = vector;
    while (dllm__cpu_rows_next(pool, &pass.rows)) {
        pass.tile_rows = tile_rows(&pass);
        pass.tiles = (int)((lines_of(&pass) + pass.tile_rows - 1) / pass.tile_rows);
        dllm__cpu_pool_run(pool, pack_line, &pass, lines_of(&pass));
        dllm__cpu_pool_run(pool, multiply_range, &pass, pass.rows.ranges * pass.tiles);
        dllm__cpu_rows_finish(pool, &pass.rows);
    }
}

void dllm__cpu_head_run(dllm_cpu_pool *pool, const dllm_problem *problem, const dllm_row_call *call)
{
    dllm__cpu_head_run_with(pool, dllm__cpu_vector_best(), problem, call);
}
