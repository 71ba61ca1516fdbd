/* row_shapes.c - shapes of row problems drawn from a seed, and data for them */
#include "row_shapes.h"

#include "element_type.h"
#include "random_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Uniform in [-1, 1). */
static double uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-52 - 1;
}

static int64_t pick(uint64_t *state, const int64_t *list, size_t count)
{
    return list[below(state, (int64_t)count)];
}

#define PICK(state, list) pick(state, list, sizeof(list) / sizeof(list)[0])

/* ---- shapes ---- */

/* Row starts must keep the alignment: pads are whole units of it. */
static int64_t draw_pad(uint64_t *state, dllm_type type, int64_t width, int32_t alignment_bytes)
{
    const int64_t bytes = (int64_t)element_bytes(type);
    const int64_t unit = (alignment_bytes ? alignment_bytes : 16) / bytes;
    int64_t pad = below(state, 2) ? 0 : unit * (1 + below(state, 3));
    if (!alignment_bytes) return pad; /* the default is what a contiguous row keeps */
    while ((width + pad) % unit != 0)
        pad++;
    return pad;
}

void row_shape_random(row_shape *out, uint64_t seed, bool is_head)
{
    static const int64_t rows[] = {1, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129};
    static const int64_t vocabs[] = {1,  2,   3,   7,   31,  32,  33,  63,   64,
                                     65, 100, 127, 128, 129, 255, 257, 1000, 2049};
    static const int64_t depths[] = {1,  2,  3,  8,  10, 15, 16,  17,  24,
                                     31, 32, 33, 64, 65, 96, 100, 128, 200};
    static const int32_t alignments[] = {4, 8, 16};
    uint64_t state = seed * 2 + is_head;
    *out = (row_shape){.seed = seed, .is_head = is_head};
    out->values = (row_values)below(&state, 3);
    out->hidden_type = (dllm_type)(DLLM_BF16 + below(&state, 3));
    out->weight_type =
        below(&state, 4) ? out->hidden_type : (dllm_type)(DLLM_BF16 + below(&state, 3));
    out->id_type = (dllm_id_type)below(&state, 2);
    out->index_type = (dllm_id_type)below(&state, 2);
    out->rows = PICK(&state, rows);
    out->vocab = PICK(&state, vocabs);
    out->depth = is_head ? PICK(&state, depths) : 0;
    if (!is_head && below(&state, 8) == 0) out->vocab = 20000 + below(&state, 50000);
    if (below(&state, 3) == 0) out->valid_vocab = 1 + below(&state, out->vocab);
    if (below(&state, 3) == 0)
        out->vocab_offset = out->id_type == DLLM_INT64 ? ((int64_t)1 << 40) + 5 : 126464;
    if (below(&state, 3) == 0) out->source_rows = 1 + below(&state, 40);
    if (below(&state, 3) == 0) {
        out->alignment_bytes = alignments[below(&state, 3)];
        if (below(&state, 2) && out->hidden_type != DLLM_FP32 && out->weight_type != DLLM_FP32)
            out->alignment_bytes = 2;
    }
    out->hidden_pad =
        draw_pad(&state, out->hidden_type, is_head ? out->depth : out->vocab, out->alignment_bytes);
    if (is_head)
        out->weight_pad = draw_pad(&state, out->weight_type, out->depth, out->alignment_bytes);
    out->features = row_features_random(seed);
    /* a logit that is off may round to the neighbour, which no bound of the logit tells */
    if (is_head && out->values == VALUES_REAL)
        out->features &= ~(uint32_t)(FEATURE_ROUND | FEATURE_GUIDE_BF16);
}

void row_shape_text(dllm_message *out, const row_shape *shape)
{
    static const char *const values[] = {"integers", "specials", "reals"};
    dllm_message_set(out,
                     "seed %llu: %s, R %lld of %lld, V %lld (valid %lld, offset %lld), H %lld, "
                     "%s x %s, ids %d, indices %d, pads %lld %lld, alignment %d, features 0x%x",
                     (unsigned long long)shape->seed, values[shape->values], (long long)shape->rows,
                     (long long)shape->source_rows, (long long)shape->vocab,
                     (long long)shape->valid_vocab, (long long)shape->vocab_offset,
                     (long long)shape->depth, element_name(shape->hidden_type),
                     element_name(shape->weight_type), shape->id_type == DLLM_INT64 ? 64 : 32,
                     shape->index_type == DLLM_INT64 ? 64 : 32, (long long)shape->hidden_pad,
                     (long long)shape->weight_pad, (int)shape->alignment_bytes, shape->features);
}

/* ---- data ---- */

static double draw_value(uint64_t *state, row_values values, double amplitude)
{
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    if (values == VALUES_REAL) return uniform(state) * amplitude;
    if (values == VALUES_SPECIAL && below(state, 1500) == 0) return specials[below(state, 3)];
    return (double)(below(state, 7) - 3);
}

/* size: rows, width, pad; the pads are NaN. */
static unsigned char *make_matrix(const row_data *of, uint64_t *state, dllm_type type,
                                  const int64_t size[3], double amplitude)
{
    const int64_t rows = size[0];
    const int64_t width = size[1];
    const int64_t stride = width + size[2];
    const size_t bytes = (size_t)(rows * stride + 1) * element_bytes(type);
    unsigned char *out = malloc(bytes);
    if (!out) return NULL;
    memset(out, 0xff, bytes);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < width; c++)
            element_store(type, out, r * stride + c, draw_value(state, of->values, amplitude));
    return out;
}

/* Every eighth weight row is a copy of an earlier one: ties with equal inputs. */
static void copy_rows(row_data *data, uint64_t *state)
{
    const size_t bytes = element_bytes(data->problem.weight_type);
    const size_t step = (size_t)data->problem.weight_stride * bytes;
    for (int64_t v = 1; v < data->problem.vocab; v++)
        if (below(state, 8) == 0)
            memcpy(data->weight + (size_t)v * step, data->weight + (size_t)below(state, v) * step,
                   (size_t)data->problem.depth * bytes);
}

static void mask_columns(row_data *data)
{
    const row_problem *p = &data->problem;
    const double nan = (double)NAN;
    const int64_t rows = data->copies * (p->source_rows ? p->source_rows : p->rows);
    for (int64_t v = p->valid_vocab; p->valid_vocab && v < p->vocab; v++) {
        for (int64_t h = 0; p->is_head && h < p->depth; h++)
            element_store(p->weight_type, data->weight, v * p->weight_stride + h, nan);
        for (int64_t r = 0; !p->is_head && r < rows; r++)
            element_store(p->hidden_type, data->hidden, r * p->hidden_stride + v, nan);
    }
}

bool row_data_make(row_data *out, const row_shape *shape)
{
    uint64_t state = ~shape->seed;
    const int64_t width = shape->is_head ? shape->depth : shape->vocab;
    const int64_t source_rows = shape->source_rows ? shape->source_rows : shape->rows;
    const double amplitude = shape->is_head ? 9 / sqrt((double)shape->depth) : 12;
    *out =
        (row_data){.values = shape->values, .copies = shape->features & FEATURE_GUIDANCE ? 2 : 1};
    out->problem = (row_problem){.is_head = shape->is_head,
                                 .hidden_type = shape->hidden_type,
                                 .weight_type = shape->weight_type,
                                 .id_type = shape->id_type,
                                 .index_type = shape->index_type,
                                 .rows = shape->rows,
                                 .vocab = shape->vocab,
                                 .depth = shape->depth,
                                 .valid_vocab = shape->valid_vocab,
                                 .vocab_offset = shape->vocab_offset,
                                 .source_rows = shape->source_rows,
                                 .hidden_stride = width + shape->hidden_pad,
                                 .weight_stride = shape->depth + shape->weight_pad,
                                 .outputs = DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE |
                                            DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
                                 .alignment_bytes = shape->alignment_bytes};
    out->hidden =
        make_matrix(out, &state, shape->hidden_type,
                    (const int64_t[]){out->copies * source_rows, width, shape->hidden_pad},
                    shape->is_head ? 1 : amplitude);
    if (shape->is_head)
        out->weight =
            make_matrix(out, &state, shape->weight_type,
                        (const int64_t[]){shape->vocab, width, shape->weight_pad}, amplitude);
    if (shape->source_rows) out->row_index = calloc((size_t)shape->rows, sizeof *out->row_index);
    if (!out->hidden || (shape->is_head && !out->weight) ||
        (shape->source_rows && !out->row_index)) {
        row_data_release(out);
        return false;
    }
    for (int64_t r = 0; out->row_index && r < shape->rows; r++)
        out->row_index[r] = below(&state, shape->source_rows + 2) - 1; /* -1 and the end as well */
    if (shape->is_head) copy_rows(out, &state);
    mask_columns(out);
    out->problem.hidden = out->hidden;
    out->problem.weight = out->weight;
    out->problem.row_index = out->row_index;
    if (row_features_make(&out->features, &out->problem, shape->features, shape->seed)) return true;
    row_data_release(out);
    return false;
}

void row_data_index_rows(row_data *data)
{
    row_problem *p = &data->problem;
    if (data->copies == 1 || p->row_index) return;
    data->row_index = calloc((size_t)p->rows, sizeof *data->row_index);
    if (!data->row_index) abort();
    for (int64_t r = 0; r < p->rows; r++)
        data->row_index[r] = r;
    p->row_index = data->row_index;
    p->source_rows = p->rows;
}

void row_data_release(row_data *data)
{
    free(data->hidden);
    free(data->weight);
    free(data->row_index);
    row_features_release(&data->features);
    *data = (row_data){0};
}
