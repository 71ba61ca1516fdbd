/* compare.c - outputs of a row against the double reference */
#include "compare.h"

#include <math.h>

static const double eps = 0x1p-24;

/* tau: relative error of d from additions and rescales, exp, and the rounding of the exponent. */
static double sum_tolerance(const reference_row *row)
{
    const double additions =
        fmin((double)row->candidates, 1024) + 32 + 5 * (fmin((double)row->rises, 1024) + 16);
    const double q = 1 - 1 / row->sum;
    return fmin(additions * eps, 2 * q) + 4 * eps + 2 * eps * row->spread;
}

void reference_answer(row_answer *out, const reference_row *row, double delta)
{
    *out =
        (row_answer){.present = DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS};
    out->value[ROW_MAX] = row->max;
    out->value[ROW_LSE] = row->lse;
    out->value[ROW_CONFIDENCE] = row->confidence;
    out->value[ROW_FLAGS] = (double)row->flags;
    if (row->flags) return;
    const double tau = sum_tolerance(row);
    out->tolerance[ROW_MAX] = delta;
    out->tolerance[ROW_LSE] = delta + tau + 2 * eps * log(row->sum) + eps * fabs(row->lse);
    out->tolerance[ROW_CONFIDENCE] = 2 * delta + tau + 2 * eps;
}

bool argmax_matches(const reference_row *row, const double *z, int64_t vocab_offset, double delta,
                    double id)
{
    if (id == (double)row->argmax) return true;
    if (row->flags || delta == 0 || row->gap > 2 * delta) return false;
    const double column = id - (double)vocab_offset;
    return column >= 0 && column < (double)row->candidates &&
           z[(int64_t)column] >= row->max - 2 * delta;
}
