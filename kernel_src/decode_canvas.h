/*
 * decode_canvas.h - one sequence of a decode step: its canvas, and the random words of its positions
 */
#ifndef DLLM_DECODE_CANVAS_H
#define DLLM_DECODE_CANVAS_H

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
    int32_t cancelled; /* rank 0: the cancel word as the step began */
} dllm_step;

/** What a step did to a sequence. */
typedef struct dllm_step_tally {
    int32_t is_read; /* 0: no row was read since the block was entered */
    int32_t committed;
    int32_t edited;
    int32_t left;     /* eligible masks */
    int32_t usable;   /* of them, with a usable row */
    int32_t position; /* the lowest of them, INT32_MAX without one */
    int32_t eos;      /* the lowest committed EOS where one is looked for, likewise */
} dllm_step_tally;

enum { DLLM_NO_POSITION = 0x7fffffff };

/* ---- canvas ------------------------------------------------------------------------------- */

DLLM_RULE int64_t dllm_canvas_read(const dllm_step *step, int32_t q)
{
    const int64_t i = step->rules->canvas + q;
    return step->params->manner.ids_are_64 ? ((const int64_t *)step->params->canvas)[i]
                                           : ((const int32_t *)step->params->canvas)[i];
}

DLLM_RULE void dllm_write_id(const dllm_step *step, void *ids, int64_t i, int64_t id)
{
    if (step->params->manner.ids_are_64)
        ((int64_t *)ids)[i] = id;
    else
        ((int32_t *)ids)[i] = (int32_t)id;
}

/* With guidance the second canvas follows the first. */
DLLM_RULE void dllm_unconditional_write(const dllm_step *step, int32_t q, int64_t id)
{
    const dllm_decode_params *params = step->params;
    const int64_t first = (int64_t)step->sequence * params->length_max;
    if (params->unconditional) dllm_write_id(step, params->unconditional, first + q, id);
}

DLLM_RULE void dllm_canvas_write(const dllm_step *step, int32_t q, int64_t id)
{
    dllm_write_id(step, step->params->canvas, step->rules->canvas + q, id);
    dllm_unconditional_write(step, q, id);
}

DLLM_RULE int32_t dllm_is_masked(const dllm_step *step, int32_t q)
{
    return dllm_canvas_read(step, q) == step->params->manner.mask_id;
}

DLLM_RULE int32_t dllm_ends_sequence(const dllm_step *step, int64_t id)
{
    DLLM_ROLLED
    for (int32_t i = 0; i < step->rules->eos_count; i++)
        if (step->rules->eos[i] == id) return 1;
    return 0;
}

/** Masks of [begin, end), for the whole team. */
DLLM_RULE int32_t dllm_masks_between(const dllm_step *step, int32_t begin, int32_t end)
{
    int32_t count = 0;
    DLLM_ROLLED
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
    DLLM_ROLLED
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
    const dllm_noise_stream stream = dllm_position_stream(step, q, step->record->forwards);
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
        dllm_position_stream(step, params->rows.position[r], step->record->forwards);
    if (!params->rows.noise) {
        dllm_noise_words(out, &stream, id);
        return;
    }
    out[0] = params->rows.noise[2 * (r * params->vocab + id)];
    out[1] = params->rows.noise[2 * (r * params->vocab + id) + 1];
}

#endif
