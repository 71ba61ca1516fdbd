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

/* ---- transforms ---- */

static double cap(double z, double softcap)
{
    return softcap > 0 ? softcap * tanh(z / softcap) : z;
}

static double exact_logit(double z, const reference_transforms *with, int64_t column)
{
    if (with->round_logits != DLLM_TYPE_NONE) z = element_round(with->round_logits, z);
    if (with->scale != 0) z = (double)((float)z * with->scale);
    z = cap(z, (double)with->softcap);
    if (with->softcap > 0) z = (double)(float)z;
    if (with->bias) z = (double)((float)z + with->bias[column]);
    return z;
}

static double inexact_logit(double z, const reference_transforms *with, int64_t column)
{
    if (with->scale != 0) z *= (double)with->scale;
    z = cap(z, (double)with->softcap);
    if (with->bias) z += (double)with->bias[column];
    return z;
}

/* The row's largest finite |z|. */
static double largest_of(const double *z, int64_t vocab)
{
    double largest = 0;
    for (int64_t v = 0; v < vocab; v++)
        if (isfinite(z[v])) largest = fmax(largest, fabs(z[v]));
    return largest;
}

double reference_transform(double *z, int64_t vocab, const reference_transforms *transforms,
                           double delta)
{
    const double eps = 0x1p-24;
    const bool exact = delta == 0;
    const double scaled = largest_of(z, vocab) * (double)transforms->scale;
    if (transforms->scale != 0) delta *= (double)transforms->scale;
    if (transforms->scale != 0 && !exact) delta += eps * scaled;
    if (transforms->softcap > 0) delta += 0x1p-21 * (double)transforms->softcap;
    for (int64_t v = 0; v < vocab; v++)
        z[v] = exact ? exact_logit(z[v], transforms, v) : inexact_logit(z[v], transforms, v);
    if (delta > 0 && transforms->bias) delta += eps * largest_of(z, vocab);
    return delta;
}

double reference_penalise(double *z, int64_t vocab, int64_t column, float penalty, double delta)
{
    if (column < 0 || column >= vocab) return delta;
    z[column] = delta == 0 ? (double)((float)z[column] - penalty) : z[column] - (double)penalty;
    return delta > 0 && penalty != 0 ? delta + 0x1p-24 * largest_of(z, vocab) : delta;
}

/* ---- guidance ---- */

static float guided(float c, float u, float scale, bool in_bf16)
{
    const float apart = c - u;
    if (!in_bf16) {
        const float drawn = (scale + 1) * apart;
        return u + drawn;
    }
    const float drawn = (scale + 1) * (float)element_round(DLLM_BF16, (double)apart);
    const float sum = u + (float)element_round(DLLM_BF16, (double)drawn);
    return (float)element_round(DLLM_BF16, (double)sum);
}

double reference_guide(double *z, const double *u, int64_t vocab, float scale, bool in_bf16,
                       const double delta[2])
{
    const double eps = 0x1p-24, s = (double)scale;
    const bool exact = delta[0] == 0 && delta[1] == 0;
    double apart = 0;
    if (!(scale > 0)) return delta[0];
    for (int64_t v = 0; v < vocab; v++) {
        if (isfinite(z[v] - u[v])) apart = fmax(apart, fabs(z[v] - u[v]));
        z[v] = exact ? (double)guided((float)z[v], (float)u[v], scale, in_bf16)
                     : u[v] + (s + 1) * (z[v] - u[v]);
    }
    if (exact) return 0;
    /* the difference, its factor and their product round; then the sum */
    return (s + 1) * delta[0] + s * delta[1] + 3 * eps * (s + 1) * apart +
           eps * largest_of(z, vocab);
}

/* ---- order ---- */

bool reference_is_candidate(const reference_input *input, int64_t id)
{
    const int64_t column = id - input->vocab_offset;
    const int64_t end = input->valid_vocab ? input->valid_vocab : input->vocab;
    return id >= input->vocab_offset && column < end && !(input->masked && input->masked[column]);
}

static bool is_candidate(const reference_input *input, int64_t column)
{
    return reference_is_candidate(input, input->vocab_offset + column);
}

/* The best candidate but `except`, by larger z, then lower column; -1 if there is none. */
static int64_t find_best(const reference_input *input, int64_t except)
{
    int64_t best = -1;
    for (int64_t v = 0; v < input->vocab; v++)
        if (v != except && is_candidate(input, v) && !isnan(input->z[v]) &&
            (best < 0 || input->z[v] > input->z[best]))
            best = v;
    return best;
}

int64_t reference_best(const reference_input *input)
{
    return find_best(input, -1);
}

/* NaN comes before everything; -1 if there is none. */
static int64_t find_nan(const reference_input *input)
{
    for (int64_t v = 0; v < input->vocab; v++)
        if (is_candidate(input, v) && isnan(input->z[v])) return v;
    return -1;
}

static void count_candidates(reference_row *out, const reference_input *input)
{
    double max = -(double)INFINITY;
    for (int64_t v = 0; v < input->vocab; v++) {
        if (!is_candidate(input, v)) continue;
        out->candidates++;
        if (input->z[v] > max) {
            max = input->z[v];
            out->rises++;
        }
    }
}

/* Winner of z + T * G; candidates of -inf take no part. */
static void find_draw(reference_row *out, const reference_input *input)
{
    out->score = -(double)INFINITY;
    out->gumbel_id = out->argmax;
    for (int64_t v = 0; v < input->vocab; v++) {
        if (!is_candidate(input, v) || !(input->z[v] > -(double)INFINITY)) continue;
        const double score = input->z[v] + input->temperature * input->noise[v];
        if (!(score > out->score)) continue;
        out->score = score;
        out->gumbel_id = input->vocab_offset + v;
    }
}

/* ---- values ---- */

double reference_log_probability(const reference_row *row, double z)
{
    return (z - row->max) / row->temperature - log(row->sum);
}

static void set_floats(reference_row *out, double log_value, double share)
{
    out->lse = out->second = out->target_logprob = out->gumbel_logprob = log_value;
    out->confidence = out->entropy = out->margin = share;
}

/* Rows of the table of docs/numerics.md 7; false for an ordinary row. */
static bool finish_special(reference_row *out, const reference_input *input, int64_t nan,
                           int64_t best)
{
    const double infinity = (double)INFINITY;
    out->second_id = -1;
    if (nan >= 0 || (best >= 0 && input->z[best] == infinity)) {
        out->argmax = input->vocab_offset + (nan >= 0 ? nan : best);
        out->max = nan >= 0 ? (double)NAN : infinity;
        out->flags = DLLM_FLAG_NONFINITE;
        set_floats(out, (double)NAN, (double)NAN);
    } else if (best < 0 || input->z[best] == -infinity) {
        const int64_t second = find_best(input, best);
        out->argmax = best < 0 ? 0 : input->vocab_offset + best;
        if (best >= 0 && second >= 0) out->second_id = input->vocab_offset + second;
        out->max = -infinity;
        out->flags = DLLM_FLAG_EMPTY;
        set_floats(out, -infinity, 0);
    } else {
        return false;
    }
    out->gumbel_id = out->argmax;
    return true;
}

static void sum_up(reference_row *out, const reference_input *input)
{
    for (int64_t v = 0; v < input->vocab; v++)
        if (is_candidate(input, v)) out->sum += exp((input->z[v] - out->max) / out->temperature);
    for (int64_t v = 0; v < input->vocab; v++) {
        if (!is_candidate(input, v) || !(input->z[v] > -(double)INFINITY)) continue;
        const double x = (out->max - input->z[v]) / out->temperature;
        out->spread += exp(-x) / out->sum * x;
        out->square += exp(-x) / out->sum * x * x;
    }
}

static void finish_ordinary(reference_row *out, const reference_input *input, int64_t best)
{
    const int64_t second = find_best(input, best);
    out->argmax = input->vocab_offset + best;
    out->max = input->z[best];
    out->second = second >= 0 ? input->z[second] : -(double)INFINITY;
    out->second_id = second >= 0 ? input->vocab_offset + second : -1;
    out->gap = out->max - out->second;
    if (input->tempered && input->temperature > 0) out->temperature = input->temperature;
    sum_up(out, input);
    out->lse = out->max / out->temperature + log(out->sum);
    out->confidence = 1 / out->sum;
    out->entropy = log(out->sum) + out->spread;
    out->margin = (1 - exp(-out->gap / out->temperature)) / out->sum;
    out->gumbel_id = out->argmax;
    if (input->noise && input->temperature > 0) find_draw(out, input);
    out->gumbel_logprob =
        reference_log_probability(out, input->z[out->gumbel_id - input->vocab_offset]);
}

static void finish_target(reference_row *out, const reference_input *input)
{
    const int64_t column = input->target - input->vocab_offset;
    if (input->target < input->vocab_offset || column >= input->vocab) {
        out->target_logprob = (double)NAN;
        out->flags |= DLLM_FLAG_TARGET;
    } else if (!(out->flags & (DLLM_FLAG_NONFINITE | DLLM_FLAG_EMPTY))) {
        out->target_logprob = is_candidate(input, column)
                                  ? reference_log_probability(out, input->z[column])
                                  : -(double)INFINITY;
    }
}

void reference_statistics(reference_row *out, const reference_input *input)
{
    const int64_t nan = find_nan(input);
    const int64_t best = find_best(input, -1);
    *out = (reference_row){.temperature = 1};
    count_candidates(out, input);
    if (!finish_special(out, input, nan, best)) finish_ordinary(out, input, best);
    if (input->has_target) finish_target(out, input);
}

void reference_bad_row(reference_row *out)
{
    *out = (reference_row){
        .max = (double)NAN, .second_id = -1, .flags = DLLM_FLAG_ROW, .temperature = 1};
    set_floats(out, (double)NAN, (double)NAN);
}
