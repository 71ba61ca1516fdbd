/* reference.c - statistics of a row in double precision, written like the formulas they check */
#include "reference.h"

#include "element_type.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double reference_delta_of(const reference_delta *delta, const char *family)
{
    const bool in_order = strcmp(family, "mma") == 0 || strcmp(family, "sm90") == 0;
    return in_order ? delta->in_order : delta->any_order;
}

void reference_logits(double *z, reference_delta *delta, const reference_matrix *hidden,
                      int64_t row, const reference_matrix *weight, int64_t vocab, int64_t depth)
{
    double in_order = 0;
    double any_order = 0;
    for (int64_t v = 0; v < vocab; v++) {
        double sum = 0;
        double absolute = 0; /* A */
        double partial = 0;  /* B */
        double product = 0;  /* P */
        for (int64_t h = 0; h < depth; h++) {
            const double term = element_load(hidden->type, hidden->data, row * hidden->stride + h) *
                                element_load(weight->type, weight->data, v * weight->stride + h);
            sum += term;
            absolute += fabs(term);
            partial = fmax(partial, fabs(sum));
            product = fmax(product, fabs(term));
        }
        z[v] = sum;
        if (!isfinite(sum)) continue;
        in_order = fmax(in_order, fmax(partial, product));
        any_order = fmax(any_order, absolute);
    }
    const int64_t steps = (depth + 15) / 16;
    *delta =
        (reference_delta){(double)steps * 0x1p-20 * in_order, (double)steps * 0x1p-20 * any_order};
}

/* Maximum, lowest id that has it, gap to the next entry; NaN comes before everything. */
static void find_order(reference_row *out, const double *z, int64_t candidates)
{
    int64_t argmax = 0;
    int64_t nan = -1;
    double second = -(double)INFINITY;
    for (int64_t v = 0; v < candidates; v++) {
        if (isnan(z[v]) && nan < 0) nan = v;
        if (isnan(z[v])) continue;
        if (z[v] > out->max) {
            second = out->max;
            out->max = z[v];
            argmax = v;
            out->rises++;
        } else if (v > 0 && z[v] > second) {
            second = z[v];
        }
    }
    out->argmax = nan >= 0 ? nan : argmax;
    out->gap = out->max - second;
    if (nan >= 0) out->max = (double)NAN;
}

void reference_statistics(reference_row *out, const double *z, int64_t vocab, int64_t valid_vocab,
                          int64_t vocab_offset)
{
    const double infinity = (double)INFINITY;
    const int64_t candidates = valid_vocab ? valid_vocab : vocab;
    *out = (reference_row){.max = -infinity, .candidates = candidates};
    find_order(out, z, candidates);
    out->argmax += vocab_offset;
    if (isnan(out->max) || out->max == infinity) {
        out->flags = DLLM_FLAG_NONFINITE;
        out->lse = out->confidence = (double)NAN;
        return;
    }
    if (out->max == -infinity) {
        out->flags = DLLM_FLAG_EMPTY;
        out->lse = -infinity;
        return;
    }
    for (int64_t v = 0; v < candidates; v++)
        out->sum += exp(z[v] - out->max);
    for (int64_t v = 0; v < candidates; v++)
        if (z[v] > -infinity) out->spread += exp(z[v] - out->max) / out->sum * (out->max - z[v]);
    out->lse = out->max + log(out->sum);
    out->confidence = 1 / out->sum;
}

void reference_bad_row(reference_row *out)
{
    const double nan = (double)NAN;
    *out = (reference_row){.max = nan, .lse = nan, .confidence = nan, .flags = DLLM_FLAG_ROW};
}
