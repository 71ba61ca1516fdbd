/*
 * decode_rules.c - the rules of a decode step as public calls on host memory
 *
 * Checks arguments and sorts keys; the rules themselves are in decode_rules.h, which the kernels
 * compile as well.
 */
#include "decode.h"

#include "argument.h"
#include "status.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EOS_MAX = 64, STEPS_MAX = 1 << 20, MASKS_MAX = 1 << 24 /* fp32 counts so far */ };

_Static_assert((int)DLLM_SELECTION_COINS == (int)DLLM_SELECT_COINS &&
                   (int)DLLM_SELECTION_TOP_K == (int)DLLM_SELECT_TOP_K,
               "one numbering of selections");
_Static_assert((int)DLLM_END_STEP == (int)DLLM_EOS_STEP, "one numbering of ends");

/* ---- selection ---------------------------------------------------------------------------- */

typedef struct sorted_key {
    float key;
    int32_t position;
} sorted_key;

typedef struct selection_scratch {
    sorted_key sorted[DLLM_BLOCK_POSITIONS_MAX];
    int32_t order[DLLM_BLOCK_POSITIONS_MAX];
    float key[DLLM_BLOCK_POSITIONS_MAX];
} selection_scratch;

static int by_key(const void *left, const void *right)
{
    const sorted_key *a = left, *b = right;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}

static dllm_status check_selection(const dllm_selection *selection)
{
    const struct {
        const char *name;
        float value;
    } numbers[] = {{"threshold", selection->threshold},
                   {"near_tie", selection->near_tie},
                   {"factor", selection->factor},
                   {"gamma", selection->gamma},
                   {"low_threshold", selection->low_threshold}};
    DLLM_TRY(
        dllm__check_range("selection name", (int64_t)selection->name, 0, DLLM_SELECTION_COINS));
    DLLM_TRY(dllm__check_range("count", selection->count, 0, INT32_MAX));
    DLLM_TRY(dllm__check_range("variant", selection->variant, 0, DLLM_FACTOR_DROP_LAST));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (isnan(numbers[i].value))
            return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NaN", numbers[i].name);
    return DLLM_OK;
}

static dllm_status check_keys(const dllm_block_keys *keys, const dllm_selection *selection)
{
    const bool bounded = selection->name == DLLM_SELECTION_ENTROPY_BOUND;
    DLLM_TRY(dllm__check_range("positions", keys->positions, 0, DLLM_BLOCK_POSITIONS_MAX));
    if (keys->positions == 0) return DLLM_OK;
    if (!keys->masked) return dllm__fail(DLLM_INVALID_ARGUMENT, "masked is NULL");
    if (!keys->key && (selection->by_key || !bounded))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "key is NULL, and the selection needs it");
    if (!keys->entropy && bounded)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "entropy is NULL, and the entropy bound needs it");
    return DLLM_OK;
}

/* Sorts the eligible positions; key NaN never is one. Returns how many. */
static int32_t sort_keys(sorted_key *sorted, float *key, const dllm_block_keys *keys,
                         const dllm_selection *selection)
{
    const bool by_entropy = selection->name == DLLM_SELECTION_ENTROPY_BOUND && !selection->by_key;
    int32_t count = 0;
    for (int32_t q = 0; q < (int32_t)keys->positions; q++) {
        key[q] = by_entropy ? -keys->entropy[q] : keys->key[q];
        if (!keys->masked[q] || (keys->usable && !keys->usable[q]) || isnan(key[q])) continue;
        sorted[count++] = (sorted_key){key[q], q};
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_key);
    return count;
}

dllm_select_rule dllm__selection_rule(const dllm_selection *selection)
{
    return (dllm_select_rule){
        .name = (int32_t)selection->name,
        .count = selection->count,
        .inclusive = selection->inclusive,
        .variant = selection->variant,
        .by_entropy = !selection->by_key,
        .run_ties = selection->run_ties,
        .threshold = selection->threshold,
        .near_tie = selection->near_tie,
        .factor = selection->factor,
        .gamma = selection->gamma,
        .low_threshold = selection->low_threshold,
    };
}

/* The arguments have been checked. */
/* NOLINTNEXTLINE(readability-non-const-parameter): dllm_select writes chosen */
static void select_with(selection_scratch *scratch, uint8_t *chosen,
                        const dllm_selection *selection, const dllm_block_keys *keys)
{
    const int32_t eligible = sort_keys(scratch->sorted, scratch->key, keys, selection);
    for (int32_t i = 0; i < eligible; i++)
        scratch->order[i] = scratch->sorted[i].position;
    const dllm_select_rule rule = dllm__selection_rule(selection);
    const dllm_select_rows rows = {
        .positions = (int32_t)keys->positions,
        .eligible = eligible,
        .masked = keys->masked,
        .order = scratch->order,
        .key = scratch->key,
        .entropy = keys->entropy,
        .chosen = chosen,
    };
    (void)dllm_select(&rule, &rows);
}

dllm_status dllm_decode_select(uint8_t *chosen, const dllm_selection *selection,
                               const dllm_block_keys *keys)
{
    dllm_selection wanted;
    dllm_block_keys given;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&wanted, sizeof wanted, selection, "selection"));
    DLLM_TRY(dllm__take_struct(&given, sizeof given, keys, "keys"));
    DLLM_TRY(check_selection(&wanted));
    DLLM_TRY(check_keys(&given, &wanted));
    if (given.positions == 0) return DLLM_OK;
    if (!chosen) return dllm__fail(DLLM_INVALID_ARGUMENT, "chosen is NULL");
    selection_scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory to sort a block's keys");
    select_with(scratch, chosen, &wanted, &given);
    free(scratch);
    return DLLM_OK;
}

/* ---- schedule ----------------------------------------------------------------------------- */

dllm_status dllm_decode_schedule(int64_t *counts, float *fractions, const dllm_schedule *schedule)
{
    dllm_schedule wanted;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&wanted, sizeof wanted, schedule, "schedule"));
    DLLM_TRY(dllm__check_range("steps", wanted.steps, 1, STEPS_MAX));
    DLLM_TRY(dllm__check_range("masks", wanted.masks, 0, MASKS_MAX));
    if (!counts) return dllm__fail(DLLM_INVALID_ARGUMENT, "counts is NULL");
    if (wanted.dream && !(wanted.eps > 0.0f && wanted.eps < 1.0f))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "eps %g is not between 0 and 1",
                          (double)wanted.eps);
    int32_t left = (int32_t)wanted.masks;
    for (int32_t step = 0; step < wanted.steps; step++) {
        const float fraction =
            wanted.dream ? dllm_dream_fraction(step, wanted.steps, wanted.eps) : 0.0f;
        if (fractions) fractions[step] = fraction;
        counts[step] = wanted.dream ? dllm_dream_count(left, fraction)
                                    : dllm_even_count((int32_t)wanted.masks, wanted.steps, step);
        left -= (int32_t)counts[step];
    }
    return DLLM_OK;
}

/* ---- filter ------------------------------------------------------------------------------- */

static dllm_status check_filter(const dllm_filter_options *options,
                                const dllm_filter_candidates *candidates)
{
    DLLM_TRY(dllm__check_range("top_k", options->top_k, 0, INT32_MAX));
    DLLM_TRY(dllm__check_range("candidates", candidates->count, 1, INT32_MAX));
    if (!(options->top_p > 0.0f))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "top_p %g is not above 0", (double)options->top_p);
    if (!isfinite(options->temperature))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "temperature %g is not finite",
                          (double)options->temperature);
    if (!(candidates->confidence > 0.0f && candidates->confidence <= 1.0f))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "confidence %g is not above 0 and at most 1",
                          (double)candidates->confidence);
    if (!candidates->logits) return dllm__fail(DLLM_INVALID_ARGUMENT, "logits is NULL");
    return DLLM_OK;
}

/* The place of the candidate drawn; without a temperature the first. */
static int32_t draw_kept(const dllm_filter_rule *rule, const dllm_filter_row *row, int32_t kept,
                         const float *gumbel)
{
    int32_t drawn = 0;
    float best = -INFINITY;
    for (int32_t i = 0; gumbel && rule->temperature > 0 && i < kept; i++) {
        const float score = dllm_draw_score(rule, row, i, gumbel[i]);
        if (!(score > best)) continue;
        best = score;
        drawn = i;
    }
    return drawn;
}

dllm_status dllm_decode_filter(dllm_filter_result *out, const dllm_filter_options *options,
                               const dllm_filter_candidates *candidates)
{
    dllm_filter_options wanted;
    dllm_filter_candidates given;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&wanted, sizeof wanted, options, "options"));
    DLLM_TRY(dllm__take_struct(&given, sizeof given, candidates, "candidates"));
    DLLM_TRY(check_filter(&wanted, &given));
    const dllm_filter_rule rule = {wanted.k_first ? DLLM_FILTER_K_THEN_P : DLLM_FILTER_P_THEN_K,
                                   wanted.top_k, wanted.top_p, wanted.temperature};
    const dllm_filter_row row = {given.logits, (int32_t)given.count, given.complete,
                                 1.0f / given.confidence};
    const dllm_filtered left = dllm_filter(&rule, &row);
    const int32_t drawn = draw_kept(&rule, &row, left.kept, given.gumbel);
    const dllm_filter_result result = {
        .struct_size = sizeof result,
        .kept = left.kept,
        .covered = left.covered,
        .drawn = drawn,
        .confidence = 1.0f / left.sum,
        .drawn_confidence = dllm_filter_term(&rule, &row, drawn) / left.sum,
        .entropy = left.entropy,
        .margin = left.margin,
    };
    return dllm__give_struct(out, &result, sizeof result);
}

/* ---- end of sequence, rows ---------------------------------------------------------------- */

static dllm_status check_state(const dllm_sequence_state *state)
{
    DLLM_TRY(dllm__check_range("rule", (int64_t)state->rule, 0, DLLM_END_STEP));
    DLLM_TRY(dllm__check_range("eos_count", state->eos_count, 0, EOS_MAX));
    DLLM_TRY(dllm__check_range("length", state->length, 0, INT32_MAX));
    DLLM_TRY(dllm__check_range("prompt", state->prompt, 0, state->length));
    DLLM_TRY(dllm__check_range("high", state->high, 0, state->length));
    DLLM_TRY(dllm__check_range("low", state->low, 0, state->high));
    if (state->length > 0 && !state->canvas)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "canvas is NULL");
    if (state->eos_count > 0 && !state->eos)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "eos is NULL with eos_count %lld",
                          (long long)state->eos_count);
    if (state->rule == DLLM_END_STEP && !state->chosen)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "chosen is NULL, and the rule needs it");
    return DLLM_OK;
}

dllm_status dllm_decode_end(int32_t *stop, uint8_t *eligible, const dllm_sequence_state *state)
{
    dllm_sequence_state given;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&given, sizeof given, state, "state"));
    DLLM_TRY(check_state(&given));
    if (!stop || (!eligible && given.length > 0))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", stop ? "eligible" : "stop");
    *stop = 0;
    if (given.length == 0) return DLLM_OK;
    assert(given.canvas);
    assert(given.eos || given.eos_count == 0);
    assert(given.chosen || given.rule != DLLM_END_STEP);
    const dllm_end_state view = {given.canvas,       given.chosen,  given.eos,
                                 given.length,       given.prompt,  given.low,
                                 given.high,         given.mask_id, (int32_t)given.eos_count,
                                 (int32_t)given.rule};
    const dllm_end end = dllm_find_end(&view);
    for (int64_t q = end.fill_from; q < given.length; q++)
        given.canvas[q] = given.canvas[end.first_eos];
    for (int64_t q = 0; q < given.length; q++)
        eligible[q] = q >= given.low && q < end.eligible_end && given.canvas[q] == given.mask_id;
    *stop = end.stop;
    return DLLM_OK;
}

dllm_status dllm_decode_rows(int64_t *rows, const int64_t *positions, int64_t count,
                             int32_t shifted, int64_t window_from, int64_t window_to)
{
    dllm__clear_error();
    DLLM_TRY(dllm__check_range("count", count, 0, INT32_MAX));
    DLLM_TRY(dllm__check_range("window_from", window_from, 0, window_to));
    if (count > 0 && (!rows || !positions))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", rows ? "positions" : "rows");
    for (int64_t i = 0; i < count; i++) {
        if (positions[i] < 0)
            return dllm__fail(DLLM_INVALID_ARGUMENT, "position %lld is negative",
                              (long long)positions[i]);
        const int64_t row = dllm_hidden_row(positions[i], shifted, window_from, window_to);
        if (row < 0)
            return dllm__fail(DLLM_INVALID_ARGUMENT,
                              "position %lld is read from a row outside the window [%lld, %lld)",
                              (long long)positions[i], (long long)window_from,
                              (long long)window_to);
        rows[i] = row;
    }
    return DLLM_OK;
}
