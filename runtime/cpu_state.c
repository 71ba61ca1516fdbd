/* cpu_state.c - the statistics of a row: init, fold a logit, fold a block, merge, finish */
#include "cpu_state.h"

#include <math.h>
#include <stdbool.h>

/* exp(a - m) for a <= m, where -inf - -inf counts as no mass and inf - inf as equal */
static float weight_of(float a, float m)
{
    if (a == -INFINITY) return 0.0f;
    return a == m ? 1.0f : expf(a - m);
}

dllm_row_state dllm__cpu_state_init(void)
{
    return (dllm_row_state){-INFINITY, 0.0f, DLLM_NO_COLUMN, DLLM_NO_COLUMN};
}

void dllm__cpu_state_fold_logit(dllm_row_state *state, float z, int32_t column)
{
    dllm_row_state one = {z, z == -INFINITY ? 0.0f : 1.0f, column, DLLM_NO_COLUMN};
    if (isnan(z)) {
        one = dllm__cpu_state_init();
        one.nan_column = column;
    }
    dllm__cpu_state_merge(state, &one);
}

void dllm__cpu_state_fold_block(const dllm_cpu_vector *vector, dllm_row_state *state, float *logits,
                                int count, int32_t column)
{
    dllm_row_state block = vector->fold(logits, count);
    if (block.column != DLLM_NO_COLUMN) block.column += column;
    if (block.nan_column != DLLM_NO_COLUMN) block.nan_column += column;
    dllm__cpu_state_merge(state, &block);
}

void dllm__cpu_state_merge(dllm_row_state *state, const dllm_row_state *other)
{
    const bool other_first =
        other->max > state->max || (other->max == state->max && other->column < state->column);
    const dllm_row_state first = other_first ? *other : *state;
    const dllm_row_state second = other_first ? *state : *other;
    state->max = first.max;
    state->column = first.column;
    /* at equal maxima both factors are 1 and the product is exact: no matter which side it is */
    state->sum = first.max == -INFINITY
                     ? 0.0f
                     : fmaf(second.sum, weight_of(second.max, first.max), first.sum);
    state->nan_column = first.nan_column < second.nan_column ? first.nan_column : second.nan_column;
}

dllm_row_values dllm__cpu_state_finish(const dllm_row_state *state, int64_t vocab_offset)
{
    if (state->nan_column != DLLM_NO_COLUMN)
        return (dllm_row_values){vocab_offset + state->nan_column, NAN, NAN, NAN,
                                 DLLM_FLAG_NONFINITE};
    if (state->column == DLLM_NO_COLUMN)
        return (dllm_row_values){0, -INFINITY, -INFINITY, 0.0f, DLLM_FLAG_EMPTY};
    const int64_t argmax = vocab_offset + state->column;
    if (state->max == -INFINITY)
        return (dllm_row_values){argmax, -INFINITY, -INFINITY, 0.0f, DLLM_FLAG_EMPTY};
    if (state->max == INFINITY)
        return (dllm_row_values){argmax, INFINITY, NAN, NAN, DLLM_FLAG_NONFINITE};
    return (dllm_row_values){argmax, state->max, state->max + logf(state->sum), 1.0f / state->sum,
                             0};
}

dllm_row_values dllm__cpu_state_no_row(void)
{
    return (dllm_row_values){0, NAN, NAN, NAN, DLLM_FLAG_ROW};
}
