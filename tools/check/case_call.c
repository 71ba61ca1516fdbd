/*
 * case_call.c - one call of the library that a row case asks for, with its data laid out in memory
 *
 * As a head, a row of logits is X = [1, 0, ...] and W[v] = [logit, 0, ...]. Cases about memory
 * (pads, gathered rows) take X = the identity and W[v] = the logits of v in every row instead.
 */
#include "case_call.h"

#include "element_type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix in double precision: element (row, column) is values[row * row_step + column *
   column_step], and column c >= used is 0. */
typedef struct matrix {
    const double *values;
    int64_t rows;
    int64_t width;
    int64_t row_step;
    int64_t column_step;
    int64_t used;
} matrix;

/* The matrix in memory, `gap` elements between its rows (the case's pads, NaN where it has none) and
   nothing behind the last. */
static void *encode(dllm_type type, const matrix *from, const row_case *pads, int64_t gap)
{
    const int64_t stride = from->width + gap;
    char *out = malloc((size_t)(from->rows * stride + 1) * element_bytes(type));
    for (int64_t r = 0; out && r < from->rows; r++) {
        for (int64_t c = 0; c < from->width; c++)
            element_store(type, out, r * stride + c,
                          c < from->used ? from->values[r * from->row_step + c * from->column_step]
                                         : 0);
        for (int64_t c = 0; c < gap; c++)
            element_store(type, out, r * stride + from->width + c,
                          pads->pads ? pads->pads[r % pads->pad_rows * gap + c] : (double)NAN);
    }
    return out;
}

/* Rows of logits that lie in memory. */
static int64_t memory_rows(const row_case *from, const case_view *view)
{
    if (view->large_rows) return 2; /* the background and the last one */
    return from->source ? from->source_rows : view->count;
}

static const double *memory_row(const row_case *from, const case_view *view, int64_t row)
{
    if (from->source) return from->source + row * from->vocab;
    if (view->large_rows) return row == 0 ? from->background.logits : from->row[0].logits;
    return from->row[view->first + row].logits;
}

/* Rows of logits one after the other; the caller frees them. */
static double *gather_logits(const row_case *from, const case_view *view, int64_t begin,
                             int64_t width)
{
    const int64_t rows = memory_rows(from, view);
    double *out = malloc((size_t)(rows * width + 1) * sizeof *out);
    for (int64_t r = 0; out && r < rows; r++)
        memcpy(out + r * width, memory_row(from, view, r) + begin, (size_t)width * sizeof *out);
    return out;
}

bool case_head_is_joint(const row_case *from)
{
    return from->weight || from->source || from->pads || from->row_count == 0;
}

const row_answer *case_answer(const row_case *from, const case_view *view, int64_t row)
{
    if (view->large_rows && row + 1 < view->large_rows) return &from->background.expected;
    const case_row *found = &from->row[view->large_rows ? 0 : view->first + row];
    if (view->shard >= 0 && !view->partial) return &found->parts[view->shard];
    return view->tempered ? &found->tempered : &found->expected;
}

/* Matrices of a head whose products are the logits: `rows` rows of `width` columns. */
static void made_up_head(matrix *hidden, matrix *weight, const double *logits, double *identity,
                         int64_t rows, int64_t width, int64_t depth)
{
    for (int64_t r = 0; r < rows; r++)
        identity[r * rows + r] = 1;
    *hidden = (matrix){identity, rows, depth, rows, 1, rows};
    *weight = (matrix){logits, width, depth, 1, width, rows};
}

/* Bytes of alignment, up to 16, that every row of this stride keeps. */
static int32_t kept_alignment(dllm_type type, int64_t stride)
{
    const int64_t bytes = stride * (int64_t)element_bytes(type);
    int32_t alignment = 16;
    while (bytes % alignment)
        alignment /= 2;
    return alignment;
}

static bool lay_out_head(case_call *out, const row_case *from, const case_view *view,
                         const double *logits, int64_t begin)
{
    const int64_t width = out->problem.vocab;
    const int64_t rows = memory_rows(from, view);
    matrix hidden;
    matrix weight;
    double *identity = calloc((size_t)(rows * rows + 1), sizeof *identity);
    if (!identity) return false;
    if (from->weight) {
        const int64_t depth = from->depth;
        hidden = (matrix){from->hidden + view->first * depth, view->count, depth, depth, 1, depth};
        weight = (matrix){from->weight + begin * depth, width, depth, depth, 1, depth};
    } else {
        const int64_t depth = view->depth > rows ? view->depth : rows;
        made_up_head(&hidden, &weight, logits, identity, rows, width, depth);
    }
    int64_t gap = from->stride ? from->stride - from->vocab : 0;
    if (view->padded) gap = (8 - hidden.width % 8) % 8;
    out->problem.depth = hidden.width;
    out->problem.weight_type = view->type;
    out->hidden = encode(view->type, &hidden, from, gap);
    out->weight = encode(view->type, &weight, from, gap);
    if (gap) {
        out->problem.hidden_stride = out->problem.weight_stride = hidden.width + gap;
        out->problem.alignment_bytes = kept_alignment(view->type, hidden.width + gap);
    }
    free(identity);
    return out->hidden && out->weight;
}

static int64_t first_column(const row_case *from, const case_view *view)
{
    return view->shard < 0 ? 0 : from->shards[2 * view->shard];
}

static bool lay_out_memory(case_call *out, const row_case *from, const case_view *view)
{
    const int64_t begin = first_column(from, view);
    const int64_t width = out->problem.vocab;
    bool laid_out = false;
    double *logits = gather_logits(from, view, begin, width);
    if (logits && view->is_head) {
        laid_out = lay_out_head(out, from, view, logits, begin);
    } else if (logits) {
        const int64_t rows = memory_rows(from, view);
        const matrix all = {logits, rows, width, width, 1, width};
        out->hidden = encode(view->type, &all, from, from->stride ? from->stride - from->vocab : 0);
        out->problem.hidden_stride = from->stride;
        if (from->stride) out->problem.alignment_bytes = kept_alignment(view->type, from->stride);
        laid_out = out->hidden != NULL;
    }
    free(logits);
    out->problem.hidden = out->hidden;
    out->problem.weight = out->weight;
    return laid_out;
}

/* Per-row arrays: a row that has no value of its own gets one that changes nothing. */
static bool lay_out_rows(case_call *out, const row_case *from, const case_view *view,
                         uint32_t inputs_built)
{
    bool targets = false;
    bool temperatures = false;
    const case_row *row = from->row + view->first;
    out->flags_mask = ~(uint32_t)(DLLM_FLAG_TARGET | DLLM_FLAG_PARAM);
    if (view->large_rows) return true;
    out->target = calloc((size_t)view->count + 1, sizeof *out->target);
    out->temperature = calloc((size_t)view->count + 1, sizeof *out->temperature);
    if (!out->target || !out->temperature) return false;
    for (int64_t r = 0; r < view->count; r++) {
        targets |= row[r].has_target;
        temperatures |= row[r].has_temperature;
        out->target[r] = row[r].has_target ? row[r].target : out->problem.vocab_offset;
        out->temperature[r] = row[r].temperature;
    }
    if (targets && (view->shard < 0 || view->partial) && inputs_built & DLLM_IN_TARGET)
        out->problem.target = out->target;
    if (temperatures && (view->with_draw || view->tempered) && inputs_built & DLLM_IN_TEMPERATURE)
        out->problem.temperature = out->temperature;
    if (view->with_draw) {
        out->problem.seed = &row->seed;
        if (row->words) out->problem.noise = row->words + 2 * first_column(from, view);
        /* a gathered row's key is its source row unless one is given: leave that to the library */
        if (row->has_key && !from->source) out->problem.row_key = &row->row_key;
    }
    if (out->problem.target) out->flags_mask |= DLLM_FLAG_TARGET;
    if (out->problem.temperature) out->flags_mask |= DLLM_FLAG_PARAM;
    return true;
}

bool case_call_build(case_call *out, const row_case *from, const case_view *view,
                     uint32_t inputs_built)
{
    const int64_t begin = first_column(from, view);
    const int64_t end = view->shard < 0 ? from->vocab : from->shards[2 * view->shard + 1];
    *out = (case_call){0};
    row_problem *problem = &out->problem;
    problem->is_head = view->is_head;
    problem->repeated = view->large_rows != 0;
    problem->hidden_type = view->type;
    problem->id_type = problem->index_type = view->id_type;
    problem->rows = view->large_rows ? view->large_rows : view->count;
    problem->vocab = end - begin;
    problem->valid_vocab = from->valid_vocab;
    problem->vocab_offset = from->vocab_offset + begin;
    problem->scale = from->scale;
    problem->softcap = from->softcap;
    problem->round_logits = from->round_logits;
    problem->bias = from->bias ? from->bias + begin : NULL;
    problem->suppress = from->suppress;
    problem->suppress_count = from->suppress_count;
    problem->behaviour = view->tempered ? DLLM_TEMPERED : 0;
    if (view->partial) problem->behaviour |= DLLM_PARTIAL_STATE;
    if (from->row_index) {
        problem->row_index = from->row_index + view->first;
        problem->source_rows = from->source_rows;
    }
    if (lay_out_memory(out, from, view) && lay_out_rows(out, from, view, inputs_built)) return true;
    case_call_release(out);
    return false;
}

void case_call_release(case_call *call)
{
    free(call->hidden);
    free(call->weight);
    free(call->target);
    free(call->temperature);
    *call = (case_call){0};
}
