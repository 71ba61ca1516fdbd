/*
 * simt_shapes.h - random shapes that fit a variant of a kernel and are small enough for a host
 */
#ifndef DLLM_SIMT_SHAPES_H
#define DLLM_SIMT_SHAPES_H

#include "row_driver.h"
#include "simt_rows.h"

/** The least pad from `pad` on that keeps the alignment of a row. */
int64_t simt_pad_to(int64_t pad, int64_t width, dllm_type type, int align);

/** The shape of that seed, made to fit the variant. */
void simt_shape_draw(row_shape *out, const simt_variant *variant, uint64_t seed);

/** Integers in place of real values, where the reference has to know logits exactly. */
void simt_shape_make_exact(row_shape *shape);

/** The problem of a drawn shape as the variant takes it; the running test fails if it does not. */
void simt_shape_fit(row_problem *problem, const simt_variant *variant);

#endif
