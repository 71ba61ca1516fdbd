/*
 * cpu_fold.c - a block of a row's logits becomes a state
 *
 * A suppressed column holds NaN while the block is folded: no loop gives a NaN mass, order or noise.
 * The NaN that counts, one that is not suppressed, is looked for before.
 */
#include "cpu_fold.h"

#include <math.h>

#include "cpu_candidates.h"

/* Masks the suppressed columns. False if there are none, else nan_column is set. */
static bool suppress(const dllm_cpu_transform *with, const dllm_cpu_block *block,
                     int32_t *nan_column)
{
    if (dllm__cpu_suppressed(with, block->count, block->column) == 0) return false;
    dllm__cpu_suppress(with, block->logits, block->count, block->column, -INFINITY);
    *nan_column = with->vector->largest(block->logits, block->count).nan_column;
    dllm__cpu_suppress(with, block->logits, block->count, block->column, NAN);
    return true;
}

/* The largest entry but the first: it is what is largest without the first. */
static void fold_second(dllm_state *state, const dllm_cpu_transform *with,
                        const dllm_cpu_block *block, int32_t first)
{
    float *logits = block->logits;
    const float kept = logits[first];
    logits[first] = -INFINITY;
    const dllm_row_state next = with->vector->largest(logits, block->count);
    logits[first] = kept;
    int64_t place = next.column;
    if (next.max == -INFINITY) {
        /* no mass beside the first: the lowest other column that is -inf */
        place = 0;
        while (place < block->count && (place == first || logits[place] != -INFINITY))
            place++;
        if (place == block->count) return;
    }
    state->second = next.max;
    state->second_id = with->vocab_offset + block->column + place;
}

/* One column's score; NaN and -inf take no part. Of equal scores the lower id, which came before,
   wins. */
static void draw(dllm_state *state, float temperature, float z, int64_t id, uint32_t high,
                 uint32_t low)
{
    const float score = fmaf(temperature, dllm__cpu_gumbel(high, low), z);
    if (!(z > -INFINITY && score > state->score)) return;
    state->score = score;
    state->gumbel = z;
    state->gumbel_id = id;
}

/* Consecutive columns of a block, and the ids that their noise has before the first of them. */
typedef struct drawn_columns {
    int begin, end;
    int skipped; /* 1 where the pair of an odd first id begins before it, else 0 */
} drawn_columns;

/* What is no better than the best under its bound is no better: that spares nearly all logarithms. */
static void draw_under(dllm_state *state, const dllm_cpu_row *row, const dllm_cpu_block *block,
                       const dllm_cpu_noise *noise, drawn_columns columns, int64_t first_id)
{
    for (int i = columns.begin; i < columns.end; i++) {
        const int n = i - columns.begin + columns.skipped;
        const int pair = n / 2, high = n % 2 ? 2 : 0;
        if (noise->bound[n] * row->temperature + block->logits[i] > state->score)
            draw(state, row->temperature, block->logits[i], first_id + i, noise->word[high][pair],
                 noise->word[high + 1][pair]);
    }
}

static void draw_from_stream(dllm_state *state, const dllm_cpu_transform *with,
                             const dllm_cpu_row *row, const dllm_cpu_block *block)
{
    const int64_t first_id = with->vocab_offset + block->column;
    drawn_columns columns = {.skipped = (int)(first_id % 2)};
    dllm_cpu_noise noise;
    for (; columns.begin < block->count; columns = (drawn_columns){.begin = columns.end}) {
        const int room = 2 * DLLM_CPU_NOISE_PAIRS - columns.skipped;
        const int left = block->count - columns.begin;
        const int count = left < room ? left : room;
        columns.end = columns.begin + count;
        with->vector->words(&noise, &row->stream, (uint64_t)(first_id + columns.begin) / 2);
        with->vector->bound(&noise);
        if (with->vector->highest(block->logits + columns.begin, noise.bound + columns.skipped,
                                  count, row->temperature) > state->score)
            draw_under(state, row, block, &noise, columns, first_id);
    }
}

static void fold_draw(dllm_state *state, const dllm_cpu_transform *with, const dllm_cpu_row *row,
                      const dllm_cpu_block *block)
{
    if (!row->noise) {
        draw_from_stream(state, with, row, block);
        return;
    }
    const uint32_t *words = row->noise + 2 * block->column;
    for (int i = 0; i < block->count; i++, words += 2)
        draw(state, row->temperature, block->logits[i], with->vocab_offset + block->column + i,
             words[0], words[1]);
}

/* Sums at the row's temperature, with the weighted sum if entropy is asked for. */
static void fold_sums(dllm_state *state, const dllm_cpu_transform *with, const dllm_cpu_row *row,
                      const dllm_cpu_block *block)
{
    if (isinf(state->max)) {
        state->sum = state->max > 0 ? 1.0f : 0.0f; /* +inf has no softmax: never looked at */
        return;
    }
    const dllm_cpu_sums sums =
        with->vector->weigh(block->logits, block->count, state->max, row->rule.temperature);
    state->sum = sums.sum;
    if (row->rule.statistics & DLLM_STATISTIC_ENTROPY) state->weighted = sums.weighted;
}

static bool contains(const dllm_cpu_block *block, int64_t column)
{
    return column >= block->column && column - block->column < block->count;
}

/* What is asked for beside the base state. */
static void fold_more(dllm_state *state, const dllm_cpu_transform *with, const dllm_cpu_row *row,
                      const dllm_cpu_block *block)
{
    const uint32_t statistics = row->rule.statistics;
    if (statistics & DLLM_STATISTIC_SECOND && state->id >= 0)
        fold_second(state, with, block, (int32_t)(state->id - with->vocab_offset - block->column));
    if (statistics & DLLM_STATISTIC_TARGET && contains(block, row->target)) {
        const float z = block->logits[row->target - block->column];
        if (!isnan(z)) state->target = z;
    }
    if (statistics & DLLM_STATISTIC_GUMBEL && row->temperature > 0)
        fold_draw(state, with, row, block);
}

static void guide(const dllm_cpu_transform *with, const dllm_cpu_row *row,
                  const dllm_cpu_block *block)
{
    dllm__cpu_transform(with, block->unconditional, block->count, block->column);
    dllm__cpu_guide(with, block->logits, block->unconditional, block->count, row->guidance);
}

dllm_state dllm__cpu_fold(const dllm_cpu_transform *with, const dllm_cpu_row *row,
                          const dllm_cpu_block *block, dllm_state_candidate *list, int list_count)
{
    const int64_t first_id = with->vocab_offset + block->column;
    const bool weighed =
        with->transforms & DLLM_TRANSFORM_TEMPERED || row->rule.statistics & DLLM_STATISTIC_ENTROPY;
    int32_t nan_column = DLLM_NO_COLUMN;
    dllm_state state = dllm__cpu_state_init();
    if (with->transforms) dllm__cpu_transform(with, block->logits, block->count, block->column);
    if (block->unconditional) guide(with, row, block);
    if (contains(block, row->penalty_place))
        block->logits[row->penalty_place - block->column] -= row->penalty;
    const bool suppressed = suppress(with, block, &nan_column);
    const dllm_row_state base = weighed ? with->vector->largest(block->logits, block->count)
                                        : with->vector->fold(block->logits, block->count);
    if (!suppressed) nan_column = base.nan_column;
    if (nan_column != DLLM_NO_COLUMN) state.nan_id = first_id + nan_column;
    if (base.column != DLLM_NO_COLUMN) state.id = first_id + base.column;
    state.max = base.max;
    state.sum = base.sum;
    if (weighed) fold_sums(&state, with, row, block);
    if (row->rule.statistics) fold_more(&state, with, row, block);
    if (list) dllm__cpu_candidates_offer(list, list_count, block->logits, block->count, first_id);
    return state;
}
