/*
 * row_shapes.h - shapes of row problems drawn from a seed, and data for them
 *
 * What follows from a shape and its seed is the same on every device and for every family. Pads
 * and masked columns hold NaN, so that reading one shows.
 */
#ifndef ROW_SHAPES_H
#define ROW_SHAPES_H

#include "row_features.h"

typedef enum row_values {
    VALUES_INTEGER, /* small integers: every order of summation is exact */
    VALUES_SPECIAL, /* integers with NaN and infinities among them */
    VALUES_REAL     /* logits of a few units, equal weight rows among them */
} row_values;

typedef struct row_shape {
    uint64_t seed;
    bool is_head;
    row_values values;
    dllm_type hidden_type;
    dllm_type weight_type;
    dllm_id_type id_type;
    dllm_id_type index_type;
    int64_t rows;
    int64_t vocab;
    int64_t depth;
    int64_t valid_vocab;
    int64_t vocab_offset;
    int64_t source_rows; /* 0: no row index; else some indices lie outside */
    int64_t hidden_pad;  /* elements between rows */
    int64_t weight_pad;
    int32_t alignment_bytes;
    uint32_t features; /* FEATURE_ bits */
} row_shape;

/** A problem with data of its own. */
typedef struct row_data {
    row_problem problem;
    row_values values;
    int copies; /* of hidden rows: 2 with guidance */
    unsigned char *hidden;
    unsigned char *weight;
    int64_t *row_index;
    row_features features;
} row_data;

/** A shape drawn from its seed: ragged, tiny, gathered, strided, unaligned, of every type. */
void row_shape_random(row_shape *out, uint64_t seed, bool is_head);

/** One line for messages. */
void row_shape_text(dllm_message *out, const row_shape *shape);

/** Makes the data of a shape; false if memory is short. */
bool row_data_make(row_data *out, const row_shape *shape);

/** With guidance names every row by an index: then unconditional rows stay where they are when the
 * problem's rows become fewer. */
void row_data_index_rows(row_data *data);

void row_data_release(row_data *data);

#endif
