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

/* One column's score. The bound spares nearly all logarithms: an entry that is no better under it is
   no better, and of equal scores the lower id, which came before, wins. */
static void draw(dllm_state *state, float temperature, float z, int64_t id, const uint32_t words[2])
{
    if (!(fmaf(temperature, dllm__cpu_gumbel_bound(words[0], words[1]), z) > state->score)) return;
    const float score = fmaf(temperature, dllm__cpu_gumbel(words[0], words[1]), z);
    if (!(score > state->score)) return;
    state->score = score;
    state->gumbel = z;
    state->gumbel_id = id;
}

/* NaN, -inf and what cannot win whatever the noise take no part. */
static bool may_win(const dllm_state *state, float temperature, float z)
{
    return z > -INFINITY && fmaf(temperature, DLLM_CPU_GUMBEL_MAX, z) > state->score;
}

static void fold_draw(dllm_state *state, const dllm_cpu_transform *with, const dllm_cpu_row *row,
                      const dllm_cpu_block *block)
{
    const float t = row->temperature;
    const int64_t first = with->vocab_offset + block->column;
    uint32_t words[4];
    int64_t drawn = -1; /* the pair of ids that words belong to */
    for (int i = 0; i < block->count; i++) {
        const int64_t id = first + i;
        const float z = block->logits[i];
        if (!may_win(state, t, z)) continue;
        if (row->noise) {
            draw(state, t, z, id, row->noise + 2 * (block->column + i));
            continue;
        }
        if (drawn != id / 2) dllm__cpu_noise_words(words, &row->stream, (uint64_t)id / 2);
        drawn = id / 2;
        draw(state, t, z, id, words + id % 2 * 2);
    }
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

dllm_state dllm__cpu_fold(const dllm_cpu_transform *with, const dllm_cpu_row *row,
                          const dllm_cpu_block *block, dllm_state_candidate *list, int list_count)
{
    const int64_t first_id = with->vocab_offset + block->column;
    const bool weighed =
        with->transforms & DLLM_TRANSFORM_TEMPERED || row->rule.statistics & DLLM_STATISTIC_ENTROPY;
    int32_t nan_column = DLLM_NO_COLUMN;
    dllm_state state = dllm__cpu_state_init();
    if (with->transforms) dllm__cpu_transform(with, block->logits, block->count, block->column);
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
