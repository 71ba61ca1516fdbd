/*
 * simt_shapes.h - shapes and data that fit a variant, run on the host and compared
 *
 * What is wrong fails the running test.
 */
#ifndef SIMT_SHAPES_H
#define SIMT_SHAPES_H

#include "row_shapes.h"
#include "simt_rows.h"

/** Pads a row up to the alignment of a variant. */
int64_t simt_pad_to(int64_t pad, int64_t width, dllm_type type, int align);

/** A random shape made to fit the variant, and small enough for a host. */
void simt_shape_draw(row_shape *out, const simt_variant *variant, uint64_t seed);

/** Runs a shape and holds it against the double reference. */
void simt_shape_check(const row_shape *shape, const simt_choice *choice);

/** Real data that is ragged in each direction. */
row_shape simt_shape_plain(const simt_variant *variant);

/** The data of a shape, asked for no more than the variant has. */
void simt_data_make(row_data *out, const row_shape *shape, const simt_variant *variant);

void simt_data_run(row_result *out, const row_data *data, const simt_choice *choice);

void simt_bits_compare(const row_result *a, int64_t row_a, const row_result *b, int64_t row_b,
                       const char *name);

#endif
