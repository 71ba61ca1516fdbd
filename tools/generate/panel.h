/*
 * panel.h - the product that the trunk is made of: rows times a panel
 *
 * A panel holds DLLM_PANEL vectors side by side in fp32, (depth, DLLM_PANEL) row-major. Vector
 * instructions run along the panel and not along the depth, so each sum is made in the order of its
 * depth, however many rows are multiplied together and however the work is shared.
 */
#ifndef DLLM_TOOL_PANEL_H
#define DLLM_TOOL_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#define DLLM_PANEL 16 /* vectors of a panel */

/** Rows of a product: operand and result, with their strides in elements. */
typedef struct dllm_panel_rows {
    float *out;
    int64_t out_stride;
    const float *x;
    int64_t x_stride;
    int64_t count;
} dllm_panel_rows;

/**
 * Multiplies rows by a panel; `add` adds to what stands in out.
 *     out[r, c] (+)= sum over i of x[r, i] * panel[i, c]      r < count, c < width <= DLLM_PANEL
 */
void dllm_panel_multiply(const dllm_panel_rows *rows, const float *panel, int64_t depth,
                         int64_t width, bool add);

/** panel[i, c] = vectors[c * stride + i] for c < width, 0 for the rest of the panel. */
void dllm_panel_pack(float *panel, const float *vectors, int64_t stride, int64_t depth,
                     int64_t width);

#endif
