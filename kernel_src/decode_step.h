/*
 * decode_step.h - a step of one sequence: list its rows, choose and commit, move on (decode.md 7)
 *
 * Written once, for the CPU backend and for the kernels decode_list and decode_select: a team of
 * threads takes it (decode_team.h). Only rank 0 decides; loops over positions are shared out. A
 * record is written by rank 0 alone, and read by the others after a meeting.
 */
#ifndef DLLM_DECODE_STEP_H
#define DLLM_DECODE_STEP_H

#include "decode_step_choice.h"
#include "decode_step_list.h"
#include "decode_step_next.h"

/* Tokens and keys of all rows; returns the lowest position whose row is outside the window. */
DLLM_RULE int32_t dllm_take_rows(const dllm_step *step, int32_t positions)
{
    const dllm_sequence_record *record = step->record;
    int32_t kinds[2] = {0, 0}; /* of rows: uncovered, unusable */
    int32_t bad = DLLM_NO_POSITION;
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < positions; i += dllm_team_size())
        dllm_clear_position(step, i, dllm_step_begin(step) + i);
    dllm_team_meet();
    DLLM_ROLLED
    for (int32_t i = dllm_team_rank(); i < record->reads; i += dllm_team_size())
        dllm_take_row(step, record->first_row + i, &kinds[0], &kinds[1], &bad);
    dllm_team_sums(kinds, 2);
    bad = dllm_team_least(bad);
    if (dllm_team_rank() == 0) {
        step->record->uncovered += kinds[0];
        step->record->unusable += kinds[1];
        if (bad < DLLM_NO_POSITION)
            dllm_fail_sequence(step, DLLM_RECORD_BAD_ROW, bad);
        else if (kinds[0] > 0 && step->params->manner.strict_filter)
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
    const int32_t is_made = dllm_is_running(step);
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
            if (tally.eos < record->first_eos) record->first_eos = tally.eos;
        }
        dllm_team_meet();
        if (tally.edited > 0) dllm_find_first_eos(step); /* it may be gone */
        dllm_step_settle(step, tally);
    } else if (dllm_is_running(step)) {
        dllm_step_settle(step, dllm_nothing_read());
    }
    dllm_team_meet();
    if (dllm_team_rank() != 0) return;
    record->forwards += is_made;
    dllm_step_finish(step);
}

/** Sequence `s` of a step whose arrays lie in `params`. The cancel word is the host's, and far from a
    GPU: it is asked for here, before anything else, and needed last. */
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
    const int32_t cancelled = dllm_team_rank() == 0 ? *params->cancel : 0;
    const dllm_step step = {params, params->rules + s, params->records + s, block, s, cancelled};
    return step;
}

#endif
