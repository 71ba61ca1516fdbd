/*
 * decode_stepping.c - the kind `step` of a decode case: rows, keys, selection, commit
 *
 * The sampler gives the statistics of every position, on the checker's device; the rest are the
 * public rules, in the order of a step.
 */
#include "decode_stepping.h"

#include "decode_fields.h"
#include "decode_rows.h"
#include "decode_shape.h"
#include "known_words.h"

#include <math.h>
#include <stdlib.h>

/* A block's positions through a step. */
typedef struct step {
    int count;
    int64_t mask_id;
    dllm_selection selection;
    int64_t ids[FIELD_LIST_MAX];
    int64_t token[FIELD_LIST_MAX];
    float confidence[FIELD_LIST_MAX];
    float margin[FIELD_LIST_MAX];
    float entropy[FIELD_LIST_MAX];
    uint32_t flags[FIELD_LIST_MAX];
    float key[FIELD_LIST_MAX];
    uint8_t masked[FIELD_LIST_MAX];
    uint8_t usable[FIELD_LIST_MAX];
    uint8_t chosen[FIELD_LIST_MAX];
    dllm_commit_result left;
} step;

static bool refuse(dllm_message *why)
{
    return DLLM_REFUSE(why, "%s", dllm_last_error());
}

/* ---- statistics --------------------------------------------------------------------------- */

/* Token and statistics of what a filter leaves of position q. */
static bool filter_row(step *out, const row_result *result, const json_t *run, int q,
                       dllm_message *why)
{
    float logits[FIELD_LIST_MAX];
    for (int k = 0; k < result->candidates; k++)
        logits[k] = (float)row_result_candidate(result, ROW_CANDIDATE_VALUES, q, k);
    const dllm_filter_options options = {.struct_size = sizeof options,
                                         .k_first =
                                             field_word(run, "filter_order", decode_filter_orders),
                                         .top_k = field_integer(run, "top_k", 0),
                                         .top_p = (float)field_number(run, "top_p", 1),
                                         .temperature = (float)field_number(run, "temperature", 0)};
    const dllm_filter_candidates candidates = {.struct_size = sizeof candidates,
                                               .logits = logits,
                                               .count = result->candidates,
                                               .complete = 1,
                                               .confidence = out->confidence[q]};
    dllm_filter_result filtered = {.struct_size = sizeof filtered};
    if (dllm_decode_filter(&filtered, &options, &candidates) != DLLM_OK) return refuse(why);
    out->token[q] = (int64_t)row_result_candidate(result, ROW_CANDIDATE_IDS, q, filtered.drawn);
    out->confidence[q] = filtered.drawn_confidence;
    out->margin[q] = filtered.margin;
    out->entropy[q] = filtered.entropy;
    return true;
}

static void take_row(step *out, const row_result *result, bool is_drawn, int q)
{
    const int token = is_drawn ? ROW_GUMBEL_ID : ROW_ARGMAX;
    out->token[q] = (int64_t)row_result_value(result, token, q);
    out->confidence[q] = is_drawn ? (float)exp(row_result_value(result, ROW_GUMBEL_LOGPROB, q))
                                  : (float)row_result_value(result, ROW_CONFIDENCE, q);
    out->margin[q] = (float)row_result_value(result, ROW_MARGIN, q);
    out->entropy[q] = (float)row_result_value(result, ROW_ENTROPY, q);
    out->flags[q] = (uint32_t)row_result_value(result, ROW_FLAGS, q);
}

static bool take_rows(step *out, decode_checker *checker, decode_rows *rows, const json_t *run,
                      dllm_message *why)
{
    const bool has_filter = json_object_get(run, "filter_order");
    row_problem problem = rows->problem;
    row_result result = {0};
    problem.outputs =
        DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE | DLLM_OUT_MARGIN | DLLM_OUT_ENTROPY | DLLM_OUT_FLAGS;
    if (rows->is_drawn) problem.outputs |= DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;
    if (has_filter) {
        problem.outputs |= DLLM_OUT_CANDIDATES;
        problem.candidates = (int32_t)problem.vocab;
        problem.behaviour = problem.plan_temperature > 0 ? DLLM_TEMPERED : 0;
    }
    bool done = decode_rows_sample(&result, checker, &problem, why);
    out->count = (int)problem.rows;
    for (int q = 0; done && q < out->count; q++) {
        take_row(out, &result, rows->is_drawn, q);
        done = !has_filter || filter_row(out, &result, run, q, why);
    }
    row_result_release(&result);
    return done;
}

/* LLaDA's published confidence at T = 0: of the token, after EOS and EoT have left the row. */
static bool take_published(step *out, decode_checker *checker, decode_rows *rows, const json_t *run,
                           dllm_message *why)
{
    row_result result = {0};
    if (!decode_rows_suppress(rows, field_integer(run, "eos", -1), why) ||
        !decode_rows_suppress(rows, field_integer(run, "eot", -1), why))
        return false;
    row_problem problem = rows->problem;
    problem.target = out->token;
    problem.outputs = DLLM_OUT_TARGET_LOGPROB;
    const bool done = decode_rows_sample(&result, checker, &problem, why);
    for (int q = 0; done && q < out->count; q++)
        out->confidence[q] = (float)exp(row_result_value(&result, ROW_TARGET_LOGPROB, q));
    row_result_release(&result);
    return done;
}

static bool take_statistics(step *out, decode_checker *checker, const json_t *run,
                            dllm_message *why)
{
    const bool suppresses = field_word(run, "mask_rule", decode_mask_rules) == 0;
    decode_rows *rows = malloc(sizeof *rows);
    if (!rows) return DLLM_REFUSE(why, "out of memory for rows");
    bool done = decode_rows_read(rows, run, why) &&
                (!suppresses || decode_rows_suppress(rows, out->mask_id, why)) &&
                take_rows(out, checker, rows, run, why);
    if (done && field_word(run, "eos_confidence", decode_eos_confidences) == 2)
        done = take_published(out, checker, rows, run, why);
    free(rows);
    return done;
}

/* ---- rules -------------------------------------------------------------------------------- */

static bool make_keys(step *work, const json_t *run, dllm_message *why)
{
    const int64_t late[] = {field_integer(run, "eos", -1), field_integer(run, "eot", -1)};
    const bool intended = field_word(run, "eos_confidence", decode_eos_confidences) == 1;
    const dllm_key_options options = {
        .struct_size = sizeof options,
        .name = (dllm_key_name)field_word(run, "score", decode_scores),
        .round_bf16 = field_word(run, "confidence_round", decode_roundings),
        .excludes_mask = field_word(run, "mask_rule", decode_mask_rules) == 1,
        .late_count = intended ? 2 : 0,
        .mask_id = work->mask_id,
        .late = late,
    };
    const dllm_key_rows rows = {sizeof rows,  work->count,   work->token, work->confidence,
                                work->margin, work->entropy, work->flags};
    return dllm_decode_keys(work->key, work->usable, &options, &rows) == DLLM_OK || refuse(why);
}

static bool select_and_commit(step *work, dllm_message *why)
{
    const dllm_block_keys keys = {sizeof keys,   work->count,  work->key,
                                  work->entropy, work->masked, work->usable};
    const dllm_commit commit = {sizeof commit, work->count,   work->chosen,        work->token,
                                work->flags,   work->mask_id, work->selection.name};
    work->left.struct_size = sizeof work->left;
    return (dllm_decode_select(work->chosen, &work->selection, &keys) == DLLM_OK &&
            dllm_decode_commit(&work->left, work->ids, &commit) == DLLM_OK) ||
           refuse(why);
}

/* ---- comparison --------------------------------------------------------------------------- */

static bool compare_flags(const step *work, const json_t *expected, dllm_message *why)
{
    static const uint32_t flags[] = {0, DLLM_FLAG_NONFINITE, DLLM_FLAG_EMPTY};
    const json_t *list = json_object_get(expected, "flags");
    if (list && json_array_size(list) != (size_t)work->count)
        return DLLM_REFUSE(why, "flags of %zu positions are expected of %d", json_array_size(list),
                           work->count);
    for (size_t q = 0; q < json_array_size(list); q++) {
        const char *name = json_string_value(json_array_get(list, q));
        if (work->flags[q] != flags[known_word(name, decode_flags)])
            return DLLM_REFUSE(why, "flags %zu are %u, wanted \"%s\"", q, work->flags[q], name);
    }
    return true;
}

static bool compare_state(const step *work, const json_t *expected, dllm_message *why)
{
    const int wanted = field_word(expected, "status", decode_states);
    if (!json_is_string(json_object_get(expected, "status")) || wanted == (int)work->left.state)
        return true;
    return DLLM_REFUSE(why, "status %s, wanted %s", decode_states[work->left.state],
                       decode_states[wanted]);
}

static bool compare(const step *work, const json_t *expected, dllm_message *why)
{
    field_list token = {.count = work->count}, key = token, entropy = token;
    field_list selected = {0}, eligible = {0};
    for (int q = 0; q < work->count; q++) {
        token.values[q] = (double)work->token[q];
        key.values[q] = (double)work->key[q];
        entropy.values[q] = (double)work->entropy[q];
        if (work->chosen[q]) selected.values[selected.count++] = q;
        if (work->masked[q] && work->usable[q]) eligible.values[eligible.count++] = q;
    }
    return field_same(expected, "tokens", &token, why) &&
           field_all_near(expected, "key", &key, 1e-5, why) &&
           field_all_near(expected, "entropy", &entropy, 1e-5, why) &&
           field_same(expected, "selected", &selected, why) &&
           field_same(expected, "eligible", &eligible, why) && compare_flags(work, expected, why) &&
           compare_state(work, expected, why);
}

bool decode_stepping_run(decode_checker *checker, const json_t *run, const json_t *expected,
                         dllm_message *why)
{
    step work = {.mask_id = field_integer(run, "mask_id", -1)};
    field_list masked;
    const bool has_list = field_numbers(&masked, run, "masked");
    if (!decode_selection_read(&work.selection, json_object_get(run, "rule"), why) ||
        !take_statistics(&work, checker, run, why))
        return false;
    if (has_list && masked.count != work.count)
        return DLLM_REFUSE(why, "masked has %d positions, logits %d", masked.count, work.count);
    for (int q = 0; q < work.count; q++) {
        work.masked[q] = !has_list || masked.values[q] != 0;
        work.ids[q] = work.masked[q] ? work.mask_id : work.mask_id + 1;
    }
    return make_keys(&work, run, why) && select_and_commit(&work, why) &&
           compare(&work, expected, why);
}
