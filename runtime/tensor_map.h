/*
 * tensor_map.h - a matrix as the copy engine sees it: shape, stride, box, swizzle
 *
 * Made anew for each launch, on the stack: the driver packs 128 bytes in some 50 ns and keeps
 * nothing.
 */
#ifndef DLLM_TENSOR_MAP_H
#define DLLM_TENSOR_MAP_H

#include "driver.h"
#include "sm90_params.h"

#include <stdbool.h>

/** A row-major matrix of 16-bit elements whose rows start at multiples of 16 bytes. */
typedef struct dllm_tensor_view {
    const char *name; /* for messages */
    const void *base;
    dllm_type type; /* DLLM_BF16 or DLLM_FP16 */
    int64_t rows;
    int64_t columns;
    int64_t stride; /* elements; of no meaning with one row */
    bool in_pairs;  /* each box is asked for together with the next of the same rows */
} dllm_tensor_view;

/**
 * Boxes of box_rows x 64 elements, each row a line of 128 bytes under the 128-byte swizzle; what of
 * a box lies outside the matrix becomes zeros.
 * box_rows  1 .. 256
 * Status    DLLM_INVALID_ARGUMENT  the stride is 2^40 bytes or more
 *           DLLM_DRIVER_FAILED     the driver refuses the shape
 */
dllm_status dllm__tensor_map(dllm_tensor_map *out, const dllm_driver *driver,
                             const dllm_tensor_view *view, int box_rows);

#endif
