/*
 * decode_step_choice.h - from what the head says to what is committed: tokens, keys, order, trace
 */
#ifndef DLLM_DECODE_STEP_CHOICE_H
#define DLLM_DECODE_STEP_CHOICE_H

#include "decode_canvas.h"

/* ---- tokens and keys ---------------------------------------------------------------------- */

/** What a row says of its position. */
typedef struct dllm_step_token {
    dllm_key_row row;
    int32_t covered;
} dllm_step_token;

/* The best of the kept candidates by score. */
DLLM_RULE int32_t dllm_draw_candidate(const dllm_step *step, int64_t r, const dllm_filter_row *row,
                                      int32_t kept)
{
    const dllm_filter_rule *rule = &step->rules->filter;
    const int64_t *ids = step->params->outputs.ids + r * step->params->manner.candidates;
    int32_t drawn = 0;
    float best = -DLLM_INFINITY;
    DLLM_ROLLED
    for (int32_t i = 0; rule->temperature > 0.0f && i < kept; i++) {
        uint32_t words[2];
        dllm_id_words(words, step, r, ids[i]);
        const float score = dllm_draw_score(rule, row, i, dllm_gumbel(words[0], words[1]));
        if (!(score > best)) continue;
        best = score;
        drawn = i;
    }
    return drawn;
}

/* A usable row through the sequence's filter. */
DLLM_RULE void dllm_filter_token(dllm_step_token *out, const dllm_step *step, int64_t r)
{
    const dllm_step_outputs *outputs = &step->params->outputs;
    const int32_t most = step->params->manner.candidates;
    const int64_t *ids = outputs->ids + r * most;
    int32_t count = 0;
    DLLM_ROLLED
    while (count < most && ids[count] >= 0)
        count++;
    const dllm_filter_row row = {outputs->values + r * most, count,
                                 count < most || most >= step->params->vocab,
                                 1.0f / outputs->confidence[r]};
    const dllm_filtered left = dllm_filter(&step->rules->filter, &row);
    const int32_t drawn = dllm_draw_candidate(step, r, &row, left.kept);
    out->row.token = ids[drawn];
    out->row.confidence = dllm_filter_term(&step->rules->filter, &row, drawn) / left.sum;
    out->row.margin = left.margin;
    out->row.entropy = left.entropy;
    out->covered = left.covered;
}

DLLM_RULE dllm_step_token dllm_take_token(const dllm_step *step, int64_t r)
{
    const dllm_step_outputs *outputs = &step->params->outputs;
    const uint32_t unusable = outputs->flags[r] & DLLM_UNUSABLE_FLAGS;
    dllm_step_token out = {{outputs->argmax[r], outputs->confidence[r],
                            outputs->margin ? outputs->margin[r] : 0.0f,
                            outputs->entropy ? outputs->entropy[r] : 0.0f, 0.0f, unusable},
                           1};
    if (unusable) return out;
    if (step->rules->is_filtered) {
        dllm_filter_token(&out, step, r);
    } else if (outputs->drawn && outputs->drawn[r] != out.row.token) {
        out.row.token = outputs->drawn[r];
        out.row.confidence = expf(outputs->drawn_logprob[r]);
    }
    if (outputs->published) out.row.confidence = expf(outputs->published[r]);
    return out;
}

/* The key that a position is ordered by, with the noise of its place. */
DLLM_RULE float dllm_take_key(const dllm_step *step, dllm_key_row *row, int32_t q)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const dllm_key_rule rule = {manner->score,      manner->round_bf16, manner->excludes_mask,
                                manner->late_count, manner->mask_id,    manner->late};
    const float scale = step->rules->order_temperature;
    uint32_t words[2];
    if (manner->score != DLLM_SCORE_RANDOM && !(scale > 0.0f)) return dllm_position_key(&rule, row);
    dllm_position_words(words, step, q);
    row->random = dllm_uniform(words[0], words[1]);
    const float key = dllm_position_key(&rule, row);
    return scale > 0.0f ? key / scale + dllm_gumbel(words[0], words[1]) : key;
}

/* A float whose unsigned order is the descending order of keys; -0 is 0. */
DLLM_RULE uint32_t dllm_descending_bits(float key)
{
    union {
        float number;
        uint32_t bits;
    } view;
    view.number = key + 0.0f;
    return view.bits >> 31 ? view.bits : ~(view.bits | 0x80000000u);
}

/* ---- select ------------------------------------------------------------------------------- */

/** What a position that may not be chosen is sorted by. */
#define DLLM_NOT_ELIGIBLE (~(uint64_t)0)

/* Up to so many positions are ranked, more are sorted: a GPU's team has a thread for each. */
#ifndef DLLM_RANKED_MAX
#define DLLM_RANKED_MAX 128
#endif

/* Position i of the block, before its row is looked at. */
DLLM_RULE void dllm_clear_position(const dllm_step *step, int32_t i, int32_t q)
{
    const dllm_step_block *block = &step->block;
    block->sorted[i] = DLLM_NOT_ELIGIBLE;
    block->masked[i] = (uint8_t)(q < step->record->eligible_end && dllm_is_masked(step, q));
    block->usable[i] = 0;
    block->edited[i] = 0;
    block->chosen[i] = 0;
    block->token[i] = 0;
    block->key[i] = 0.0f;
    block->entropy[i] = 0.0f;
}

/* May the token at a position change, and should it? (decode.md 3.2) */
DLLM_RULE int32_t dllm_wants_edit(const dllm_step *step, const dllm_key_row *row, int32_t q)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const int64_t place = (int64_t)step->sequence * step->params->positions_max;
    return manner->edits && !dllm_is_masked(step, q) &&
           !step->params->guarded[place + q - step->record->low] &&
           row->confidence > step->rules->edit_threshold && row->token != manner->mask_id &&
           row->token != dllm_canvas_read(step, q);
}

/* Row r of the sequence into its position; *uncovered and *bad count. */
DLLM_RULE void dllm_take_row(const dllm_step *step, int64_t r, int32_t *uncovered,
                             int32_t *unusable, int32_t *bad)
{
    const dllm_step_block *block = &step->block;
    const dllm_decode_manner *manner = &step->params->manner;
    const int32_t q = step->params->rows.position[r], i = q - dllm_step_begin(step);
    dllm_step_token token = dllm_take_token(step, r);
    *uncovered += !token.covered;
    *unusable += token.row.unusable != 0;
    if (step->params->outputs.flags[r] & DLLM_ROW_FLAG && q < *bad) *bad = q;
    if (token.row.unusable) return;
    const float key = dllm_take_key(step, &token.row, q);
    block->usable[i] = 1;
    block->token[i] = token.row.token;
    block->key[i] = key;
    block->entropy[i] = token.row.entropy;
    block->edited[i] = (uint8_t)dllm_wants_edit(step, &token.row, q);
    const int32_t excluded = manner->excludes_mask && token.row.token == manner->mask_id;
    if (block->masked[i] && !excluded && key == key)
        block->sorted[i] = (uint64_t)dllm_descending_bits(key) << 32 | (uint32_t)i;
}

/* Sorts a power of 2 of words, ascending (bitonic: the same comparisons for any team). */
DLLM_RULE void dllm_sort_words(uint64_t *words, int32_t count)
{
    for (int32_t run = 2; run <= count; run *= 2)
        for (int32_t distance = run / 2; distance > 0; distance /= 2) {
            dllm_team_meet();
            for (int32_t i = dllm_team_rank(); i < count; i += dllm_team_size()) {
                const int32_t other = i ^ distance;
                if (other < i) continue; /* its thread may be writing both */
                const uint64_t a = words[i], b = words[other];
                const int32_t ascends = (i & run) == 0;
                if ((a > b) != ascends || a == b) continue;
                words[i] = b;
                words[other] = a;
            }
        }
    dllm_team_meet();
}

/* The words with which positions are sorted: best first, those that are not eligible last. */
DLLM_RULE void dllm_sort_positions(const dllm_step_block *block, int32_t positions)
{
    int32_t size = 1;
    DLLM_ROLLED
    while (size < positions)
        size *= 2;
    DLLM_ROLLED
    for (int32_t i = positions + dllm_team_rank(); i < size; i += dllm_team_size())
        block->sorted[i] = DLLM_NOT_ELIGIBLE;
    dllm_sort_words(block->sorted, size);
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size())
        block->order[i] = (int32_t)(uint32_t)block->sorted[i];
}

/* The same order, by counting the better ones of each: no meeting, where a sort has one a round. */
DLLM_RULE void dllm_rank_positions(const dllm_step_block *block, int32_t positions)
{
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size()) {
        const uint64_t own = block->sorted[i];
        int32_t better = 0;
        for (int32_t j = 0; j < positions; j++)
            better += block->sorted[j] < own;
        if (own != DLLM_NOT_ELIGIBLE) block->order[better] = i;
    }
}

/* The eligible positions in order; returns how many. */
DLLM_RULE int32_t dllm_order_keys(const dllm_step *step, int32_t positions)
{
    const dllm_step_block *block = &step->block;
    int32_t eligible = 0;
    if (positions <= DLLM_RANKED_MAX)
        dllm_rank_positions(block, positions);
    else
        dllm_sort_positions(block, positions);
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size())
        eligible += block->sorted[i] != DLLM_NOT_ELIGIBLE;
    return dllm_team_sum(eligible);
}

/* The selection of this step: its count, or its coin, by the schedule. */
DLLM_RULE dllm_select_rule dllm_scheduled_rule(const dllm_step *step)
{
    const dllm_sequence_rules *rules = step->rules;
    const dllm_sequence_record *record = step->record;
    dllm_select_rule rule = rules->select;
    const float fraction = rules->schedule == DLLM_SCHEDULE_DREAM
                               ? dllm_dream_fraction(record->step, rules->steps, rules->eps)
                               : 1.0f;
    if (rules->schedule == DLLM_SCHEDULE_EVEN)
        rule.count = dllm_even_count(record->entry_masks, rules->steps, record->step);
    if (rules->schedule == DLLM_SCHEDULE_EVEN_BLOCK)
        rule.count = dllm_even_count(rules->block_length, rules->steps, record->step);
    if (rules->schedule == DLLM_SCHEDULE_DREAM)
        rule.count = dllm_dream_count(record->masks, fraction);
    if (rule.name == DLLM_SELECT_COINS) rule.threshold = fraction;
    if (rule.name == DLLM_SELECT_DYNAMIC && rule.count < 1) rule.count = 1;
    return rule;
}

/* ---- trace -------------------------------------------------------------------------------- */

DLLM_RULE void dllm_write_change(const dllm_step *step, int64_t slot, const dllm_change *change)
{
    if (slot < step->params->trace_max) step->params->trace[slot] = *change;
}

/* From the last chosen key to the first refused one. */
DLLM_RULE float dllm_key_gap(const dllm_step *step, int32_t eligible)
{
    const dllm_step_block *block = &step->block;
    float chosen = DLLM_INFINITY, refused = -DLLM_INFINITY;
    DLLM_ROLLED
    for (int32_t i = 0; i < eligible; i++) {
        const int32_t place = block->order[i];
        if (block->chosen[place])
            chosen = block->key[place] < chosen ? block->key[place] : chosen;
        else
            refused = block->key[place] > refused ? block->key[place] : refused;
    }
    return chosen < DLLM_INFINITY && refused > -DLLM_INFINITY ? chosen - refused : DLLM_INFINITY;
}

/* Everything that is about to change, by ascending position, and the step behind it. */
DLLM_RULE void dllm_trace_step(const dllm_step *step, int32_t positions, int32_t eligible)
{
    const dllm_step_block *block = &step->block;
    const dllm_sequence_record *record = step->record;
    const int64_t mask_id = step->params->manner.mask_id;
    int32_t changes = 0, commits = 0, masks = record->masks;
    if (step->params->trace_max == 0) return;
    DLLM_ROLLED
    for (int32_t i = 0; i < positions; i++)
        changes += (block->chosen[i] && block->token[i] != mask_id) || block->edited[i];
    int64_t slot = dllm_team_claim(&step->params->batch->traced, changes + 1);
    DLLM_ROLLED
    for (int32_t i = 0; i < positions; i++) {
        const int32_t commits_this = block->chosen[i] && block->token[i] != mask_id;
        const int32_t q = dllm_step_begin(step) + i;
        if (!commits_this && !block->edited[i]) continue;
        const dllm_change change = {step->sequence,
                                    record->forwards,
                                    commits_this ? DLLM_CHANGE_COMMIT : DLLM_CHANGE_EDIT,
                                    q,
                                    dllm_canvas_read(step, q),
                                    block->token[i],
                                    block->key[i],
                                    0};
        dllm_write_change(step, slot++, &change);
        commits += commits_this;
        masks -= commits_this && q >= record->low;
    }
    const dllm_change end = {step->sequence,
                             record->forwards,
                             DLLM_CHANGE_STEP,
                             record->reads,
                             commits,
                             masks,
                             dllm_key_gap(step, eligible),
                             0};
    dllm_write_change(step, slot, &end);
}

/* ---- commit ------------------------------------------------------------------------------- */

/* Chooses among the sorted positions; rank 0 alone. */
DLLM_RULE void dllm_choose(const dllm_step *step, int32_t positions, int32_t eligible)
{
    const dllm_step_block *block = &step->block;
    const dllm_decode_manner *manner = &step->params->manner;
    const dllm_sequence_record *record = step->record;
    const dllm_select_rule rule = dllm_scheduled_rule(step);
    const dllm_select_rows rows = {positions,  eligible,       block->masked, block->order,
                                   block->key, block->entropy, block->chosen};
    const int32_t first = record->low - dllm_step_begin(step);
    (void)dllm_select_cleared(&rule, &rows);
    if (manner->first_from_full && record->step == 0 && block->masked[first] &&
        block->usable[first])
        block->chosen[first] = 1;
    const int32_t is_post = record->masks == 0;
    if (manner->drops_last_edits && is_post && record->post >= step->rules->max_post_steps)
        DLLM_ROLLED
    for (int32_t i = 0; i < positions; i++)
        block->edited[i] = 0;
}

/* Writes what was chosen, and counts what is left. */
DLLM_RULE dllm_step_tally dllm_commit_all(const dllm_step *step, int32_t positions)
{
    const dllm_step_block *block = &step->block;
    const int64_t mask_id = step->params->manner.mask_id;
    const int32_t searched = (int32_t)dllm_end_search(step->rules->eos_rule, step->rules->prompt);
    dllm_step_tally tally = {1, 0, 0, 0, 0, DLLM_NO_POSITION, DLLM_NO_POSITION};
    enum { COMMITTED, EDITED, LEFT, USABLE, SUMS };
    int32_t sums[SUMS] = {0, 0, 0, 0};
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size()) {
        const int32_t q = dllm_step_begin(step) + i;
        const int32_t commits = block->chosen[i] && block->token[i] != mask_id;
        const int32_t stays = block->masked[i] && !commits;
        if (commits || block->edited[i]) dllm_canvas_write(step, q, block->token[i]);
        sums[COMMITTED] += commits;
        sums[EDITED] += block->edited[i];
        sums[LEFT] += stays;
        sums[USABLE] += stays && block->usable[i];
        if (stays && q < tally.position) tally.position = q;
        if (commits && q < tally.eos && q >= searched && dllm_ends_sequence(step, block->token[i]))
            tally.eos = q;
    }
    dllm_team_sums(sums, SUMS);
    tally.committed = sums[COMMITTED];
    tally.edited = sums[EDITED];
    tally.left = sums[LEFT];
    tally.usable = sums[USABLE];
    tally.position = dllm_team_least(tally.position);
    if (step->rules->eos_count > 0) tally.eos = dllm_team_least(tally.eos);
    return tally;
}

#endif
