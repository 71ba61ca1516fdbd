/* compare.c - outputs of a row against the double reference */
#include "compare.h"

#include <math.h>

static const double eps = 0x1p-24;

/* D: additions and rescales of a sum. */
static double addition_count(const reference_row *row)
{
    return fmin((double)row->candidates, 1024) + 32 + 5 * (fmin((double)row->rises, 1024) + 16);
}

/* tau: relative error of d from additions and rescales, exp, and the rounding of the exponent. */
static double sum_tolerance(const reference_row *row)
{
    const double q = 1 - 1 / row->sum;
    return fmin(addition_count(row) * eps, 2 * q) + 4 * eps + 2 * eps * row->spread;
}

static double log_probability_tolerance(const reference_row *row, double delta, double value)
{
    if (!isfinite(value)) return 0;
    const double x = -value - log(row->sum);
    return 2 * delta + sum_tolerance(row) + 2 * eps * log(row->sum) + 2 * eps * fabs(x) +
           eps * fabs(value);
}

static void set_values(row_answer *out, const reference_row *row)
{
    out->value[ROW_MAX] = row->max;
    out->value[ROW_LSE] = row->lse;
    out->value[ROW_CONFIDENCE] = row->confidence;
    out->value[ROW_ENTROPY] = row->entropy;
    out->value[ROW_SECOND] = row->second;
    out->value[ROW_MARGIN] = row->margin;
    out->value[ROW_TARGET_LOGPROB] = row->target_logprob;
    out->value[ROW_GUMBEL_LOGPROB] = row->gumbel_logprob;
    out->value[ROW_FLAGS] = (double)row->flags;
}

static void set_tolerances(row_answer *out, const reference_row *row, double delta)
{
    const double d = delta / row->temperature;
    const double tau = sum_tolerance(row);
    const double x2 = row->gap / row->temperature;
    const double p1 = row->confidence, p2 = p1 * exp(-x2);
    const double scaled = row->temperature != 1 ? eps * fabs(row->max / row->temperature) : 0;
    out->tolerance[ROW_MAX] = out->tolerance[ROW_SECOND] = delta;
    out->tolerance[ROW_LSE] = d + tau + 2 * eps * log(row->sum) + eps * fabs(row->lse) + scaled;
    out->tolerance[ROW_CONFIDENCE] = 2 * d + tau + 2 * eps;
    out->tolerance[ROW_ENTROPY] = 2 * row->entropy * d + tau +
                                  row->spread * ((addition_count(row) + 4) * eps + tau) +
                                  2 * eps * row->square + 4 * eps * row->entropy;
    out->tolerance[ROW_MARGIN] = p1 * (tau + 4 * eps) + 2 * d * (p1 + p2);
    if (p2 > 0) out->tolerance[ROW_MARGIN] += p2 * eps * (4 + 2 * x2);
    out->tolerance[ROW_TARGET_LOGPROB] = log_probability_tolerance(row, d, row->target_logprob);
    out->tolerance[ROW_GUMBEL_LOGPROB] = log_probability_tolerance(row, d, row->gumbel_logprob);
}

void reference_answer(row_answer *out, const reference_row *row, double delta)
{
    const uint32_t ids = DLLM_OUT_ARGMAX | DLLM_OUT_SECOND_ID | DLLM_OUT_GUMBEL_ID;
    *out = (row_answer){.present = ((1u << ROW_OUTPUTS) - 1) & ~ids};
    set_values(out, row);
    if (!(row->flags & (DLLM_FLAG_NONFINITE | DLLM_FLAG_EMPTY | DLLM_FLAG_ROW)))
        set_tolerances(out, row, delta);
}

static double logit_of(const reference_input *input, double id)
{
    return input->z[(int64_t)id - input->vocab_offset];
}

bool argmax_matches(const reference_row *row, const reference_input *input, double delta, double id)
{
    if (id == (double)row->argmax) return true;
    if (!isfinite(row->max) || delta == 0 || row->gap > 2 * delta) return false;
    return reference_is_candidate(input, (int64_t)id) &&
           logit_of(input, id) >= row->max - 2 * delta;
}

bool second_matches(const reference_row *row, const reference_input *input, double delta, double id)
{
    if (id == (double)row->second_id) return true;
    if (!isfinite(row->max) || delta == 0) return false;
    return reference_is_candidate(input, (int64_t)id) &&
           fabs(logit_of(input, id) - row->second) <= 2 * delta;
}

/* delta_g of an entry. */
static double score_tolerance(const reference_input *input, double delta, double id)
{
    const double noise = input->noise[(int64_t)id - input->vocab_offset];
    const double t = input->temperature;
    const double score = logit_of(input, id) + t * noise;
    return delta + t * (0x1p-20 + 0x1p-22 * fabs(noise)) + eps * fabs(score);
}

bool gumbel_matches(const reference_row *row, const reference_input *input, double delta, double id)
{
    if (id == (double)row->gumbel_id) return true;
    if (!isfinite(row->max) || !reference_is_candidate(input, (int64_t)id)) return false;
    /* a greedy row draws its argmax */
    if (!input->noise || !(input->temperature > 0)) return argmax_matches(row, input, delta, id);
    const double score =
        logit_of(input, id) + input->temperature * input->noise[(int64_t)id - input->vocab_offset];
    return score >= row->score - 2 * fmax(score_tolerance(input, delta, id),
                                          score_tolerance(input, delta, (double)row->gumbel_id));
}
