/*
 * cpu_vector_loops.h - pack, multiply and widen, for one instruction set, and its table
 *
 * Included by the cpu_vector_<set>.c files alone, after LANES, TILE_ROWS, TILE_COLUMNS, vec_fma,
 * vec_max, vec_sum, widen_fp16 and mul_wide. A step is 2 * LANES elements of depth. Hidden rows are packed in
 * groups of TILE_ROWS (the last may be smaller), a group as [step][row][2 * LANES].
 */
#ifndef DLLM_CPU_VECTOR_LOOPS_H
#define DLLM_CPU_VECTOR_LOOPS_H

#include <stdbool.h>

#include "cpu_vector_fold.h"
#include "cpu_vector_noise.h"

enum {
    STEP = 2 * LANES,
    CHUNK = 4096, /* depth of one lane sum: 4096 / LANES terms, 1,024 at most */
    TYPES = DLLM_FP32 + 1
};
_Static_assert(CHUNK / LANES <= 1024, "a lane adds at most 1,024 terms before it is combined");
_Static_assert(DLLM_CPU_PACK_MULTIPLE % STEP == 0, "a packed row is whole steps");

static int64_t element_bytes(dllm_type type)
{
    return type == DLLM_FP32 ? 4 : 2;
}

/* ---- conversion and packing ------------------------------------------------------------------ */

SPECIALISED vec widen_vector(const char *in, dllm_type type)
{
    if (type == DLLM_BF16) return (vec)(load_half_words(in) << 16);
    if (type == DLLM_FP16) return widen_fp16(in);
    return load(in);
}

SPECIALISED void widen_as(float *out, const char *in, dllm_type type, int64_t count)
{
    const int64_t size = element_bytes(type);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(out + i, widen_vector(in + i * size, type));
    if (i < count) {
        char rest[4 * LANES] = {0};
        float wide[LANES];
        memcpy(rest, in + i * size, (size_t)((count - i) * size));
        store(wide, widen_vector(rest, type));
        memcpy(out + i, wide, (size_t)(count - i) * sizeof *out);
    }
}

static void widen(float *out, const void *in, dllm_type type, int64_t count)
{
    if (type == DLLM_BF16)
        widen_as(out, in, DLLM_BF16, count);
    else if (type == DLLM_FP16)
        widen_as(out, in, DLLM_FP16, count);
    else
        widen_as(out, in, DLLM_FP32, count);
}

/*
 * Half `half` of a step of weights. Two bf16 share a 32-bit word, so halves of a bf16 step are its
 * even and its odd elements: a shift and a mask, no shuffle. pack() puts hidden elements likewise.
 */
SPECIALISED vec weight_half(const char *step, dllm_type type, int half)
{
    if (type == DLLM_BF16) {
        const bits w = load_bits(step);
        return half == 0 ? (vec)(w << 16) : (vec)(w & 0xffff0000U);
    }
    return widen_vector(step + half * (LANES * element_bytes(type)), type);
}

static void pack(const dllm_cpu_product *product, int row, const void *source, dllm_type type)
{
    const int64_t first = row - row % TILE_ROWS;
    const int64_t left_rows = product->rows - first;
    const int64_t group = left_rows < TILE_ROWS ? left_rows : TILE_ROWS;
    float *out = product->hidden + first * product->packed_depth + (row - first) * STEP;
    const char *in = source;
    for (int64_t h = 0; h < product->packed_depth; h += STEP, out += group * STEP) {
        float step[STEP] = {0};
        const int64_t left = product->depth - h;
        if (in && left > 0)
            widen(step, in + h * element_bytes(type), type, left < STEP ? left : STEP);
        if (product->weight_type != DLLM_BF16) {
            memcpy(out, step, sizeof step);
            continue;
        }
        for (ptrdiff_t i = 0; i < LANES; i++) {
            out[i] = step[2 * i];
            out[LANES + i] = step[2 * i + 1];
        }
    }
}

/* ---- product --------------------------------------------------------------------------------- */

/* One chunk of depth of TILE_COLUMNS weight rows. */
typedef struct weight_block {
    const char *rows[TILE_COLUMNS];  /* columns beyond the range repeat the last one */
    const char *ahead[TILE_COLUMNS]; /* rows of the block that comes next, to prefetch */
    int64_t steps;                   /* whole steps */
    bool ragged;                     /* a last step lies in `tail`, filled up with zeros */
    bool first;                      /* the first chunk sets logits, others add to them */
    int columns;                     /* columns that exist */
    char tail[TILE_COLUMNS][STEP * 4];
} weight_block;

/* The part of a block that one group of rows fetches ahead. */
typedef struct ahead_part {
    int begin, end;
} ahead_part;

/* A loop left rolled would keep the sums in memory. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Makes the compiler load a step's words again for its second half: kept alive from one load they
   push sums out of the registers. */
#define FORGET(offset) __asm__("" : "+r"(offset))

/* Adds half a step of every hidden row times every weight row. */
SPECIALISED void multiply_half(const int rows, vec sum[][TILE_COLUMNS], const float *hidden,
                               const vec w[TILE_COLUMNS])
{
    UNROLL
    for (int64_t r = 0; r < rows; r++) {
        const vec x = load(hidden + r * STEP);
        UNROLL
        for (int c = 0; c < TILE_COLUMNS; c++)
            sum[r][c] = vec_fma(x, w[c], sum[r][c]);
    }
}

SPECIALISED void store_sums(const int rows, const weight_block *block, vec sum[][TILE_COLUMNS],
                            float *logits, int64_t logits_stride)
{
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int c = 0; c < TILE_COLUMNS; c++) {
            const float value = vec_sum(sum[r][c]);
            float *logit = logits + r * logits_stride + c;
            if (c < block->columns) *logit = block->first ? value : *logit + value;
        }
    }
}

SPECIALISED void multiply_tile(const int rows, const dllm_type type, const weight_block *block,
                               const float *hidden, float *logits, int64_t logits_stride,
                               ahead_part ahead)
{
    vec sum[TILE_ROWS][TILE_COLUMNS] = {{{0}}};
    const char *weight[TILE_COLUMNS];
    int64_t offset = 0;
    memcpy(weight, block->rows, sizeof weight);
    const int64_t steps = block->steps + block->ragged;
    for (int64_t s = 0; s < steps; s++) {
        if (s == block->steps) {
            for (int c = 0; c < TILE_COLUMNS; c++)
                weight[c] = block->tail[c];
            offset = 0;
        }
        for (int c = ahead.begin; c < ahead.end; c++)
            __builtin_prefetch(block->ahead[c] + offset, 0, 2);
        UNROLL
        for (int half = 0; half < 2; half++) {
            vec w[TILE_COLUMNS];
            FORGET(offset);
            UNROLL
            for (int c = 0; c < TILE_COLUMNS; c++)
                w[c] = weight_half(weight[c] + offset, type, half);
            multiply_half(rows, sum, hidden, w);
            hidden += LANES;
        }
        hidden += (int64_t)STEP * (rows - 1);
        offset += STEP * element_bytes(type);
    }
    store_sums(rows, block, sum, logits, logits_stride);
}

typedef void (*tile_function)(const weight_block *, const float *, float *, int64_t, ahead_part);

#define TILE(rows, type)                                                                           \
    static void tile_##rows##_##type(const weight_block *block, const float *hidden,               \
                                     float *logits, int64_t logits_stride, ahead_part ahead)       \
    {                                                                                              \
        multiply_tile(rows, type, block, hidden, logits, logits_stride, ahead);                    \
    }
#define TILES(rows) TILE(rows, DLLM_BF16) TILE(rows, DLLM_FP16) TILE(rows, DLLM_FP32)
#define TILE_ENTRIES(rows)                                                                         \
    {                                                                                              \
        NULL, tile_##rows##_DLLM_BF16, tile_##rows##_DLLM_FP16, tile_##rows##_DLLM_FP32            \
    }
TILES(1)
TILES(2)
#if TILE_ROWS > 2
TILES(3)
#endif
#if TILE_ROWS > 3
TILES(4)
#endif

static const tile_function tile_functions[TILE_ROWS][TYPES] = {
    TILE_ENTRIES(1),
    TILE_ENTRIES(2),
#if TILE_ROWS > 2
    TILE_ENTRIES(3),
#endif
#if TILE_ROWS > 3
    TILE_ENTRIES(4),
#endif
};

static const char *weight_at(const dllm_cpu_product *product, int column, int64_t depth)
{
    const int64_t last = product->columns - 1;
    const int64_t row = column < last ? column : last;
    return (const char *)product->weight +
           (row * product->weight_stride + depth) * element_bytes(product->weight_type);
}

static void set_block(weight_block *block, const dllm_cpu_product *product, int column,
                      int64_t depth)
{
    const int64_t size = element_bytes(product->weight_type);
    const int64_t left = product->depth - depth;
    const int64_t chunk = left < CHUNK ? left : CHUNK;
    const bool last_chunk = chunk == left;
    block->steps = chunk / STEP;
    block->ragged = chunk % STEP != 0;
    block->first = depth == 0;
    block->columns = product->columns - column;
    for (int c = 0; c < TILE_COLUMNS; c++) {
        block->rows[c] = weight_at(product, column + c, depth);
        block->ahead[c] = last_chunk ? weight_at(product, column + TILE_COLUMNS + c, 0)
                                     : weight_at(product, column + c, depth + CHUNK);
        if (!block->ragged) continue;
        memset(block->tail[c], 0, sizeof block->tail[c]);
        memcpy(block->tail[c], block->rows[c] + block->steps * STEP * size,
               (size_t)(chunk % STEP * size));
    }
}

static void multiply_block(const dllm_cpu_product *product, const weight_block *block, int column,
                           int64_t depth)
{
    const int groups = (product->rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int g = 0; g < groups; g++) {
        const int first = g * TILE_ROWS;
        const int rows = product->rows - first < TILE_ROWS ? product->rows - first : TILE_ROWS;
        const ahead_part ahead = {g * TILE_COLUMNS / groups, (g + 1) * TILE_COLUMNS / groups};
        tile_functions[rows - 1][product->weight_type](
            block, product->hidden + first * product->packed_depth + rows * depth,
            product->logits + first * product->logits_stride + column, product->logits_stride,
            ahead);
    }
}

static void multiply(const dllm_cpu_product *product)
{
    weight_block block;
    for (int column = 0; column < product->columns; column += TILE_COLUMNS)
        for (int64_t depth = 0; depth < product->depth; depth += CHUNK) {
            set_block(&block, product, column, depth);
            multiply_block(product, &block, column, depth);
        }
}

const dllm_cpu_vector VECTOR_TABLE = {
    .name = VECTOR_NAME,
    .tile_rows = TILE_ROWS,
    .pack = pack,
    .multiply = multiply,
    .widen = widen,
    .fold = fold,
    .largest = largest,
    .weigh = weigh,
    .words = words,
    .bound = bound,
    .highest = highest,
    .cap = cap,
};

#endif
