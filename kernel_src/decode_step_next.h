/*
 * decode_step_next.h - where a sequence stands after a step: its block, its end, its state
 */
#ifndef DLLM_DECODE_STEP_NEXT_H
#define DLLM_DECODE_STEP_NEXT_H

#include "decode_canvas.h"

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
    step->record->error_step = step->record->forwards;
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

/* Is anything masked between the prompt and the first EOS? The canvas in front of the block is searched
   only where the block says no; for the whole team. */
DLLM_RULE int32_t dllm_has_gap(const dllm_step *step, int32_t first_eos)
{
    const int32_t prompt = step->rules->prompt, low = step->record->low;
    const int32_t middle = low < prompt ? prompt : low < first_eos ? low : first_eos;
    return dllm_masks_between(step, middle, first_eos) > 0 ||
           dllm_masks_between(step, prompt, middle) > 0;
}

/* What the canvas says of the sequence's end and block; for the whole team. */
DLLM_RULE dllm_end dllm_look_at_canvas(const dllm_step *step, int32_t has_eos)
{
    const dllm_sequence_rules *rules = step->rules;
    const dllm_sequence_record *record = step->record;
    dllm_end_counts counts = {record->first_eos, 0, 0, has_eos};
    if (rules->eos_rule != DLLM_EOS_NEVER && counts.first_eos < rules->length)
        counts.gap_masks = dllm_has_gap(step, record->first_eos);
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
    DLLM_ROLLED
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
    DLLM_ROLLED
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
        const dllm_end end = dllm_look_at_canvas(step, tally.eos < DLLM_NO_POSITION);
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
        tally.eos = DLLM_NO_POSITION;
        dllm_team_meet();
    } while (record->moved);
}

/* A sequence that has ended: nothing is read for it, and where its result ends; rank 0 alone. */
DLLM_RULE void dllm_step_finish(const dllm_step *step)
{
    dllm_sequence_record *record = step->record;
    const int32_t length = step->rules->length;
    if (!dllm_is_running(step) || record->phase == DLLM_FORWARD_PERSIST) record->reads = 0;
    record->end = record->first_eos < length ? record->first_eos + 1 : length;
}

DLLM_RULE dllm_step_tally dllm_nothing_read(void)
{
    const dllm_step_tally tally = {0, 0, 0, 0, 0, DLLM_NO_POSITION, DLLM_NO_POSITION};
    return tally;
}

/* The first EOS anew, from the canvas; for the whole team. */
DLLM_RULE void dllm_find_first_eos(const dllm_step *step)
{
    const int32_t first = dllm_first_eos(step);
    dllm_team_meet();
    if (dllm_team_rank() == 0) step->record->first_eos = first;
    dllm_team_meet();
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

/* The second canvas of guidance: the first with its prompt masked. What the sequence does not have is
   masked too: a trunk that takes whole canvases finds ids everywhere. */
DLLM_RULE void dllm_copy_canvas(const dllm_step *step)
{
    const dllm_sequence_rules *rules = step->rules;
    const int32_t length = dllm_is_running(step) ? rules->length : 0;
    if (!step->params->unconditional) return;
    DLLM_ROLLED
    for (int32_t q = dllm_team_rank(); q < step->params->length_max; q += dllm_team_size())
        dllm_unconditional_write(step, q,
                                 q < rules->prompt || q >= length ? step->params->manner.mask_id
                                                                  : dllm_canvas_read(step, q));
}

/** Puts a sequence at its first block, or one that was cancelled back to work. Later steps keep count
    of the first EOS; here the canvas is searched. */
DLLM_RULE void dllm_step_start(const dllm_step *step)
{
    const int32_t is_new = dllm_is_running(step) && step->record->block < 0;
    const int32_t is_cancelled = step->record->state == DLLM_RECORD_CANCELLED;
    if (step->record->block < 0) dllm_copy_canvas(step);
    dllm_team_meet();
    if (is_new && dllm_team_rank() == 0) {
        step->record->block = 0;
        dllm_enter_block(step, step->rules->first_block);
    }
    dllm_find_first_eos(step);
    if (is_cancelled)
        dllm_step_resume(step);
    else if (is_new && dllm_is_running(step))
        dllm_step_settle(step, dllm_nothing_read());
    if (dllm_team_rank() == 0) dllm_step_finish(step);
}

#endif
