/*
 * cpu_vector.h - the CPU backend's inner loops, one table of functions an instruction set
 *
 * The loops are written once (cpu_vector_loops.h) and compiled once an instruction set. A table is
 * chosen when the program runs; results of two tables may differ in the last bits of a sum, results
 * of one table never depend on how rows and columns were grouped.
 */
#ifndef DLLM_CPU_VECTOR_H
#define DLLM_CPU_VECTOR_H

#include "cpu_noise.h"
#include "dllm.h"
#include "row_params.h"

enum {
    DLLM_CPU_PACK_MULTIPLE = 32,  /* floats: a packed row is a multiple of this, for every table */
    DLLM_CPU_FOLD_COLUMNS = 4096, /* most logits of one fold: 4 lanes of 1,024 terms */
    DLLM_CPU_ALIGNMENT_BYTES = 64
};

/**
 * A product of a tile of hidden rows and a range of weight rows.
 *     logits[r, c] = sum over h of hidden[r, h] * weight[c, h]
 * hidden   (rows, depth) fp32 as pack() lays it out; rows * packed_depth floats
 * weight   (columns, depth) weight_type
 * logits   (rows, logits_stride) fp32; columns of a row are written
 */
typedef struct dllm_cpu_product {
    float *hidden;
    const void *weight;
    float *logits;
    int64_t weight_stride; /* elements */
    int64_t logits_stride;
    int64_t depth;
    int64_t packed_depth; /* depth rounded up to DLLM_CPU_PACK_MULTIPLE */
    int rows;
    int columns;
    dllm_type weight_type;
} dllm_cpu_product;

typedef struct dllm_cpu_sums {
    float sum;
    float weighted;
} dllm_cpu_sums;

typedef struct dllm_cpu_vector {
    const char *name;
    int tile_rows; /* rows that the product handles at once; best divides `rows` */

    /* Writes hidden row `row` of a product from `source`; NULL gives zeros. */
    void (*pack)(const dllm_cpu_product *product, int row, const void *source, dllm_type type);
    void (*multiply)(const dllm_cpu_product *product);

    /* Converts elements to fp32, exactly. */
    void (*widen)(float *out, const void *in, dllm_type type, int64_t count);

    /* State of a block: 1 .. DLLM_CPU_FOLD_COLUMNS logits, columns from 0, a multiple of 16 floats
       of room. Pads the block with -inf. */
    dllm_row_state (*fold)(float *logits, int count);

    /* The same without the sum, which is 0. */
    dllm_row_state (*largest)(float *logits, int count);

    /* Sums of a block that fold or largest has padded: exp(x) and exp(x) x of x = (z - max) /
       temperature, max finite and no logit above it. A NaN has no mass. */
    dllm_cpu_sums (*weigh)(const float *logits, int count, float max, float temperature);

    /* Words of DLLM_CPU_NOISE_PAIRS pairs of ids, 2 * pair being the first; then their bounds. */
    void (*words)(dllm_cpu_noise *out, const dllm_cpu_stream *stream, uint64_t pair);
    void (*bound)(dllm_cpu_noise *noise);

    /* The largest temperature * bound + logit; a NaN is none. */
    float (*highest)(const float *logits, const float *bounds, int count, float temperature);

    /* z = softcap tanh(z / softcap), of a block with room as above. */
    void (*cap)(float *logits, int count, float softcap);
} dllm_cpu_vector;

/** The widest table that this machine runs. */
const dllm_cpu_vector *dllm__cpu_vector_best(void);

/** "avx512", "avx2" or "generic"; NULL if the machine or this build lacks it. */
const dllm_cpu_vector *dllm__cpu_vector_by_name(const char *name);

#if defined(__x86_64__)
extern const dllm_cpu_vector dllm__cpu_vector_avx512;
extern const dllm_cpu_vector dllm__cpu_vector_avx2;
#endif
extern const dllm_cpu_vector dllm__cpu_vector_generic;

#endif
