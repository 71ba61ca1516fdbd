/* row_driver.c - random row problems run on a device and compared with the double reference */
#include "row_driver.h"

#include "compare.h"
#include "element_type.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row under comparison. */
typedef struct compared_row {
    const row_data *data;
    const row_result *result;
    int64_t row;
    int64_t source;
    double delta; /* by which logits may be off */
    double *z;
    double *unconditional; /* logits that guide z */
    double *noise;
    bool *masked;
    reference_input input;
    reference_row expected;
} compared_row;

static int64_t penalty_column(const row_problem *p, int64_t row)
{
    const int64_t id = p->penalty_id ? p->penalty_id[row] : -1;
    return id < p->vocab_offset ? -1 : id - p->vocab_offset;
}

/* The row's own source row, or that of its unconditional row. */
static int64_t source_of(const compared_row *c, int copy)
{
    const row_problem *p = &c->data->problem;
    return c->source + copy * (p->row_index ? p->source_rows : p->rows);
}

/* Columns with the same inputs have equal logits, and then the lower id wins. */
static bool has_equal_inputs(const compared_row *c, int64_t a, int64_t b)
{
    const row_problem *p = &c->data->problem;
    const int64_t penalized = penalty_column(p, c->row);
    if (a == penalized || b == penalized || c->masked[a] || c->masked[b]) return false;
    if (p->bias && p->bias[a] != p->bias[b]) return false;
    const size_t bytes = element_bytes(p->is_head ? p->weight_type : p->hidden_type);
    const size_t step = p->is_head ? (size_t)p->weight_stride * bytes : bytes;
    const size_t width = p->is_head ? (size_t)p->depth * bytes : bytes;
    for (int copy = 0; copy < row_problem_copies(p); copy++) {
        const unsigned char *from = p->weight;
        if (!p->is_head)
            from = (const unsigned char *)p->hidden +
                   (size_t)(source_of(c, copy) * p->hidden_stride) * bytes;
        if (memcmp(from + (size_t)a * step, from + (size_t)b * step, width) != 0) return false;
    }
    return true;
}

static bool has_equal_below(const compared_row *c, int64_t column)
{
    for (int64_t v = 0; v < column; v++)
        if (has_equal_inputs(c, v, column)) return true;
    return false;
}

/* ---- the reference's row ---- */

/* Logits of one of a row's source rows, transformed; returns how well they are known. */
static double find_side(const compared_row *c, double *z, int64_t source)
{
    const row_problem *p = &c->data->problem;
    const reference_matrix hidden = {p->hidden_type, p->hidden, p->hidden_stride};
    const reference_matrix weight = {p->weight_type, p->weight, p->weight_stride};
    const reference_transforms transforms = {
        .round_logits = p->round_logits, .scale = p->scale, .softcap = p->softcap, .bias = p->bias};
    reference_delta delta = {0};
    for (int64_t v = 0; !p->is_head && v < p->vocab; v++)
        z[v] = element_load(p->hidden_type, p->hidden, source * p->hidden_stride + v);
    if (p->is_head) reference_logits(z, &delta, &hidden, source, &weight, p->vocab, p->depth);
    const bool exact = !p->is_head || c->data->values != VALUES_REAL;
    return reference_transform(z, p->vocab, &transforms,
                               exact ? 0 : reference_delta_of(&delta, c->result->plan.family));
}

static float guidance_of(const compared_row *c)
{
    const row_problem *p = &c->data->problem;
    const float scale = p->cfg_scale ? p->cfg_scale[c->row] : p->plan_cfg_scale;
    return isfinite(scale) ? scale : 0;
}

static void find_logits(compared_row *c)
{
    const row_problem *p = &c->data->problem;
    c->delta = find_side(c, c->z, source_of(c, 0));
    if (row_problem_copies(p) > 1) {
        const double delta[] = {c->delta, find_side(c, c->unconditional, source_of(c, 1))};
        c->delta = reference_guide(c->z, c->unconditional, p->vocab, guidance_of(c),
                                   p->cfg_round == DLLM_BF16, delta);
    }
    if (p->penalty)
        c->delta = reference_penalise(c->z, p->vocab, penalty_column(p, c->row), p->penalty[c->row],
                                      c->delta);
}

static void find_noise(compared_row *c)
{
    const row_problem *p = &c->data->problem;
    const uint64_t key = p->row_key ? p->row_key[c->row] : (uint64_t)c->source;
    for (int64_t v = 0; v < p->vocab; v++) {
        uint32_t words[2];
        if (p->noise)
            memcpy(words, p->noise + (c->row * p->vocab + v) * 2, sizeof words);
        else
            reference_words(words, *p->seed, key, p->draw ? *p->draw : 0, p->vocab_offset + v);
        c->noise[v] = reference_gumbel(words[0], words[1]);
    }
}

/* Returns flags that the row's parameters set. */
static uint32_t find_input(compared_row *c)
{
    const row_problem *p = &c->data->problem;
    const bool draws = p->outputs & (DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB) && p->seed;
    const float t = p->temperature ? p->temperature[c->row] : p->plan_temperature;
    memset(c->masked, 0, (size_t)p->vocab * sizeof *c->masked);
    for (int64_t i = 0; i < p->suppress_count; i++)
        if (p->suppress[i] >= p->vocab_offset && p->suppress[i] < p->vocab_offset + p->vocab)
            c->masked[p->suppress[i] - p->vocab_offset] = true;
    if (draws) find_noise(c);
    c->input = (reference_input){.z = c->z,
                                 .masked = c->masked,
                                 .noise = draws ? c->noise : NULL,
                                 .vocab = p->vocab,
                                 .valid_vocab = p->valid_vocab,
                                 .vocab_offset = p->vocab_offset,
                                 .temperature = isfinite(t) && t >= FLT_MIN ? (double)t : 0,
                                 .tempered = p->behaviour & DLLM_TEMPERED,
                                 .has_target = p->target != NULL,
                                 .target = p->target ? p->target[c->row] : 0};
    const bool bad_scale = p->cfg_scale && !isfinite(p->cfg_scale[c->row]);
    return bad_scale || (p->temperature && !isfinite(t)) ? DLLM_FLAG_PARAM : 0;
}

/* ---- comparison ---- */

static bool check_ids(const compared_row *c, const double value[ROW_OUTPUTS], dllm_message *why)
{
    static const struct {
        int output;
        bool (*matches)(const reference_row *, const reference_input *, double, double);
    } checks[] = {{ROW_ARGMAX, argmax_matches},
                  {ROW_SECOND_ID, second_matches},
                  {ROW_GUMBEL_ID, gumbel_matches}};
    const reference_row *expected = &c->expected;
    const int64_t ids[] = {expected->argmax, expected->second_id, expected->gumbel_id};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const double id = value[checks[i].output];
        if (c->result->data[checks[i].output] &&
            !checks[i].matches(expected, &c->input, c->delta, id))
            return DLLM_REFUSE(why, "%s %.0f, wanted %lld (gap %g, delta %g)",
                               row_output_name(checks[i].output), id, (long long)ids[i],
                               expected->gap, c->delta);
    }
    const double argmax = value[ROW_ARGMAX];
    if (c->result->data[ROW_ARGMAX] && argmax != (double)expected->argmax &&
        has_equal_below(c, (int64_t)argmax - c->input.vocab_offset))
        return DLLM_REFUSE(why, "argmax %.0f, and a lower id has equal inputs", argmax);
    return true;
}

/* Entry k is as large as the k-th of a full sort, and what is listed under an id is its logit. */
static bool check_candidates(const compared_row *c, dllm_message *why)
{
    const bool ordered = !(c->expected.flags & (DLLM_FLAG_NONFINITE | DLLM_FLAG_ROW));
    const double nothing = ordered ? -(double)INFINITY : (double)NAN;
    reference_input left = c->input;
    for (int64_t k = 0; k < c->data->problem.candidates; k++) {
        const double value = row_result_candidate(c->result, ROW_CANDIDATE_VALUES, c->row, k);
        const double id = row_result_candidate(c->result, ROW_CANDIDATE_IDS, c->row, k);
        const int64_t best = ordered ? reference_best(&left) : -1;
        const int64_t column = (int64_t)id - left.vocab_offset;
        const double wanted = best >= 0 ? left.z[best] : nothing;
        const bool listed = best >= 0 && reference_is_candidate(&left, (int64_t)id);
        if (!value_matches(value, wanted, c->delta) || (best < 0 && id != -1) ||
            (best >= 0 && (!listed || !value_matches(value, left.z[column], c->delta) ||
                           (c->delta == 0 && column != best))))
            return DLLM_REFUSE(why, "candidate %lld is %.9g of id %.0f, wanted %.9g of column %lld",
                               (long long)k, value, id, wanted, (long long)best);
        if (best >= 0) c->masked[column] = true; /* what is left is compared with the rest */
    }
    return true;
}

static bool compare_row(compared_row *c, dllm_message *why)
{
    const row_problem *p = &c->data->problem;
    row_answer answer;
    double value[ROW_OUTPUTS] = {0};
    dllm_message difference;
    c->source = p->row_index ? p->row_index[c->row] : c->row;
    c->delta = 0;
    c->input = (reference_input){0};
    if (!p->row_index || (c->source >= 0 && c->source < p->source_rows)) {
        find_logits(c);
        const uint32_t flags = find_input(c);
        reference_statistics(&c->expected, &c->input);
        c->expected.flags |= flags;
    } else {
        reference_bad_row(&c->expected);
    }
    for (int i = 0; i < ROW_OUTPUTS; i++)
        if (c->result->data[i]) value[i] = row_result_value(c->result, i, c->row);
    bool same = check_ids(c, value, &difference);
    /* the log-probability is that of the id which was drawn */
    if (same && c->result->data[ROW_GUMBEL_ID] && isfinite(c->expected.max))
        c->expected.gumbel_logprob = reference_log_probability(
            &c->expected, c->z[(int64_t)value[ROW_GUMBEL_ID] - p->vocab_offset]);
    reference_answer(&answer, &c->expected, c->delta);
    same = same && row_answer_matches(&answer, value, p->outputs, ~0u, &difference);
    if (same && c->result->data[ROW_CANDIDATE_IDS]) same = check_candidates(c, &difference);
    return same || DLLM_REFUSE(why, "row %lld: %s", (long long)c->row, difference.text);
}

bool row_data_compare(const row_data *data, const row_result *result, dllm_message *why)
{
    const size_t vocab = (size_t)data->problem.vocab;
    compared_row row = {.data = data,
                        .result = result,
                        .z = calloc(vocab, sizeof *row.z),
                        .unconditional = calloc(vocab, sizeof *row.unconditional),
                        .noise = calloc(vocab, sizeof *row.noise),
                        .masked = calloc(vocab, sizeof *row.masked)};
    bool same = (row.z && row.unconditional && row.noise && row.masked) ||
                DLLM_REFUSE(why, "out of memory");
    for (row.row = 0; same && row.row < row_problem_written(&data->problem); row.row++)
        same = compare_row(&row, why);
    free(row.z);
    free(row.unconditional);
    free(row.noise);
    free(row.masked);
    return same;
}

row_outcome row_shape_check(device_memory *memory, dllm_context *context, const char *family,
                            const row_shape *shape, dllm_message *why)
{
    row_data data;
    row_result result = {0};
    if (!row_data_make(&data, shape)) {
        dllm_message_set(why, "out of memory");
        return ROW_NO_MEMORY;
    }
    data.problem.family = family;
    row_outcome outcome = row_run(&result, memory, context, &data.problem);
    if (outcome != ROW_RAN)
        *why = result.message;
    else if (!row_data_compare(&data, &result, why))
        outcome = ROW_FAILED;
    row_result_release(&result);
    row_data_release(&data);
    return outcome;
}

bool row_bits_equal(const row_result *a, int64_t row_a, const row_result *b, int64_t row_b,
                    dllm_message *why)
{
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        if (!a->data[i]) continue;
        const double value_a = row_result_value(a, i, row_a);
        const double value_b = row_result_value(b, i, row_b);
        const bool both_nan = isnan(value_a) && isnan(value_b);
        if (value_a != value_b && !both_nan)
            return DLLM_REFUSE(why, "%s is %.10g in row %lld and %.10g in row %lld",
                               row_output_name(i), value_a, (long long)row_a, value_b,
                               (long long)row_b);
    }
    for (int i = ROW_CANDIDATE_VALUES; i <= ROW_CANDIDATE_IDS; i++)
        for (int64_t k = 0; a->data[i] && k < a->candidates; k++)
            if (!value_matches(row_result_candidate(a, i, row_a, k),
                               row_result_candidate(b, i, row_b, k), 0))
                return DLLM_REFUSE(why, "candidate %lld differs in rows %lld and %lld",
                                   (long long)k, (long long)row_a, (long long)row_b);
    return true;
}
