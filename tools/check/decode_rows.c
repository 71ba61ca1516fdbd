/* decode_rows.c - see decode_rows.h */
#include "decode_rows.h"

#include "decode_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run's rows ------------------------------------------------------------------------- */

/* A list of rows, each as long as the first, into consecutive places. */
static bool read_table(float *out, const json_t *list, size_t rows, size_t vocab, const char *name,
                       dllm_message *why)
{
    if (json_array_size(list) != rows)
        return DLLM_REFUSE(why, "%s is no list of %zu rows", name, rows);
    for (size_t i = 0; i < rows * vocab; i++) {
        const json_t *row = json_array_get(list, i / vocab);
        if (json_array_size(row) != vocab)
            return DLLM_REFUSE(why, "%s has rows of unequal length", name);
        out[i] = (float)field_value(json_array_get(row, i % vocab), (double)NAN);
    }
    return true;
}

static bool read_logits(decode_rows *out, const json_t *list, dllm_message *why)
{
    const size_t rows = json_array_size(list), vocab = json_array_size(json_array_get(list, 0));
    if (rows < 1 || rows > FIELD_LIST_MAX || vocab < 1 || vocab > FIELD_LIST_MAX)
        return DLLM_REFUSE(why, "logits is no list of lists");
    out->problem.rows = (int64_t)rows;
    out->problem.vocab = (int64_t)vocab;
    return read_table(out->logits, list, rows, vocab, "logits", why);
}

/* Unconditional rows and the scale; rows that are given and not asked for by the scale stay behind
   a scale of 0 in device memory, which must not look at them. */
static bool read_guidance(decode_rows *out, const json_t *run, dllm_message *why)
{
    row_problem *problem = &out->problem;
    const size_t rows = (size_t)problem->rows, vocab = (size_t)problem->vocab;
    const json_t *list = json_object_get(run, "uncond");
    if (!list) return true;
    for (size_t r = 0; r < rows; r++)
        out->cfg_scale[r] = (float)field_number(run, "cfg_scale", 0);
    problem->cfg_scale = out->cfg_scale;
    problem->cfg_round =
        field_word(run, "cfg_round", decode_roundings) == 1 ? DLLM_BF16 : DLLM_TYPE_NONE;
    return read_table(out->logits + rows * vocab, list, rows, vocab, "uncond", why);
}

static bool read_noise(decode_rows *out, const json_t *run, dllm_message *why)
{
    const json_t *list = json_object_get(run, "uniforms");
    const double denominator = field_number(run, "uniform_den", 1);
    const size_t rows = (size_t)out->problem.rows, vocab = (size_t)out->problem.vocab;
    if (!list) return true;
    if (json_array_size(list) != rows) return DLLM_REFUSE(why, "uniforms is no list of rows");
    for (size_t i = 0; i < rows * vocab; i++) {
        const json_t *row = json_array_get(list, i / vocab);
        if (json_array_size(row) != vocab)
            return DLLM_REFUSE(why, "uniforms has rows of another length");
        out->noise[2 * i] = field_noise_word(json_array_get(row, i % vocab), denominator);
    }
    out->problem.noise = out->noise;
    out->is_drawn = true;
    return true;
}

bool decode_rows_suppress(decode_rows *rows, int64_t id, dllm_message *why)
{
    row_problem *problem = &rows->problem;
    if (problem->suppress_count == FIELD_LIST_MAX)
        return DLLM_REFUSE(why, "more than %d suppressed ids", FIELD_LIST_MAX);
    rows->suppressed[problem->suppress_count++] = id;
    problem->suppress = rows->suppressed;
    return true;
}

bool decode_rows_read(decode_rows *out, const json_t *run, dllm_message *why)
{
    row_problem *problem = &out->problem;
    field_list list;
    *out = (decode_rows){0};
    problem->hidden = out->logits;
    problem->hidden_type = DLLM_FP32;
    problem->id_type = DLLM_INT64;
    problem->valid_vocab = field_integer(run, "valid_vocab", 0);
    problem->scale = (float)field_number(run, "scale", 0);
    problem->softcap = (float)field_number(run, "softcap", 0);
    problem->plan_temperature = (float)field_number(run, "temperature", 0);
    if (!read_logits(out, json_object_get(run, "logits"), why) || !read_guidance(out, run, why))
        return false;
    if (field_numbers(&list, run, "suppress"))
        for (int i = 0; i < list.count; i++)
            if (!decode_rows_suppress(out, field_whole(list.values[i]), why)) return false;
    if (field_numbers(&list, run, "bias")) problem->bias = out->bias;
    for (int i = 0; problem->bias && i < list.count; i++)
        out->bias[i] = (float)list.values[i];
    if (field_numbers(&list, run, "target")) problem->target = out->target;
    for (int i = 0; problem->target && i < list.count; i++)
        out->target[i] = field_whole(list.values[i]);
    return read_noise(out, run, why);
}

bool decode_rows_sample(row_result *out, decode_checker *checker, const row_problem *problem,
                        dllm_message *why)
{
    return row_run(out, &checker->memory, checker->context, problem) == ROW_RAN ||
           DLLM_REFUSE(why, "the sampler: %.400s", out->message.text);
}

/* ---- shards ------------------------------------------------------------------------------- */

static bool export_shard(dllm_state *out, decode_checker *checker, const row_problem *whole,
                         const field_list *range, dllm_message *why)
{
    row_problem shard = *whole;
    row_result result = {0};
    const int64_t from = field_whole(range->values[0]), to = field_whole(range->values[1]);
    if (from < 0 || to <= from || to > whole->vocab)
        return DLLM_REFUSE(why, "a shard of columns %jd .. %jd is outside 0 .. %jd", (intmax_t)from,
                           (intmax_t)to, (intmax_t)whole->vocab);
    shard.hidden = (const float *)whole->hidden + from;
    shard.hidden_stride = whole->vocab;
    shard.vocab = to - from;
    shard.vocab_offset = from;
    shard.behaviour = DLLM_PARTIAL_STATE;
    const bool done = decode_rows_sample(&result, checker, &shard, why);
    if (done) memcpy(out, result.data[ROW_STATE], (size_t)whole->rows * sizeof *out);
    row_result_release(&result);
    return done;
}

static bool merge_shards(row_result *out, decode_checker *checker, const row_problem *whole,
                         const json_t *shards, dllm_message *why)
{
    const size_t count = json_array_size(shards), rows = (size_t)whole->rows;
    dllm_state *states = calloc(count * rows, sizeof *states);
    bool done = states || DLLM_REFUSE(why, "out of memory for states");
    for (size_t i = 0; done && i < count; i++) {
        field_list range;
        done = field_list_of(&range, json_array_get(shards, i)) && range.count == 2
                   ? export_shard(states + i * rows, checker, whole, &range, why)
                   : DLLM_REFUSE(why, "shard %zu is no range", i);
    }
    const row_problem merge = {.rows = whole->rows,
                               .vocab = whole->vocab,
                               .id_type = whole->id_type,
                               .outputs = whole->outputs,
                               .states = states,
                               .shards = (int64_t)count};
    done = done && decode_rows_sample(out, checker, &merge, why);
    free(states);
    return done;
}

/* ---- the kind ----------------------------------------------------------------------------- */

static double tolerance_of(int output, double wanted)
{
    if (output == ROW_CONFIDENCE || output == ROW_MARGIN) return 2e-6;
    return fabs(wanted) > 100 ? 1e-6 * fabs(wanted) : 1e-5;
}

static bool compare(const row_result *result, int64_t count, const json_t *rows, dllm_message *why)
{
    if (json_array_size(rows) != (size_t)count)
        return DLLM_REFUSE(why, "%zu rows are expected of %jd", json_array_size(rows),
                           (intmax_t)count);
    for (size_t r = 0; r < json_array_size(rows); r++) {
        if (json_object_size(json_array_get(rows, r)) == 0)
            return DLLM_REFUSE(why, "row %zu: nothing is expected of it", r);
        for (int output = 0; output < ROW_FLAGS; output++) {
            const char *name = row_output_name(output);
            const json_t *row = json_array_get(rows, r);
            dllm_message difference;
            if (!json_object_get(row, name)) continue;
            const double tolerance = tolerance_of(output, field_number(row, name, 0));
            if (!result->data[output])
                return DLLM_REFUSE(why, "row %zu: %s was not asked for", r, name);
            if (!field_near(row, name, row_result_value(result, output, (int64_t)r), tolerance,
                            &difference))
                return DLLM_REFUSE(why, "row %zu: %.400s", r, difference.text);
        }
    }
    return true;
}

bool decode_rows_run(decode_checker *checker, const json_t *run, const json_t *expected,
                     dllm_message *why)
{
    const json_t *shards = json_object_get(run, "shards");
    decode_rows *rows = malloc(sizeof *rows);
    row_result result = {0};
    if (!rows) return DLLM_REFUSE(why, "out of memory for rows");
    bool done = decode_rows_read(rows, run, why);
    row_problem *problem = &rows->problem;
    problem->outputs = DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE |
                       DLLM_OUT_ENTROPY | DLLM_OUT_SECOND | DLLM_OUT_SECOND_ID | DLLM_OUT_MARGIN;
    if (problem->target) problem->outputs |= DLLM_OUT_TARGET_LOGPROB;
    if (rows->is_drawn) problem->outputs |= DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;
    done = done && (shards ? merge_shards(&result, checker, problem, shards, why)
                           : decode_rows_sample(&result, checker, problem, why));
    done = done && compare(&result, problem->rows, json_object_get(expected, "rows"), why);
    row_result_release(&result);
    free(rows);
    return done;
}
