/*
 * llada.c - see llada.h
 */
#include "llada.h"
#include "dllm.h"

#include <assert.h>
#include <stdlib.h>

/** A decode under way. */
typedef struct decode {
    const dllm_llada_options *options;
    const dllm_llada_calls *calls;
    int32_t *canvas;
    int64_t length;
    int64_t *positions; /* (block_length) masked positions of the active block */
    int64_t *chosen;    /* (block_length) indices into positions */
    dllm_row_scores scores;
} decode;

typedef struct candidate {
    float confidence;
    int64_t row;
} candidate;

bool dllm_llada_check(const dllm_llada_options *options, int64_t prompt_length,
                      int64_t max_sequence, dllm_message *message)
{
    const intmax_t gen_length = options->gen_length;
    const intmax_t block_length = options->block_length;
    if (gen_length < 1 || block_length < 1 || options->steps < 1)
        return DLLM_REFUSE(message,
                           "gen-length %jd, block-length %jd and steps %jd must be at least 1",
                           gen_length, block_length, (intmax_t)options->steps);
    if (gen_length % block_length != 0)
        return DLLM_REFUSE(message, "block-length %jd does not divide gen-length %jd", block_length,
                           gen_length);
    if (options->steps % (gen_length / block_length) != 0)
        return DLLM_REFUSE(message, "the number of blocks, %jd, does not divide steps %jd",
                           gen_length / block_length, (intmax_t)options->steps);
    if (gen_length > max_sequence - prompt_length)
        return DLLM_REFUSE(message,
                           "prompt of %jd tokens and gen-length %jd pass the model's "
                           "max_sequence_length %jd",
                           (intmax_t)prompt_length, gen_length, (intmax_t)max_sequence);
    return true;
}

int64_t dllm_llada_scheduled(int64_t masks, int64_t steps, int64_t step)
{
    return masks / steps + (step < masks % steps);
}

static int compare_candidates(const void *left, const void *right)
{
    const candidate *a = left;
    const candidate *b = right;
    if (a->confidence != b->confidence) return a->confidence > b->confidence ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

int64_t dllm_llada_select(const dllm_row_scores *scores, int64_t count, int64_t wanted,
                          int64_t *out_rows)
{
    const uint32_t unusable = DLLM_FLAG_NONFINITE | DLLM_FLAG_EMPTY | DLLM_FLAG_ROW;
    candidate *candidates = calloc((size_t)count + 1, sizeof *candidates);
    if (!candidates) return -1;
    int64_t usable = 0;
    for (int64_t row = 0; row < count; row++)
        if (!(scores->flags[row] & unusable))
            candidates[usable++] = (candidate){scores->confidence[row], row};
    qsort(candidates, (size_t)usable, sizeof *candidates, compare_candidates);
    const int64_t chosen = usable < wanted ? usable : wanted;
    for (int64_t i = 0; i < chosen; i++)
        out_rows[i] = candidates[i].row;
    free(candidates);
    return chosen;
}

/** Lists the masked positions of [low, low + block_length). */
static int64_t list_masks(const decode *work, int64_t low)
{
    int64_t count = 0;
    for (int64_t q = low; q < low + work->options->block_length; q++)
        if (work->canvas[q] == work->options->mask_id) work->positions[count++] = q;
    return count;
}

/** One step: score the masked positions, commit the `wanted` surest, all from one forward. */
static bool run_step(const decode *work, int64_t masks, int64_t wanted, dllm_message *message)
{
    if (!work->calls->score(work->calls->user, work->canvas, work->length, work->positions, masks,
                            &work->scores, message))
        return false;
    const int64_t chosen = dllm_llada_select(&work->scores, masks, wanted, work->chosen);
    if (chosen < 0) return DLLM_REFUSE(message, "out of memory");
    if (chosen == 0 && wanted > 0)
        return DLLM_REFUSE(message,
                           "position %jd and the others that are masked have no finite logits",
                           (intmax_t)work->positions[0]);
    for (int64_t i = 0; i < chosen; i++) {
        const int32_t token = work->scores.token[work->chosen[i]];
        assert(token != work->options->mask_id);
        work->canvas[work->positions[work->chosen[i]]] = token;
    }
    if (work->calls->show) work->calls->show(work->calls->user, work->canvas, work->length);
    return true;
}

static bool run_block(const decode *work, int64_t low, int64_t *out_steps, dllm_message *message)
{
    const dllm_llada_options *options = work->options;
    const int64_t steps = options->steps / (options->gen_length / options->block_length);
    const int64_t masks_at_entry = list_masks(work, low);
    int64_t masks = masks_at_entry;
    /* With more steps than masks the last ones would commit nothing: they are left out. */
    for (int64_t step = 0; step < steps && masks > 0; step++) {
        const int64_t wanted = dllm_llada_scheduled(masks_at_entry, steps, step);
        (*out_steps)++;
        if (!run_step(work, masks, wanted, message)) return false;
        masks = list_masks(work, low);
    }
    if (masks > 0)
        return DLLM_REFUSE(message, "position %jd is still masked after the block's %jd steps",
                           (intmax_t)work->positions[0], (intmax_t)steps);
    return true;
}

bool dllm_llada_decode(const dllm_llada_options *options, const dllm_llada_calls *calls,
                       int32_t *canvas, int64_t prompt_length, int64_t *out_steps,
                       dllm_message *message)
{
    const size_t rows = (size_t)options->block_length;
    decode work = {options, calls, canvas, prompt_length + options->gen_length, NULL, NULL, {0}};
    work.positions = calloc(rows, sizeof *work.positions);
    work.chosen = calloc(rows, sizeof *work.chosen);
    work.scores.token = calloc(rows, sizeof *work.scores.token);
    work.scores.confidence = calloc(rows, sizeof *work.scores.confidence);
    work.scores.flags = calloc(rows, sizeof *work.scores.flags);
    bool done = work.positions && work.chosen && work.scores.token && work.scores.confidence &&
                work.scores.flags;
    if (!done) dllm_message_set(message, "out of memory for blocks of %zu positions", rows);
    *out_steps = 0;
    for (int64_t q = prompt_length; q < work.length; q++)
        canvas[q] = options->mask_id;
    if (done && calls->show) calls->show(calls->user, canvas, work.length);
    for (int64_t low = prompt_length; done && low < work.length; low += options->block_length)
        done = run_block(&work, low, out_steps, message);
    free(work.positions);
    free(work.chosen);
    free(work.scores.token);
    free(work.scores.confidence);
    free(work.scores.flags);
    return done;
}
