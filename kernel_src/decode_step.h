/*
 * decode_step.h - a step of one sequence: list its rows, choose and commit, move on (decode.md 7)
 *
 * Written once, for the CPU backend and for the kernels decode_list and decode_select: a team of
 * threads takes it (decode_team.h). Only rank 0 decides; loops over positions are shared out. A
 * record is written by rank 0 alone, and read by the others after a meeting.
 */
#ifndef DLLM_DECODE_STEP_H
#define DLLM_DECODE_STEP_H

#include "decode_control.h"
#include "noise.h"

#ifdef DLLM_TEAM
#include "decode_team.cuh"
#else
#include "decode_team.h"
#endif

/** The id that position numbers are drawn by; no vocabulary reaches it. */
#define DLLM_POSITION_ID 0xfffffffell

/** One sequence of a step. */
typedef struct dllm_step {
    const dllm_decode_params *params;
    const dllm_sequence_rules *rules;
    dllm_sequence_record *record;
    dllm_step_block block;
    int32_t sequence;
} dllm_step;

/** What a step did to a sequence. */
typedef struct dllm_step_tally {
    int32_t is_read; /* 0: no row was read since the block was entered */
    int32_t committed;
    int32_t edited;
    int32_t has_eos;  /* among what was committed */
    int32_t left;     /* eligible masks */
    int32_t usable;   /* of them, with a usable row */
    int32_t position; /* the lowest of them, INT32_MAX without one */
} dllm_step_tally;

enum { DLLM_NO_POSITION = 0x7fffffff };

/* ---- canvas ------------------------------------------------------------------------------- */

DLLM_RULE int64_t dllm_canvas_read(const dllm_step *step, int32_t q)
{
    const int64_t i = step->rules->canvas + q;
    return step->params->manner.ids_are_64 ? ((const int64_t *)step->params->canvas)[i]
                                           : ((const int32_t *)step->params->canvas)[i];
}

DLLM_RULE void dllm_canvas_write(const dllm_step *step, int32_t q, int64_t id)
{
    const int64_t i = step->rules->canvas + q;
    if (step->params->manner.ids_are_64)
        ((int64_t *)step->params->canvas)[i] = id;
    else
        ((int32_t *)step->params->canvas)[i] = (int32_t)id;
}

DLLM_RULE int32_t dllm_is_masked(const dllm_step *step, int32_t q)
{
    return dllm_canvas_read(step, q) == step->params->manner.mask_id;
}

DLLM_RULE int32_t dllm_ends_sequence(const dllm_step *step, int64_t id)
{
    for (int32_t i = 0; i < step->rules->eos_count; i++)
        if (step->rules->eos[i] == id) return 1;
    return 0;
}

/** Masks of [begin, end), for the whole team. */
DLLM_RULE int32_t dllm_masks_between(const dllm_step *step, int32_t begin, int32_t end)
{
    int32_t count = 0;
    for (int32_t q = begin + dllm_team_rank(); q < end; q += dllm_team_size())
        count += dllm_is_masked(step, q);
    return dllm_team_sum(count);
}

/** The lowest position of an EOS, the sequence's length without one, for the whole team. */
DLLM_RULE int32_t dllm_first_eos(const dllm_step *step)
{
    const dllm_sequence_rules *rules = step->rules;
    int32_t first = rules->length;
    if (rules->eos_count == 0) return first;
    const int32_t begin = (int32_t)dllm_end_search(rules->eos_rule, rules->prompt);
    for (int32_t q = begin + dllm_team_rank(); q < first; q += dllm_team_size())
        if (dllm_ends_sequence(step, dllm_canvas_read(step, q))) first = q;
    return dllm_team_least(first);
}

/* Positions [begin, end) that a step looks at. */
DLLM_RULE int32_t dllm_step_begin(const dllm_step *step)
{
    return step->params->manner.eligible_prefix ? 0 : step->record->low;
}

DLLM_RULE int32_t dllm_step_end(const dllm_step *step)
{
    return step->params->manner.edits ? step->record->high : step->record->eligible_end;
}

DLLM_RULE int32_t dllm_is_running(const dllm_step *step)
{
    return step->record->state == DLLM_RECORD_RUNNING;
}

/* ---- noise -------------------------------------------------------------------------------- */

DLLM_RULE dllm_noise_stream dllm_position_stream(const dllm_step *step, int32_t q, int32_t draw)
{
    dllm_noise_stream stream;
    stream.seed = step->rules->seed;
    stream.key = (step->rules->request_key << 32) + (uint64_t)q;
    stream.draw = (uint32_t)draw;
    return stream;
}

/* The words of a position's own number, in the forward under way. */
DLLM_RULE void dllm_position_words(uint32_t out[2], const dllm_step *step, int32_t q)
{
    const dllm_decode_params *params = step->params;
    const dllm_noise_stream stream = dllm_position_stream(step, q, step->record->forwards - 1);
    if (!params->given_positions) {
        dllm_noise_words(out, &stream, DLLM_POSITION_ID);
        return;
    }
    const int64_t i = (int64_t)step->sequence * params->length_max + q;
    out[0] = params->given_positions[2 * i];
    out[1] = params->given_positions[2 * i + 1];
}

/* The words of an id in row r, whose position is q. */
DLLM_RULE void dllm_id_words(uint32_t out[2], const dllm_step *step, int64_t r, int64_t id)
{
    const dllm_decode_params *params = step->params;
    const dllm_noise_stream stream =
        dllm_position_stream(step, params->rows.position[r], step->record->forwards - 1);
    if (!params->rows.noise) {
        dllm_noise_words(out, &stream, id);
        return;
    }
    out[0] = params->rows.noise[2 * (r * params->vocab + id)];
    out[1] = params->rows.noise[2 * (r * params->vocab + id) + 1];
}

/* ---- list --------------------------------------------------------------------------------- */

/* The hidden row of a position; -1: it is outside what the trunk gives. */
DLLM_RULE int64_t dllm_source_row(const dllm_step *step, int32_t q, int64_t r)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const int32_t before = manner->layout == DLLM_ROWS_BLOCK_AND_BEFORE && step->record->low > 0;
    const int64_t from = manner->layout == DLLM_ROWS_CANVAS ? 0 : step->record->low - before;
    if (manner->layout == DLLM_ROWS_GATHERED) return r;
    const int64_t row = dllm_hidden_row(q, manner->shifted, from, from + step->params->window_rows);
    return row < 0 ? -1 : row + step->sequence * step->params->window_rows;
}

DLLM_RULE void dllm_copy_noise(const dllm_step *step, int32_t q, int64_t r)
{
    const dllm_decode_params *params = step->params;
    const int64_t words = 2 * params->vocab;
    const int64_t row = (int64_t)step->sequence * params->length_max + q;
    for (int64_t i = 0; i < words; i++)
        params->rows.noise[r * words + i] = params->given_noise[row * words + i];
}

DLLM_RULE void dllm_fill_row(const dllm_step *step, int32_t q, int64_t r)
{
    const dllm_step_rows *rows = &step->params->rows;
    const dllm_noise_stream stream = dllm_position_stream(step, q, step->record->forwards);
    const int32_t has_penalty = step->rules->penalty != 0.0f && q > step->record->low;
    rows->position[r] = q;
    rows->source[r] = dllm_source_row(step, q, r);
    if (rows->temperature) rows->temperature[r] = step->rules->temperature;
    if (rows->key) rows->key[r] = stream.key;
    if (rows->seed) rows->seed[r] = stream.seed;
    if (rows->draw) rows->draw[r] = stream.draw;
    if (rows->penalty_id) rows->penalty_id[r] = has_penalty ? dllm_canvas_read(step, q - 1) : -1;
    if (rows->penalty) rows->penalty[r] = has_penalty ? step->rules->penalty : 0.0f;
    if (rows->noise) dllm_copy_noise(step, q, r);
}

/* Rows of the sequences in front; *total is that of all. */
DLLM_RULE int32_t dllm_rows_before(const dllm_decode_params *params, int32_t sequence,
                                   int32_t *total)
{
    int32_t before = 0, all = 0;
    for (int32_t s = dllm_team_rank(); s < params->sequences; s += dllm_team_size()) {
        all += params->records[s].reads;
        before += s < sequence ? params->records[s].reads : 0;
    }
    *total = dllm_team_sum(all);
    return dllm_team_sum(before);
}

/* The batch's share of a step's start, for one team to take. */
DLLM_RULE void dllm_count_forward(const dllm_decode_params *params, int32_t rows)
{
    dllm_batch_record *batch = params->batch;
    batch->rows = *params->cancel ? 0 : rows;
    if (*params->cancel) return;
    if (batch->unfinished > 0)
        batch->forwards++;
    else
        batch->idle_forwards++;
}

/* Ends a sequence, or takes note of its forward. */
DLLM_RULE void dllm_enter_step(const dllm_step *step, int32_t first_row)
{
    dllm_sequence_record *record = step->record;
    record->first_row = first_row;
    if (!dllm_is_running(step)) return;
    if (*step->params->cancel) {
        record->state = DLLM_RECORD_CANCELLED;
        dllm_team_add(&step->params->batch->unfinished, -1);
    } else {
        record->forwards++;
    }
}

/** Lists the rows that a step of a sequence reads. */
DLLM_RULE void dllm_step_list(const dllm_step *step)
{
    const dllm_decode_manner *manner = &step->params->manner;
    int32_t total, found = 0;
    const int32_t first = dllm_rows_before(step->params, step->sequence, &total);
    int32_t row = first;
    if (step->sequence == 0 && dllm_team_rank() == 0) dllm_count_forward(step->params, total);
    const int32_t end = step->record->reads > 0 ? dllm_step_end(step) : 0;
    for (int32_t base = dllm_step_begin(step); base < end; base += dllm_team_size()) {
        const int32_t q = base + dllm_team_rank();
        const int32_t is_read = q < end && (manner->edits || dllm_is_masked(step, q));
        const int32_t place = dllm_team_place(is_read, &found);
        if (is_read) dllm_fill_row(step, q, row + place);
        row += found;
    }
    dllm_team_meet(); /* all have read the record */
    if (dllm_team_rank() == 0) dllm_enter_step(step, first);
}

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

/* Position i of the block, before its row is looked at. */
DLLM_RULE void dllm_clear_position(const dllm_step *step, int32_t i, int32_t q)
{
    const dllm_step_block *block = &step->block;
    block->sorted[i] = ~(uint64_t)0;
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
                const uint64_t a = words[i], b = words[other];
                const int32_t ascends = (i & run) == 0;
                if (other < i || (a > b) != ascends || a == b) continue;
                words[i] = b;
                words[other] = a;
            }
        }
    dllm_team_meet();
}

/* The eligible positions in order; returns how many. */
DLLM_RULE int32_t dllm_order_keys(const dllm_step *step, int32_t positions)
{
    const dllm_step_block *block = &step->block;
    int32_t size = 1, eligible = 0;
    while (size < positions)
        size *= 2;
    for (int32_t i = positions + dllm_team_rank(); i < size; i += dllm_team_size())
        block->sorted[i] = ~(uint64_t)0;
    dllm_sort_words(block->sorted, size);
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size()) {
        block->order[i] = (int32_t)(uint32_t)block->sorted[i];
        eligible += block->sorted[i] != ~(uint64_t)0;
    }
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
    for (int32_t i = 0; i < positions; i++)
        changes += (block->chosen[i] && block->token[i] != mask_id) || block->edited[i];
    int64_t slot = dllm_team_claim(&step->params->batch->traced, changes + 1);
    for (int32_t i = 0; i < positions; i++) {
        const int32_t commits_this = block->chosen[i] && block->token[i] != mask_id;
        const int32_t q = dllm_step_begin(step) + i;
        if (!commits_this && !block->edited[i]) continue;
        const dllm_change change = {step->sequence,
                                    record->forwards - 1,
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
                             record->forwards - 1,
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
    (void)dllm_select(&rule, &rows);
    if (manner->first_from_full && record->step == 0 && block->masked[first] &&
        block->usable[first])
        block->chosen[first] = 1;
    const int32_t is_post = record->masks == 0;
    if (manner->drops_last_edits && is_post && record->post >= step->rules->max_post_steps)
        for (int32_t i = 0; i < positions; i++)
            block->edited[i] = 0;
}

/* Writes what was chosen, and counts what is left. */
DLLM_RULE dllm_step_tally dllm_commit_all(const dllm_step *step, int32_t positions)
{
    const dllm_step_block *block = &step->block;
    const int64_t mask_id = step->params->manner.mask_id;
    dllm_step_tally tally = {1, 0, 0, 0, 0, 0, DLLM_NO_POSITION};
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size()) {
        const int32_t q = dllm_step_begin(step) + i;
        const int32_t commits = block->chosen[i] && block->token[i] != mask_id;
        const int32_t stays = block->masked[i] && !commits;
        if (commits || block->edited[i]) dllm_canvas_write(step, q, block->token[i]);
        tally.committed += commits;
        tally.edited += block->edited[i];
        tally.has_eos |= commits && dllm_ends_sequence(step, block->token[i]);
        tally.left += stays;
        tally.usable += stays && block->usable[i];
        if (stays && q < tally.position) tally.position = q;
    }
    tally.committed = dllm_team_sum(tally.committed);
    tally.edited = dllm_team_sum(tally.edited);
    tally.has_eos = dllm_team_sum(tally.has_eos) > 0;
    tally.left = dllm_team_sum(tally.left);
    tally.usable = dllm_team_sum(tally.usable);
    tally.position = dllm_team_least(tally.position);
    return tally;
}

/* ---- what comes next ---------------------------------------------------------------------- */

DLLM_RULE void dllm_end_sequence(const dllm_step *step, int32_t state)
{
    step->record->state = state;
    step->record->moved = 0;
    dllm_team_add(&step->params->batch->unfinished, -1);
}

DLLM_RULE void dllm_fail_sequence(const dllm_step *step, int32_t state, int32_t position)
{
    dllm_end_sequence(step, state);
    step->record->error_position = position;
    step->record->error_step = step->record->forwards - 1;
}

/* The block that begins at `low`; none is left: done. */
DLLM_RULE void dllm_enter_block(const dllm_step *step, int32_t low)
{
    dllm_sequence_record *record = step->record;
    const int32_t high = low + step->rules->block_length;
    record->moved = 1;
    if (low >= step->rules->length) {
        dllm_end_sequence(step, DLLM_RECORD_DONE);
        return;
    }
    record->low = low;
    record->high = high < step->rules->length ? high : step->rules->length;
    record->step = 0;
    record->post = 0;
    record->phase = DLLM_FORWARD_REFRESH;
}

DLLM_RULE void dllm_leave_block(const dllm_step *step)
{
    if (step->params->manner.persists && step->record->phase != DLLM_FORWARD_PERSIST) {
        step->record->phase = DLLM_FORWARD_PERSIST;
        return;
    }
    step->record->block++;
    dllm_enter_block(step, step->record->high);
}

/* Has the block had all of its forwards? `changed`: the last of them changed something. */
DLLM_RULE int32_t dllm_is_block_done(const dllm_step *step, int32_t changed)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const dllm_sequence_record *record = step->record;
    const int32_t is_last = step->rules->steps > 0 && record->step >= step->rules->steps;
    if (manner->fixed_steps || is_last) return is_last;
    if (record->masks > 0) return 0;
    if (!manner->edits) return 1;
    if (record->post > 0 && !changed) return 1;
    return manner->drops_last_edits ? record->post > step->rules->max_post_steps
                                    : record->post >= step->rules->max_post_steps;
}

/* After a forward that was read; rank 0 alone. */
DLLM_RULE void dllm_judge_step(const dllm_step *step, const dllm_step_tally *tally)
{
    const dllm_decode_manner *manner = &step->params->manner;
    dllm_sequence_record *record = step->record;
    const int32_t left = dllm_left_by(tally->committed, tally->left, tally->usable,
                                      dllm_is_data_driven(&step->rules->select));
    if (left == DLLM_LEFT_UNUSABLE_ROW) {
        dllm_fail_sequence(step, DLLM_RECORD_UNUSABLE_ROW, tally->position);
    } else if (left == DLLM_LEFT_NO_PROGRESS) {
        dllm_fail_sequence(step, DLLM_RECORD_NO_PROGRESS, tally->position);
    } else if (dllm_is_block_done(step, tally->committed + tally->edited > 0)) {
        if (record->masks > 0 && !manner->eligible_prefix && !manner->allows_mask)
            dllm_fail_sequence(step, DLLM_RECORD_NO_PROGRESS, tally->position);
        else
            dllm_leave_block(step);
    }
}

/* Is there nothing to do in a block that has just been entered? */
DLLM_RULE int32_t dllm_is_idle_block(const dllm_step *step)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const int32_t edits = manner->edits && step->rules->max_post_steps > 0;
    return step->record->masks == 0 && !manner->fixed_steps && !edits;
}

/* What the canvas says of the sequence's end and block; for the whole team. */
DLLM_RULE dllm_end dllm_look_at_canvas(const dllm_step *step, int32_t has_eos)
{
    const dllm_sequence_rules *rules = step->rules;
    const dllm_sequence_record *record = step->record;
    const int32_t seeks = rules->eos_rule != DLLM_EOS_NEVER;
    dllm_end_counts counts = {rules->length, 0, 0, has_eos};
    if (seeks) counts.first_eos = dllm_first_eos(step);
    if (seeks && counts.first_eos < rules->length)
        counts.gap_masks = dllm_masks_between(step, rules->prompt, (int32_t)counts.first_eos);
    counts.block_masks = dllm_masks_between(step, record->low, record->high);
    return dllm_end_by(rules->eos_rule, record->high, rules->length, &counts);
}

/* Writes EOS behind the first one, or the fill id over the masks there. */
DLLM_RULE void dllm_fill_behind(const dllm_step *step, const dllm_end *end)
{
    const dllm_sequence_rules *rules = step->rules;
    const int32_t writes_eos = end->fill_from < rules->length;
    const int32_t fills = end->stop && rules->fill_id >= 0;
    if (!writes_eos && !fills) return;
    const int64_t id =
        writes_eos ? dllm_canvas_read(step, (int32_t)end->first_eos) : rules->fill_id;
    for (int32_t q = (int32_t)end->first_eos + 1 + dllm_team_rank(); q < rules->length;
         q += dllm_team_size())
        if (writes_eos || dllm_is_masked(step, q)) dllm_canvas_write(step, q, id);
    dllm_team_meet();
}

/* Which tokens of a block that was entered may not be edited. */
DLLM_RULE void dllm_guard_block(const dllm_step *step)
{
    const dllm_decode_manner *manner = &step->params->manner;
    const dllm_sequence_record *record = step->record;
    uint8_t *guarded =
        step->params->guarded + (int64_t)step->sequence * step->params->positions_max;
    for (int32_t q = record->low + dllm_team_rank(); q < record->high; q += dllm_team_size())
        guarded[q - record->low] =
            (uint8_t)(manner->guards_given ? !dllm_is_masked(step, q) : q < step->rules->prompt);
}

/* Masks of the block that may be committed, and rows of the next forward; for the whole team. */
DLLM_RULE void dllm_measure_block(const dllm_step *step, const dllm_end *end)
{
    const dllm_decode_manner *manner = &step->params->manner;
    dllm_sequence_record *record = step->record;
    const int32_t eligible_end = (int32_t)end->eligible_end;
    const int32_t masks = dllm_masks_between(step, record->low, eligible_end);
    const int32_t older = manner->eligible_prefix ? dllm_masks_between(step, 0, record->low) : 0;
    dllm_team_meet();
    if (dllm_team_rank() == 0) {
        record->eligible_end = eligible_end;
        record->masks = masks;
        record->reads = manner->edits ? record->high - record->low : masks + older;
    }
    dllm_team_meet();
}

/** Brings a sequence to its next forward, or to its end, from what the last forward did. */
DLLM_RULE void dllm_step_settle(const dllm_step *step, dllm_step_tally tally)
{
    dllm_sequence_record *record = step->record;
    do {
        const dllm_end end = dllm_look_at_canvas(step, tally.has_eos);
        dllm_fill_behind(step, &end);
        dllm_measure_block(step, &end);
        const int32_t entered = record->moved;
        if (entered && step->params->manner.edits) dllm_guard_block(step);
        dllm_team_meet();
        if (dllm_team_rank() == 0) {
            record->moved = 0;
            if (entered) record->entry_masks = record->masks;
            if (end.stop)
                dllm_end_sequence(step, DLLM_RECORD_DONE_EOS);
            else if (tally.is_read)
                dllm_judge_step(step, &tally);
            else if (record->phase == DLLM_FORWARD_PERSIST || dllm_is_idle_block(step))
                dllm_leave_block(step);
        }
        tally.is_read = 0;
        tally.has_eos = 0;
        dllm_team_meet();
    } while (record->moved);
}

/* A sequence that has ended: nothing is read for it, and where its result ends. */
DLLM_RULE void dllm_step_finish(const dllm_step *step)
{
    const int32_t first = dllm_first_eos(step);
    dllm_team_meet();
    if (dllm_team_rank() != 0) return;
    if (!dllm_is_running(step) || step->record->phase == DLLM_FORWARD_PERSIST)
        step->record->reads = 0;
    step->record->end = first < step->rules->length ? first + 1 : step->rules->length;
}

DLLM_RULE dllm_step_tally dllm_nothing_read(void)
{
    const dllm_step_tally tally = {0, 0, 0, 0, 0, 0, DLLM_NO_POSITION};
    return tally;
}

/* A cancelled sequence goes on where it was. */
DLLM_RULE void dllm_step_resume(const dllm_step *step)
{
    const dllm_end end = dllm_look_at_canvas(step, 0);
    dllm_measure_block(step, &end);
    if (dllm_team_rank() == 0) {
        step->record->state = DLLM_RECORD_RUNNING;
        dllm_team_add(&step->params->batch->unfinished, 1);
    }
    dllm_team_meet();
}

/** Puts a sequence at its first block, or one that was cancelled back to work. */
DLLM_RULE void dllm_step_start(const dllm_step *step)
{
    const int32_t is_new = dllm_is_running(step) && step->record->block < 0;
    const int32_t is_cancelled = step->record->state == DLLM_RECORD_CANCELLED;
    if (!is_new && !is_cancelled) return;
    dllm_team_meet();
    if (is_new && dllm_team_rank() == 0) {
        step->record->block = 0;
        dllm_enter_block(step, step->rules->first_block);
    }
    dllm_team_meet();
    if (is_cancelled)
        dllm_step_resume(step);
    else if (dllm_is_running(step))
        dllm_step_settle(step, dllm_nothing_read());
    dllm_step_finish(step);
}

/* Tokens and keys of all rows; returns the lowest position whose row is outside the window. */
DLLM_RULE int32_t dllm_take_rows(const dllm_step *step, int32_t positions)
{
    const dllm_sequence_record *record = step->record;
    int32_t uncovered = 0, unusable = 0, bad = DLLM_NO_POSITION;
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size())
        dllm_clear_position(step, i, dllm_step_begin(step) + i);
    dllm_team_meet();
    for (int32_t i = dllm_team_rank(); i < record->reads; i += dllm_team_size())
        dllm_take_row(step, record->first_row + i, &uncovered, &unusable, &bad);
    uncovered = dllm_team_sum(uncovered);
    unusable = dllm_team_sum(unusable);
    bad = dllm_team_least(bad);
    if (dllm_team_rank() == 0) {
        step->record->uncovered += uncovered;
        step->record->unusable += unusable;
        if (bad < DLLM_NO_POSITION)
            dllm_fail_sequence(step, DLLM_RECORD_BAD_ROW, bad);
        else if (uncovered > 0 && step->params->manner.strict_filter)
            dllm_fail_sequence(step, DLLM_RECORD_NOT_COVERED, record->low);
    }
    dllm_team_meet();
    return bad;
}

/** Chooses, commits and moves a sequence on, from what the head says of its rows. */
DLLM_RULE void dllm_step_select(const dllm_step *step)
{
    dllm_sequence_record *record = step->record;
    const int32_t positions = dllm_step_end(step) - dllm_step_begin(step);
    const int32_t is_read = record->phase != DLLM_FORWARD_PERSIST;
    if (dllm_is_running(step) && is_read) (void)dllm_take_rows(step, positions);
    if (dllm_is_running(step) && is_read) {
        const int32_t eligible = dllm_order_keys(step, positions);
        if (dllm_team_rank() == 0) {
            dllm_choose(step, positions, eligible);
            dllm_trace_step(step, positions, eligible);
        }
        dllm_team_meet();
        const dllm_step_tally tally = dllm_commit_all(step, positions);
        dllm_team_meet();
        if (dllm_team_rank() == 0) {
            record->post += record->masks == 0;
            record->step++;
            record->phase = DLLM_FORWARD_STEP;
            record->commits += tally.committed;
            record->edits += tally.edited;
        }
        dllm_team_meet();
        dllm_step_settle(step, tally);
    } else if (dllm_is_running(step)) {
        dllm_step_settle(step, dllm_nothing_read());
    }
    dllm_team_meet();
    dllm_step_finish(step);
}

/** Sequence `s` of a step whose arrays lie in `params`. */
DLLM_RULE dllm_step dllm_step_of(const dllm_decode_params *params, int32_t s)
{
    const int64_t place = (int64_t)s * params->positions_max;
    const dllm_step_block *all = &params->block;
    const dllm_step_block block = {all->sorted + (int64_t)s * params->sorted_max,
                                   all->order + place,
                                   all->token + place,
                                   all->key + place,
                                   all->entropy + place,
                                   all->masked + place,
                                   all->usable + place,
                                   all->edited + place,
                                   all->chosen + place};
    const dllm_step step = {params, params->rules + s, params->records + s, block, s};
    return step;
}

#endif
