/*
 * family_gemm_chunk.c - cuBLAS fills a bounded chunk of fp32 logits, the sampler kernel folds it
 *
 * Workspace: states [split][rows], which each chunk merges into; the packed rows (with a row index
 * or guidance), cuBLAS's scratch, the chunk of logits. Rows are the outer loop, so that a chunk of hidden
 * rows stays in the L2 cache. With a row count in device memory cuBLAS multiplies all rows of the call,
 * and those from the count on are not folded. With guidance the rows of a chunk are packed lines.
 */
#include "family_list.h"
#include "family_parts.h"

#include "gemm.h"
#include "packed_rows.h"
#include "status.h"

/* The chunk is cut so that the tiles of cuBLAS's kernels fill whole waves: a multiple of 32
   columns an SM (autotune/facts.md, "chunk shape"). */
enum {
    CHUNK_ELEMENTS = 13 << 20, /* 52 MiB of logits */
    CHUNK_ROWS = 1408,
    COLUMNS_AN_SM = 32,
    COLUMNS_STEP = 16, /* cuBLAS is slow, or refuses, where rows of the result are ragged */
    CHUNKS_MAX = 1024  /* merged into one state one after the other */
};

static dllm_status legal(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    if (problem->hidden_type != problem->weight_type)
        return dllm__fail(DLLM_UNSUPPORTED, "gemm_chunk: hidden and weight must be of one type");
    if (problem->valid_vocab > (int64_t)CHUNKS_MAX * choice->chunk_vocab)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "gemm_chunk: valid_vocab %lld is above %d chunks of %d columns",
                          (long long)problem->valid_vocab, CHUNKS_MAX, choice->chunk_vocab);
    if ((int64_t)choice->chunk_rows * choice->chunk_vocab > CHUNK_ELEMENTS)
        return dllm__fail(DLLM_UNSUPPORTED, "gemm_chunk: a chunk of %d x %d is above %d logits",
                          choice->chunk_rows, choice->chunk_vocab, CHUNK_ELEMENTS);
    if (problem->behaviour & DLLM_BATCH_INVARIANT)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "gemm_chunk: cuBLAS chooses by the row count, so bits follow from it");
    if (!device->has_cublas) return dllm__fail(DLLM_UNSUPPORTED, "gemm_chunk: needs cuBLAS");
    if (choice->chunk_rows % dllm__lines(problem, 1))
        return dllm__fail(DLLM_UNSUPPORTED,
                          "gemm_chunk: a chunk of %d lines is not whole groups of guided rows",
                          choice->chunk_rows);
    DLLM_TRY(dllm__check_lists("gemm_chunk", problem));
    return dllm__check_grid("gemm_chunk", choice->chunk_rows, choice->splits);
}

/* Rows of the run in a chunk. */
static int rows_of_chunk(const dllm_problem *problem, const dllm_choice *choice)
{
    return choice->chunk_rows / dllm__copies(problem);
}

static void propose(const dllm_problem *problem, const dllm_device *device, dllm_choice *choice)
{
    const int64_t lines = dllm__lines(problem, problem->rows_max < 1 ? 1 : problem->rows_max);
    choice->chunk_rows = (int)(lines < CHUNK_ROWS ? lines : CHUNK_ROWS);
    const int64_t wave = (int64_t)COLUMNS_AN_SM * device->multiprocessors;
    int64_t columns = CHUNK_ELEMENTS / choice->chunk_rows;
    columns -= columns % (columns > wave ? wave : COLUMNS_STEP);
    choice->chunk_vocab = (int)(columns < problem->valid_vocab ? columns : problem->valid_vocab);
    choice->tile_rows = choice->chunk_rows;
    choice->tile_vocab = choice->chunk_vocab;
    choice->tile_depth = (int)problem->depth;
    choice->stages = 1;
    dllm__split_sampler(choice, rows_of_chunk(problem, choice), choice->chunk_vocab, DLLM_FP32,
                        device);
}

static int kernels(const dllm_problem *problem, const dllm_choice *choice, dllm_kernel_spec *out)
{
    (void)choice;
    dllm__sampler_spec(&out[0], problem, DLLM_FP32);
    dllm__combine_spec(&out[1], problem);
    return 2 + dllm__packed_spec(&out[2], problem);
}

/* Elements from one row of the chunk to the next: a multiple of 16 bytes. */
static int64_t chunk_stride(const dllm_choice *choice)
{
    return ((int64_t)choice->chunk_vocab + 3) / 4 * 4;
}

static size_t workspace_bytes(const dllm_problem *problem, const dllm_choice *choice)
{
    const size_t logits = (size_t)choice->chunk_rows * (size_t)chunk_stride(choice) * sizeof(float);
    return dllm__states_bytes(problem, choice) + dllm__packed_bytes(problem) +
           DLLM_GEMM_SCRATCH_BYTES + dllm__round_256(logits);
}

/* Columns of the last chunk's product, if it is not whole: in steps, for which it begins at columns that
   the chunk before it has folded. */
static int last_columns(const dllm_problem *problem, const dllm_choice *choice)
{
    const int64_t left = problem->valid_vocab % choice->chunk_vocab;
    const int64_t stepped = (left + COLUMNS_STEP - 1) / COLUMNS_STEP * COLUMNS_STEP;
    return (int)(stepped < choice->chunk_vocab ? stepped : choice->chunk_vocab);
}

static dllm_status prepare(dllm_plan *plan, dllm_plan_entry *entry)
{
    const int element_bytes = dllm__type_bytes(plan->problem.weight_type);
    const int alignment = plan->problem.alignment_bytes;
    const dllm_gemm_shape shape = {.type = plan->problem.weight_type,
                                   .rows = entry->choice.chunk_rows,
                                   .columns = entry->choice.chunk_vocab,
                                   .last_columns = last_columns(&entry->problem, &entry->choice),
                                   .depth = (int)plan->problem.depth,
                                   .alignment_bytes =
                                       alignment > element_bytes ? alignment : element_bytes};
    return dllm__gemm_create(&entry->gemm, plan->context, &shape);
}

/* One chunk: its product, then its states; `rows_product` and `rows` have what its rows share. */
static dllm_status run_chunk(const dllm_plan *plan, const dllm_plan_entry *entry,
                             const dllm_row_call *call, const dllm_gemm_call *rows_product,
                             const dllm_logits_block *rows, int column_begin, dllm_stream stream)
{
    const dllm_problem *problem = &plan->problem;
    const dllm_choice *choice = &entry->choice;
    const int64_t weight_bytes = dllm__type_bytes(problem->weight_type);
    const int64_t left = problem->valid_vocab - column_begin;
    dllm_gemm_call product = *rows_product;
    dllm_logits_block fold = *rows;
    const bool whole = left >= choice->chunk_vocab;
    product.columns = whole ? choice->chunk_vocab : last_columns(problem, choice);
    fold.columns = (int)(whole ? choice->chunk_vocab : left);
    const int again = product.columns - fold.columns; /* folded with the chunk before */
    product.weight = (const char *)product.weight +
                     (column_begin - again) * product.weight_stride * weight_bytes;
    DLLM_TRY(dllm__gemm_run(entry->gemm, &product, stream));
    fold.logits = product.logits + again;
    fold.column_begin = column_begin;
    fold.continues = column_begin > 0;
    return dllm__launch_sampler(plan, entry, call, &fold, stream);
}

static dllm_status run(const dllm_plan *plan, const dllm_plan_entry *entry,
                       const dllm_row_call *call, dllm_stream stream)
{
    const dllm_problem *problem = &entry->problem;
    const dllm_choice *choice = &entry->choice;
    const int64_t hidden_bytes = dllm__type_bytes(problem->hidden_type);
    char *packed = call->workspace + dllm__states_bytes(problem, choice);
    char *scratch = packed + dllm__packed_bytes(problem);
    dllm_gemm_call product = {.hidden = call->hidden,
                              .weight = call->weight,
                              .logits = (float *)(void *)(scratch + DLLM_GEMM_SCRATCH_BYTES),
                              .scratch = scratch,
                              .hidden_stride = call->hidden_stride,
                              .weight_stride = call->weight_stride,
                              .logits_stride = chunk_stride(choice)};
    if (dllm__packs(problem, call)) {
        DLLM_TRY(dllm__pack_rows(plan, entry->kernels[2], call, packed, stream));
        product.hidden = packed;
        product.hidden_stride = dllm__packed_stride(problem);
    }
    const char *hidden = product.hidden;
    const int rows_most = rows_of_chunk(problem, choice);
    for (int64_t row = 0; row < call->rows; row += rows_most) {
        const int64_t count = call->rows - row < rows_most ? call->rows - row : rows_most;
        product.rows = (int)dllm__lines(problem, count);
        product.hidden = hidden + dllm__lines(problem, row) * product.hidden_stride * hidden_bytes;
        const dllm_logits_block rows = {
            .logits = product.logits,
            .logits_stride = product.logits_stride,
            .row_begin = row,
            .rows = count,
            .dependent = true,
            .is_packed = problem->is_guided,
        };
        for (int64_t column = 0; column < problem->valid_vocab; column += choice->chunk_vocab)
            DLLM_TRY(run_chunk(plan, entry, call, &product, &rows, (int)column, stream));
    }
    return dllm__launch_combine(plan, entry->kernels[1], call, choice, 0, stream);
}

static const dllm_tile space_tiles[] = {
    {352, 256, 0, 1}, {704, 128, 0, 1}, {1024, 96, 0, 1}, {1408, 64, 0, 1}, {2816, 32, 0, 1}};

static const dllm_space space = {
    .revision = 1,
    .tiles = space_tiles,
    .tile_count = sizeof space_tiles / sizeof space_tiles[0],
    .columns_step = DLLM_SAMPLER_COLUMNS_STEP,
    .blocks_an_sm = 12,
    .tensor_percent = 80,
    .chunked = true,
};

const dllm_family dllm__family_gemm_chunk = {
    .name = "gemm_chunk",
    .operation = DLLM_OPERATION_HEAD,
    .able = &dllm__able_all,
    .legal = legal,
    .propose = propose,
    .kernels = kernels,
    .lists = dllm__sampler_lists,
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .run = run,
    .space = &space,
};
