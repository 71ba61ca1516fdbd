/* row_driver.c - random row problems run on a device and compared with the double reference */
#include "row_driver.h"

#include "compare.h"
#include "element_type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* True if a column below `column` has the same inputs: equal logits then, and the lower id wins. */
static bool has_equal_below(const row_problem *p, int64_t column)
{
    const size_t bytes = element_bytes(p->weight_type);
    const size_t step = (size_t)p->weight_stride * bytes;
    const unsigned char *weight = p->weight;
    for (int64_t v = 0; p->is_head && v < column; v++)
        if (memcmp(weight + (size_t)v * step, weight + (size_t)column * step,
                   (size_t)p->depth * bytes) == 0)
            return true;
    return false;
}

/* The row's logits; returns delta, by which they may be off. */
static double find_logits(const row_data *data, const char *family, int64_t source, double *z)
{
    const row_problem *p = &data->problem;
    const reference_matrix hidden = {p->hidden_type, p->hidden, p->hidden_stride};
    const reference_matrix weight = {p->weight_type, p->weight, p->weight_stride};
    reference_delta delta;
    for (int64_t v = 0; !p->is_head && v < p->vocab; v++)
        z[v] = element_load(p->hidden_type, p->hidden, source * p->hidden_stride + v);
    if (!p->is_head) return 0;
    reference_logits(z, &delta, &hidden, source, &weight, p->vocab, p->depth);
    if (data->values != VALUES_REAL) return 0;
    return reference_delta_of(&delta, family);
}

static bool compare_row(const row_data *data, const row_result *result, int64_t row, double *z,
                        dllm_message *why)
{
    const row_problem *p = &data->problem;
    const int64_t source = p->row_index ? p->row_index[row] : row;
    const bool exists = !p->row_index || (source >= 0 && source < p->source_rows);
    double value[ROW_OUTPUTS] = {0};
    double delta = 0;
    reference_row expected;
    row_answer answer;
    if (exists) {
        delta = find_logits(data, result->plan.family, source, z);
        reference_statistics(&expected, z, p->vocab, p->valid_vocab, p->vocab_offset);
    } else {
        reference_bad_row(&expected);
    }
    reference_answer(&answer, &expected, delta);
    for (int i = 0; i < ROW_OUTPUTS; i++)
        if (result->data[i]) value[i] = row_result_value(result, i, row);
    const double id = value[ROW_ARGMAX];
    if (result->data[ROW_ARGMAX] &&
        (!argmax_matches(&expected, z, p->vocab_offset, delta, id) ||
         (id != (double)expected.argmax && has_equal_below(p, (int64_t)id - p->vocab_offset))))
        return DLLM_REFUSE(why, "row %lld: argmax %.0f, wanted %lld (gap %g, delta %g)",
                           (long long)row, id, (long long)expected.argmax, expected.gap, delta);
    dllm_message difference;
    if (!row_answer_matches(&answer, value, p->outputs, ~0u, &difference))
        return DLLM_REFUSE(why, "row %lld: %s", (long long)row, difference.text);
    return true;
}

bool row_data_compare(const row_data *data, const row_result *result, dllm_message *why)
{
    double *z = calloc((size_t)data->problem.vocab, sizeof *z);
    bool same = z != NULL || DLLM_REFUSE(why, "out of memory");
    for (int64_t r = 0; same && r < data->problem.rows; r++)
        same = compare_row(data, result, r, z, why);
    free(z);
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
    return true;
}
