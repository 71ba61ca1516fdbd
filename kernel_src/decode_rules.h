/*
 * decode_rules.h - which positions a step commits: filter, key, selection, end of sequence
 *
 * Plain functions over plain arrays, compiled by gcc for the CPU backend and by NVRTC for the device,
 * so that the two cannot differ. A position is counted in its block; "better" is the larger key,
 * then the lower position (decode.md 1, rule 2). Nothing here allocates; sums are fp32.
 *
 * DLLM_ROLLED: a loop of few turns. A step on a GPU runs through its code once, and fetches it from
 * afar: unrolled, decode_select has 9,000 instructions in place of 4,300.
 */
#ifndef DLLM_DECODE_RULES_H
#define DLLM_DECODE_RULES_H

#include "rounding.h"

#ifdef __CUDACC_RTC__
#include "base.cuh"
#define DLLM_RULE static __device__ __forceinline__
#define DLLM_ROLLED _Pragma("unroll 1")
#define DLLM_ROUNDED_PRODUCT(a, b) __fmul_rn(a, b)
#define DLLM_INFINITY infinity()
#else
#include <math.h>
#include <stdint.h>
#define DLLM_RULE static inline
#define DLLM_ROLLED
#define DLLM_ROUNDED_PRODUCT(a, b) ((a) * (b))
#define DLLM_INFINITY INFINITY
#endif

/** Most positions of a block: selection sorts them in shared memory. */
enum { DLLM_BLOCK_POSITIONS_MAX = 8192 };

/* ---- selection ---------------------------------------------------------------------------- */

enum {
    DLLM_SELECT_TOP_K,         /* the k best */
    DLLM_SELECT_THRESHOLD,     /* all above, and the best */
    DLLM_SELECT_FACTOR,        /* the most n whose n-th is sure enough for n of them */
    DLLM_SELECT_DYNAMIC,       /* all above if they are k or more, else the k best */
    DLLM_SELECT_SEQUENTIAL,    /* the k leftmost */
    DLLM_SELECT_ENTROPY_BOUND, /* in order, while the entropy before it is within gamma */
    DLLM_SELECT_HIERARCHY,     /* the best of each run of masks, all above, the best */
    DLLM_SELECT_COINS          /* all whose key, a uniform number, is below the threshold */
};

enum { DLLM_FACTOR_PAPER, DLLM_FACTOR_FIRST_FAILURE, DLLM_FACTOR_DROP_LAST };

/** A selection rule and its parameters; those of other rules are not looked at. */
typedef struct dllm_select_rule {
    int32_t name;       /* DLLM_SELECT_... */
    int32_t count;      /* k */
    int32_t inclusive;  /* 1: equal to the threshold is above it */
    int32_t variant;    /* DLLM_FACTOR_... */
    int32_t by_entropy; /* entropy bound: 1 by ascending entropy, 0 by descending confidence */
    int32_t run_ties;   /* hierarchy: 1 takes every position that ties with its run's best */
    float threshold;    /* +inf: none is above */
    float near_tie;     /* above is also what is within this of the best; 0: off */
    float factor;
    float gamma;
    float low_threshold; /* hierarchy: what the best of a run has to exceed */
} dllm_select_rule;

/** One block's positions. */
typedef struct dllm_select_rows {
    int32_t positions;     /* n, of the block */
    int32_t eligible;      /* m, of them */
    const uint8_t *masked; /* (n) 1: masked, eligible or not; hierarchy's runs */
    const int32_t *order;  /* (m) eligible positions, best key first */
    const float *key;      /* (n) what `order` is sorted by */
    const float *entropy;  /* (n) entropy bound alone */
    uint8_t *chosen;       /* (n) out: 1 for each position to commit */
} dllm_select_rows;

/* Above the threshold: strictly or not; or within near_tie of the best key. */
DLLM_RULE int32_t dllm_is_above(const dllm_select_rule *rule, float key, float best)
{
    float bound = rule->threshold;
    if (rule->near_tie > 0.0f) {
        const float near = best - rule->near_tie;
        if (near < bound) return key >= near;
    }
    return rule->inclusive ? key >= bound : key > bound;
}

/* How many of the sorted keys are above. They need not be a prefix of `order` only if it is sorted
   by something else, which no rule with a threshold does. */
DLLM_RULE int32_t dllm_count_above(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    int32_t count = 0;
    DLLM_ROLLED
    while (count < rows->eligible &&
           dllm_is_above(rule, rows->key[rows->order[count]], rows->key[rows->order[0]]))
        count++;
    return count;
}

/* c_1 >= c_2 >= ...; at least 1 (decode.md 2.7). */
DLLM_RULE int32_t dllm_count_factor(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    int32_t largest = 1, failure = 0;
    DLLM_ROLLED
    for (int32_t n = 1; n <= rows->eligible; n++) {
        const float doubt = 1.0f - rows->key[rows->order[n - 1]];
        const int32_t holds = (float)(n + 1) * doubt < rule->factor;
        const int32_t fails =
            rule->variant == DLLM_FACTOR_FIRST_FAILURE
                ? n > 1 && rows->key[rows->order[n - 1]] < 1.0f - rule->factor / (float)(n + 1)
                : !holds;
        if (holds) largest = n;
        if (fails && !failure) failure = n;
    }
    if (rule->variant == DLLM_FACTOR_PAPER) return largest;
    if (rule->variant == DLLM_FACTOR_FIRST_FAILURE)
        return failure == 0 || failure == rows->eligible ? rows->eligible : failure - 1;
    const int32_t before = (failure ? failure : rows->eligible) - 1;
    return before > 1 ? before : 1;
}

/* Entropy before a position, in order; by confidence the largest so far is taken off. */
DLLM_RULE int32_t dllm_count_bounded(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    float sum = 0.0f, largest = 0.0f;
    int32_t count = 0;
    DLLM_ROLLED
    for (; count < rows->eligible; count++) {
        const float entropy = rows->entropy[rows->order[count]];
        if (rule->by_entropy) {
            if (count > 0 && !(sum <= rule->gamma)) break;
            sum += entropy;
        } else {
            sum += entropy;
            largest = entropy > largest ? entropy : largest;
            if (count > 0 && !(sum - largest <= rule->gamma)) break;
        }
    }
    return count;
}

/* The k leftmost of the eligible; chosen is zero before. */
DLLM_RULE int32_t dllm_choose_leftmost(const dllm_select_rows *rows, int32_t count)
{
    enum { ELIGIBLE = 2 };
    int32_t taken = 0;
    DLLM_ROLLED
    for (int32_t i = 0; i < rows->eligible; i++)
        rows->chosen[rows->order[i]] = ELIGIBLE;
    DLLM_ROLLED
    for (int32_t q = 0; q < rows->positions; q++) {
        if (rows->chosen[q] != ELIGIBLE) continue;
        rows->chosen[q] = taken < count;
        taken += rows->chosen[q];
    }
    return taken;
}

/* Better than the one before it in `order`, or level with it. */
DLLM_RULE int32_t dllm_choose_runs(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    enum { ELIGIBLE = 2 };
    int32_t taken = 0;
    DLLM_ROLLED
    for (int32_t i = 0; i < rows->eligible; i++)
        rows->chosen[rows->order[i]] = ELIGIBLE;
    DLLM_ROLLED
    for (int32_t begin = 0, end; begin < rows->positions; begin = end) {
        int32_t best = -1;
        DLLM_ROLLED
        for (end = begin; end < rows->positions && rows->masked[end]; end++)
            if (rows->chosen[end] == ELIGIBLE && (best < 0 || rows->key[end] > rows->key[best]))
                best = end;
        DLLM_ROLLED
        for (int32_t q = begin; q < end; q++) {
            const int32_t ties = rule->run_ties && rows->key[q] == rows->key[best];
            const int32_t first = q == best || ties;
            const int32_t sure = rows->chosen[q] == ELIGIBLE &&
                                 (dllm_is_above(rule, rows->key[q], rows->key[rows->order[0]]) ||
                                  (first && rows->key[q] > rule->low_threshold));
            rows->chosen[q] = sure || q == rows->order[0];
            taken += rows->chosen[q];
        }
        end += end == begin;
    }
    return taken;
}

/* Each by itself; a threshold of 1 takes all, also a number that was rounded up to 1. */
DLLM_RULE int32_t dllm_choose_coins(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    int32_t taken = 0;
    DLLM_ROLLED
    for (int32_t i = 0; i < rows->eligible; i++) {
        const int32_t q = rows->order[i];
        rows->chosen[q] = rows->key[q] < rule->threshold || rule->threshold >= 1.0f;
        taken += rows->chosen[q];
    }
    return taken;
}

/* How many of the best a rule takes that takes a prefix of `order`. */
DLLM_RULE int32_t dllm_count_best(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    int32_t count = rule->count;
    if (rule->name == DLLM_SELECT_FACTOR) return dllm_count_factor(rule, rows);
    if (rule->name == DLLM_SELECT_ENTROPY_BOUND) return dllm_count_bounded(rule, rows);
    if (rule->name == DLLM_SELECT_THRESHOLD) count = 1;
    if (rule->name != DLLM_SELECT_TOP_K) {
        const int32_t above = dllm_count_above(rule, rows);
        if (above > count) count = above;
    }
    return count < rows->eligible ? count : rows->eligible;
}

/** Marks the positions that a rule commits; returns how many. `chosen` is zero before. */
DLLM_RULE int32_t dllm_select_cleared(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    if (rows->eligible == 0) return 0;
    if (rule->name == DLLM_SELECT_SEQUENTIAL) return dllm_choose_leftmost(rows, rule->count);
    if (rule->name == DLLM_SELECT_HIERARCHY) return dllm_choose_runs(rule, rows);
    if (rule->name == DLLM_SELECT_COINS) return dllm_choose_coins(rule, rows);
    const int32_t count = dllm_count_best(rule, rows);
    DLLM_ROLLED
    for (int32_t i = 0; i < count; i++)
        rows->chosen[rows->order[i]] = 1;
    return count;
}

/** The same, whatever `chosen` holds. */
DLLM_RULE int32_t dllm_select(const dllm_select_rule *rule, const dllm_select_rows *rows)
{
    for (int32_t q = 0; q < rows->positions; q++)
        rows->chosen[q] = 0;
    return dllm_select_cleared(rule, rows);
}

/** 1 if a rule must commit something whenever something is eligible (decode.md 8). */
DLLM_RULE int32_t dllm_is_data_driven(const dllm_select_rule *rule)
{
    return rule->name != DLLM_SELECT_TOP_K && rule->name != DLLM_SELECT_SEQUENTIAL &&
           rule->name != DLLM_SELECT_COINS;
}

/* ---- keys --------------------------------------------------------------------------------- */

enum {
    DLLM_SCORE_CONFIDENCE,
    DLLM_SCORE_MARGIN,
    DLLM_SCORE_NEG_ENTROPY,
    DLLM_SCORE_ENTROPY,
    DLLM_SCORE_RANDOM /* a number of the position's own, in place of a statistic */
};

/** DLLM_FLAG_ bits of a row: NONFINITE, EMPTY and ROW keep it from being committed. */
enum { DLLM_ROW_FLAG = 16, DLLM_UNUSABLE_FLAGS = 1 + 2 + 16 };

/** What a position is ordered by. */
typedef struct dllm_key_rule {
    int32_t score;         /* DLLM_SCORE_... */
    int32_t round_bf16;    /* 1: to the nearest bf16, ties to even */
    int32_t excludes_mask; /* 1: a position whose token is the mask id is not eligible */
    int32_t late_count;
    int64_t mask_id;
    const int64_t *late; /* (late_count) ids whose positions come last, and are committed at last */
} dllm_key_rule;

/** A position's statistics; those of other scores are not looked at. */
typedef struct dllm_key_row {
    int64_t token;
    float confidence;
    float margin;
    float entropy;
    float random;
    uint32_t unusable; /* flags that keep a row from being committed; 0: none */
} dllm_key_row;

/** The key of a position whose row is usable. */
DLLM_RULE float dllm_position_key(const dllm_key_rule *rule, const dllm_key_row *row)
{
    float key = row->confidence;
    DLLM_ROLLED
    for (int32_t i = 0; i < rule->late_count; i++)
        if (rule->late[i] == row->token) return -DLLM_INFINITY;
    if (rule->score == DLLM_SCORE_MARGIN) key = row->margin;
    if (rule->score == DLLM_SCORE_ENTROPY) key = row->entropy;
    if (rule->score == DLLM_SCORE_NEG_ENTROPY) key = -row->entropy;
    if (rule->score == DLLM_SCORE_RANDOM) key = row->random;
    return rule->round_bf16 ? dllm_nearest_bf16(key) : key;
}

/** 1 if a position may be chosen. */
DLLM_RULE int32_t dllm_position_is_usable(const dllm_key_rule *rule, const dllm_key_row *row)
{
    return !row->unusable && !(rule->excludes_mask && row->token == rule->mask_id);
}

/* ---- what a step leaves ------------------------------------------------------------------- */

enum { DLLM_LEFT_RUNNING, DLLM_LEFT_DONE, DLLM_LEFT_NO_PROGRESS, DLLM_LEFT_UNUSABLE_ROW };

/** How a block stands after a step with `masks` masks left, `usable` of them with a usable row. */
DLLM_RULE int32_t dllm_left_by(int64_t committed, int64_t masks, int64_t usable,
                               int32_t is_data_driven)
{
    if (masks == 0) return DLLM_LEFT_DONE;
    if (committed > 0) return DLLM_LEFT_RUNNING;
    if (usable == 0) return DLLM_LEFT_UNUSABLE_ROW;
    return is_data_driven ? DLLM_LEFT_NO_PROGRESS : DLLM_LEFT_RUNNING;
}

/* ---- schedules ---------------------------------------------------------------------------- */

/** Share i of n masks over so many steps: the first n mod steps get one more. */
DLLM_RULE int32_t dllm_even_count(int32_t masks, int32_t steps, int32_t step)
{
    return masks / steps + (step < masks % steps);
}

/* Point i of linspace(1, eps, steps + 1) in fp32, counted from the nearer end. */
DLLM_RULE float dllm_time_point(int32_t i, int32_t steps, float eps)
{
    const float delta = (eps - 1.0f) / (float)steps;
    if (i < (steps + 1) / 2) return 1.0f + DLLM_ROUNDED_PRODUCT(delta, (float)i);
    return eps - DLLM_ROUNDED_PRODUCT(delta, (float)(steps - i));
}

/** The share of what is left that a step of Dream's schedule commits, also the chance of a coin. */
DLLM_RULE float dllm_dream_fraction(int32_t step, int32_t steps, float eps)
{
    if (step == steps - 1) return 1.0f;
    return 1.0f - dllm_time_point(step + 1, steps, eps) / dllm_time_point(step, steps, eps);
}

/** That share of `left` masks, in whole masks. */
DLLM_RULE int32_t dllm_dream_count(int32_t left, float fraction)
{
    return (int32_t)DLLM_ROUNDED_PRODUCT((float)left, fraction);
}

/* ---- end of sequence ---------------------------------------------------------------------- */

enum {
    DLLM_EOS_NEVER,       /* with the last block */
    DLLM_EOS_GAP_CLOSED,  /* nothing is masked between prompt and first EOS */
    DLLM_EOS_AFTER_BLOCK, /* the block is complete, and an EOS stands in it or before */
    DLLM_EOS_FILL,        /* the block is full, after EOS was written behind the first EOS */
    DLLM_EOS_STEP         /* an EOS came in this step, and the gap is closed */
};

/** A sequence after a step. */
typedef struct dllm_end_state {
    const int64_t *canvas; /* (length) */
    const uint8_t *chosen; /* (length) 1: committed in this step */
    const int64_t *eos;    /* (eos_count) */
    int64_t length;
    int64_t prompt;
    int64_t low; /* the block is [low, high) */
    int64_t high;
    int64_t mask_id;
    int32_t eos_count;
    int32_t rule; /* DLLM_EOS_... */
} dllm_end_state;

typedef struct dllm_end {
    int32_t stop;
    int64_t eligible_end; /* masks of the block before it may be committed */
    int64_t fill_from;    /* positions from here on become EOS; length: none */
    int64_t first_eos;    /* length: none */
} dllm_end;

/** Where the search for the first EOS begins; the published `step` looks into the prompt too. */
DLLM_RULE int64_t dllm_end_search(int32_t rule, int64_t prompt)
{
    return rule == DLLM_EOS_STEP ? 0 : prompt;
}

DLLM_RULE int32_t dllm_is_eos(const dllm_end_state *state, int64_t id)
{
    for (int32_t i = 0; i < state->eos_count; i++)
        if (state->eos[i] == id) return 1;
    return 0;
}

DLLM_RULE int64_t dllm_count_masks(const dllm_end_state *state, int64_t begin, int64_t end)
{
    int64_t count = 0;
    for (int64_t q = begin; q < end; q++)
        count += state->canvas[q] == state->mask_id;
    return count;
}

/* An EOS among what this step committed. */
DLLM_RULE int32_t dllm_committed_eos(const dllm_end_state *state)
{
    for (int64_t q = state->low; q < state->high; q++)
        if (state->chosen[q] && dllm_is_eos(state, state->canvas[q])) return 1;
    return 0;
}

/** What of a canvas decides whether its sequence ends. */
typedef struct dllm_end_counts {
    int64_t first_eos;   /* length: none */
    int64_t gap_masks;   /* from the prompt's end to the first EOS; none or some is what counts */
    int64_t block_masks; /* of the block */
    int32_t committed;   /* 1: an EOS was committed in this step */
} dllm_end_counts;

/** Does a sequence end, and what of its block is still to be filled? (decode.md 2.6) */
DLLM_RULE dllm_end dllm_end_by(int32_t rule, int64_t high, int64_t length,
                               const dllm_end_counts *counts)
{
    const int32_t ends_gap = rule == DLLM_EOS_GAP_CLOSED || rule == DLLM_EOS_FILL;
    const int64_t first = counts->first_eos;
    dllm_end end = {0, high, length, first};
    if (first == length || rule == DLLM_EOS_NEVER) return end;
    if (ends_gap && first < end.eligible_end) end.eligible_end = first;
    if (rule == DLLM_EOS_FILL) end.fill_from = first + 1;
    if (ends_gap) end.stop = counts->gap_masks == 0;
    if (rule == DLLM_EOS_AFTER_BLOCK) end.stop = counts->block_masks == 0 && first < high;
    if (rule == DLLM_EOS_STEP) end.stop = counts->gap_masks == 0 && counts->committed;
    return end;
}

/** The same of a canvas of 64-bit ids. */
DLLM_RULE dllm_end dllm_find_end(const dllm_end_state *state)
{
    int64_t first = dllm_end_search(state->rule, state->prompt);
    while (first < state->length && !dllm_is_eos(state, state->canvas[first]))
        first++;
    const dllm_end_counts counts = {first, dllm_count_masks(state, state->prompt, first),
                                    dllm_count_masks(state, state->low, state->high),
                                    state->rule == DLLM_EOS_STEP && dllm_committed_eos(state)};
    return dllm_end_by(state->rule, state->high, state->length, &counts);
}

/* ---- rows --------------------------------------------------------------------------------- */

/** The hidden row that a position is read from, counted from the window's first; -1: not in it. */
DLLM_RULE int64_t dllm_hidden_row(int64_t position, int32_t shifted, int64_t window_from,
                                  int64_t window_to)
{
    const int64_t row = shifted && position > 0 ? position - 1 : position;
    return row >= window_from && row < window_to ? row - window_from : -1;
}

#endif
