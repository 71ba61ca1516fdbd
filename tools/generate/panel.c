/*
 * panel.c - see panel.h
 */
#include "panel.h"

#include <string.h>

#define LANE 4 /* floats of one vector register */
#define LANES (DLLM_PANEL / LANE)
#define GROUP 2 /* rows multiplied together: GROUP * LANES sums stay in registers */

/* The compilers' vector extension. From plain loops gcc vectorises over the depth instead, with
 * shuffles: four times slower. */
typedef float lane __attribute__((vector_size(LANE * sizeof(float))));

/** The sums of GROUP rows; they stay in registers until the depth is done. */
static void sum_group(float out[GROUP][DLLM_PANEL], const float *x, const float *next,
                      const float *panel, int64_t depth)
{
    lane sum[GROUP][LANES];
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < depth; i++, panel += DLLM_PANEL) {
        for (int64_t c = 0; c < LANES; c++) {
            lane weights;
            memcpy(&weights, panel + c * LANE, sizeof weights);
            sum[0][c] += x[i] * weights;
            sum[1][c] += next[i] * weights;
        }
    }
    memcpy(out, sum, sizeof sum);
}

void dllm_panel_multiply(const dllm_panel_rows *rows, const float *panel, int64_t depth,
                         int64_t width, bool add)
{
    for (int64_t first = 0; first < rows->count; first += GROUP) {
        const int64_t used = rows->count - first < GROUP ? rows->count - first : GROUP;
        const float *x = rows->x + first * rows->x_stride;
        float sum[GROUP][DLLM_PANEL];
        /* A missing second row is the first one again: the same loop, its sums are not stored. */
        sum_group(sum, x, used > 1 ? x + rows->x_stride : x, panel, depth);
        for (int64_t r = 0; r < used; r++) {
            float *out = rows->out + (first + r) * rows->out_stride;
            for (int64_t c = 0; c < width; c++)
                out[c] = add ? out[c] + sum[r][c] : sum[r][c];
        }
    }
}

void dllm_panel_pack(float *panel, const float *vectors, int64_t stride, int64_t depth,
                     int64_t width)
{
    for (int64_t c = 0; c < DLLM_PANEL; c++)
        for (int64_t i = 0; i < depth; i++)
            panel[i * DLLM_PANEL + c] = c < width ? vectors[c * stride + i] : 0.0f;
}
