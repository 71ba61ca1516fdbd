/*
 * decode_step_list.h - the rows that a step asks the head for, and what each brings along
 */
#ifndef DLLM_DECODE_STEP_LIST_H
#define DLLM_DECODE_STEP_LIST_H

#include "decode_canvas.h"

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
    DLLM_ROLLED
    for (int64_t i = 0; i < words; i++)
        params->rows.noise[r * words + i] = params->given_noise[row * words + i];
}

/* What is taken off one id's logit in a row, -1: of none. Confidences that are published leave out EOS
   where nothing is drawn; else a rule may penalise the id in front. */
DLLM_RULE int64_t dllm_row_penalty(const dllm_step *step, int32_t q, float *amount)
{
    const dllm_sequence_rules *rules = step->rules;
    *amount = 0.0f;
    if (step->params->manner.publishes) {
        if (rules->temperature > 0.0f) return -1;
        *amount = DLLM_INFINITY;
        return step->params->manner.eos;
    }
    if (rules->penalty == 0.0f || q <= step->record->low) return -1;
    *amount = rules->penalty;
    return dllm_canvas_read(step, q - 1);
}

DLLM_RULE void dllm_fill_row(const dllm_step *step, int32_t q, int64_t r)
{
    const dllm_step_rows *rows = &step->params->rows;
    const dllm_noise_stream stream = dllm_position_stream(step, q, step->record->forwards);
    rows->position[r] = q;
    rows->source[r] = dllm_source_row(step, q, r);
    if (rows->temperature) rows->temperature[r] = step->rules->temperature;
    if (rows->key) rows->key[r] = stream.key;
    if (rows->seed) rows->seed[r] = stream.seed;
    if (rows->draw) rows->draw[r] = stream.draw;
    if (rows->penalty_id && rows->penalty)
        rows->penalty_id[r] = dllm_row_penalty(step, q, &rows->penalty[r]);
    if (rows->cfg_scale) rows->cfg_scale[r] = step->rules->cfg_scale;
    if (rows->noise) dllm_copy_noise(step, q, r);
}

/* Rows of the sequences in front; *total is that of all. */
DLLM_RULE int32_t dllm_rows_before(const dllm_decode_params *params, int32_t sequence,
                                   int32_t *total)
{
    int32_t sums[2] = {0, 0}; /* of all, of those in front */
    DLLM_ROLLED
    for (int32_t s = dllm_team_rank(); s < params->sequences; s += dllm_team_size()) {
        const int32_t reads = params->records[s].reads;
        sums[0] += reads;
        sums[1] += s < sequence ? reads : 0;
    }
    dllm_team_sums(sums, 2);
    *total = sums[0];
    return sums[1];
}

/* The batch's share of a step's start, for one team to take. A cancel takes no rows away: a team that
   has not seen it yet goes on, and finds what the head says of its rows. */
DLLM_RULE void dllm_count_forward(const dllm_step *step, int32_t rows)
{
    dllm_batch_record *batch = step->params->batch;
    batch->rows = rows;
    if (step->cancelled) return;
    if (batch->unfinished > 0)
        batch->forwards++;
    else
        batch->idle_forwards++;
}

/* Takes note of a sequence's rows, or ends it. Its forward counts once it has been made: a trunk that
   refuses it is asked for the same one again. */
DLLM_RULE void dllm_enter_step(const dllm_step *step, int32_t first_row)
{
    dllm_sequence_record *record = step->record;
    record->first_row = first_row;
    if (!dllm_is_running(step) || !step->cancelled) return;
    record->state = DLLM_RECORD_CANCELLED;
    dllm_team_add(&step->params->batch->unfinished, -1);
}

/** Lists the rows that a step of a sequence reads. */
DLLM_RULE void dllm_step_list(const dllm_step *step)
{
    const dllm_decode_manner *manner = &step->params->manner;
    int32_t total, found = 0;
    const int32_t first = dllm_rows_before(step->params, step->sequence, &total);
    int32_t row = first;
    const int32_t end = step->record->reads > 0 ? dllm_step_end(step) : 0;
    DLLM_ROLLED
    for (int32_t base = dllm_step_begin(step); base < end; base += dllm_team_size()) {
        const int32_t q = base + dllm_team_rank();
        const int32_t is_read = q < end && (manner->edits || dllm_is_masked(step, q));
        const int32_t place = dllm_team_place(is_read, &found);
        if (is_read) dllm_fill_row(step, q, row + place);
        row += found;
    }
    dllm_team_meet(); /* all have read the record */
    if (dllm_team_rank() != 0) return;
    if (step->sequence == 0) dllm_count_forward(step, total);
    dllm_enter_step(step, first);
}

#endif
