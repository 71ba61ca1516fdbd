/*
 * extra.cuh - statistics beyond the base state: entropy, second entry, target, Gumbel draw
 *
 * Each function is for one statistic and is called where that one is asked for; state.cuh says when.
 * s is kept in powers of two, s / ln 2 = sum of exp(x) x / ln 2: the exponents are there anyway.
 */
#ifndef DLLM_EXTRA_CUH
#define DLLM_EXTRA_CUH

#include "base.cuh"
#include "philox.cuh"
#include "request.cuh"
#include "row_context.cuh"
#include "row_params.h"
#include "transform.cuh"

struct full_state : dllm_row_state, dllm_row_extra {
};

template <bool FULL> struct row_state_of {
    using type = dllm_row_state;
};
template <> struct row_state_of<true> {
    using type = full_state;
};

/** The state of a part of a row, with what this kernel is asked for and no more. */
using row_state = row_state_of<has_extra>::type;

/* No entry: behind every column, and behind every global id. */
template <typename Column> constexpr Column no_column = DLLM_NO_COLUMN;
template <> inline constexpr int64_t no_column<int64_t> = 0x7fffffffffffffff;

constexpr float ln_2 = 0.6931471805599453f;

/** An entry of a row. */
template <typename Column> struct entry {
    float value;
    Column column;
};

/* The order of entries: larger first, equal ones by column; no entry comes last. */
template <typename Column>
DLLM_DEVICE bool comes_before(const entry<Column> &a, const entry<Column> &b)
{
    return a.value > b.value || (a.value == b.value && a.column < b.column);
}

/* Field by field: chosen as a whole, entries would stand in local memory. */
template <typename Column>
DLLM_DEVICE entry<Column> choose(bool first, const entry<Column> &a, const entry<Column> &b)
{
    return {first ? a.value : b.value, first ? a.column : b.column};
}

/* The second entry of a whole whose first won against `loser`; `other` came second beside the winner. */
template <typename State, typename Column>
DLLM_DEVICE void set_second(State &state, const entry<Column> &other, const entry<Column> &loser)
{
    const entry<Column> second = choose(comes_before(other, loser), other, loser);
    state.second = second.value + 0.0f; /* -0 becomes +0, or the order of merging would show */
    state.second_column = second.column;
}

constexpr int extra_words = has_entropy + 2 * has_second + has_target + 3 * has_draw;

/** Calls visit with each member of an extra that is asked for: extra_words words of 4 bytes. */
template <typename State, typename Visit> DLLM_DEVICE void extra_each(State &state, Visit visit)
{
    if constexpr (has_entropy) visit(state.weighted);
    if constexpr (has_second) {
        visit(state.second);
        visit(state.second_column);
    }
    if constexpr (has_target) visit(state.target);
    if constexpr (has_draw) {
        visit(state.score);
        visit(state.gumbel);
        visit(state.gumbel_column);
    }
}

template <typename State> DLLM_DEVICE void extra_clear(State &state)
{
    using Column = decltype(state.column);
    state.weighted = 0.0f;
    state.second = -infinity();
    state.second_column = no_column<Column>;
    state.target = -infinity();
    state.score = -infinity();
    state.gumbel = -infinity();
    state.gumbel_column = no_column<Column>;
}

/* s of a side whose maximum lies `power` below that of the whole; a side without mass has none. */
DLLM_DEVICE float extra_shifted(float sum, float weighted, float power)
{
    return sum > 0.0f ? fmaf(sum, power, weighted) : 0.0f;
}

/* The lowest column with this value among the first `valid` ones, but for `but`, counted from the
 * tile's first. */
template <int N, int RUN, int STEP>
DLLM_DEVICE int32_t find_value(const float (&z)[N], float value, int32_t valid, int32_t but)
{
    int32_t found = DLLM_NO_COLUMN;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        const int32_t offset = tile_offset<RUN, STEP>(i);
        if (z[i] == value && offset < valid && offset != but) found = offset;
    }
    return found;
}

/* Before the tile's largest enters the state. Few tiles have an entry that can be second. */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void fold_second(State &state, const float (&z)[N], float largest, int32_t first,
                             int32_t valid)
{
    if (!(largest > state.second) && state.second_column != DLLM_NO_COLUMN) return;
    const int32_t offset = find_value<N, RUN, STEP>(z, largest, valid, DLLM_NO_COLUMN);
    if (offset == DLLM_NO_COLUMN) return;
    float next = -infinity();
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (tile_offset<RUN, STEP>(i) != offset) next = fmaxf(next, z[i]);
    }
    const int32_t next_offset = find_value<N, RUN, STEP>(z, next, valid, offset);
    const entry<int32_t> best = {state.max, state.column};
    const entry<int32_t> one = {largest, first + offset};
    const entry<int32_t> two = {next, next_offset == DLLM_NO_COLUMN ? DLLM_NO_COLUMN
                                                                    : first + next_offset};
    const bool wins = comes_before(one, best);
    set_second(state, choose(wins, two, {state.second, state.second_column}),
               choose(wins, best, one));
}

/* NaN of a tile have left: a target that is NaN, or masked, has no mass. */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void fold_target(State &state, float (&z)[N], int32_t first, const row_context &row)
{
    tile_pick<N, RUN, STEP>(z, first, row.target, [&](float &value) { state.target = value; });
}

/* The words of an even id and of the odd one behind it come from one counter, half of the even id. */
DLLM_DEVICE philox_words find_pair(uint32_t half, const row_context &row)
{
    return philox4x32({{half, row.draw, row.key[0], row.key[1]}}, row.seed[0], row.seed[1]);
}

DLLM_DEVICE float given_noise(int32_t column, const row_context &row)
{
    const uint32_t *words = row.noise + 2 * static_cast<int64_t>(column);
    return gumbel(words[0], words[1]);
}

/* A later column of equal score does not win; without mass a score is -inf and cannot. */
template <typename State>
DLLM_DEVICE void offer_draw(State &state, float value, float noise, int32_t column,
                            const row_context &row)
{
    const float score = fmaf(row.draw_temperature, noise, value);
    const bool wins = score > state.score;
    state.score = wins ? score : state.score;
    state.gumbel = wins ? value : state.gumbel;
    state.gumbel_column = wins ? column : state.gumbel_column;
}

/* With generated noise. PAIRED: element 0 has an even id and runs are even, so that two neighbours
 * share a counter. No branch: the chains of several elements hide each other's latency. */
template <int N, int RUN, int STEP, bool PAIRED, typename State>
DLLM_DEVICE void draw_walk(State &state, float (&z)[N], int64_t first_id, int32_t first,
                           const row_context &row)
{
    philox_words pair = {};
    tile_walk(z, [&](float &value, int i) {
        const int32_t offset = tile_offset<RUN, STEP>(i);
        const int64_t id = first_id + offset;
        const bool second = PAIRED ? i % 2 != 0 : id % 2 != 0;
        if (!PAIRED || i % 2 == 0) pair = find_pair(static_cast<uint32_t>(id >> 1), row);
        const float noise =
            gumbel(second ? pair.word[2] : pair.word[0], second ? pair.word[3] : pair.word[1]);
        offer_draw(state, value, noise, first + offset, row);
    });
}

/* What is masked is -inf by now. */
template <int N, int RUN, int STEP, typename State>
DLLM_DEVICE void fold_draw(State &state, float (&z)[N], int32_t first, const row_context &row)
{
    if (!(row.draw_temperature > 0.0f)) return;
    const int64_t first_id = row.inputs->vocab_offset + first;
    if constexpr (has_noise) {
        tile_walk(z, [&](float &value, int i) {
            const int32_t column = first + tile_offset<RUN, STEP>(i);
            if (!(value > -infinity())) return; /* there may be no words */
            offer_draw(state, value, given_noise(column, row), column, row);
        });
    } else if (RUN % 2 == 0 && first_id % 2 == 0) {
        draw_walk<N, RUN, STEP, true>(state, z, first_id, first, row);
    } else {
        draw_walk<N, RUN, STEP, false>(state, z, first_id, first, row);
    }
}

/* All but s, which goes with the sums. */
template <typename State>
DLLM_DEVICE void extra_merge(State &merged, const State &a, const State &b)
{
    using Column = decltype(merged.column);
    if constexpr (has_second) {
        const entry<Column> a_one = {a.max, a.column};
        const entry<Column> b_one = {b.max, b.column};
        const bool a_first = comes_before(a_one, b_one);
        set_second(
            merged,
            choose<Column>(a_first, {a.second, a.second_column}, {b.second, b.second_column}),
            choose(a_first, b_one, a_one));
    }
    if constexpr (has_target) merged.target = fmaxf(a.target, b.target) + 0.0f;
    if constexpr (has_draw) {
        const bool a_drawn = comes_before(entry<Column>{a.score, a.gumbel_column},
                                          entry<Column>{b.score, b.gumbel_column});
        merged.score = (a_drawn ? a.score : b.score) + 0.0f;
        merged.gumbel = a_drawn ? a.gumbel : b.gumbel;
        merged.gumbel_column = a_drawn ? a.gumbel_column : b.gumbel_column;
    }
}

/* (z - max) / T - ln d */
template <typename State>
DLLM_DEVICE float log_probability(const State &state, float z, float log_sum,
                                  const row_context &row)
{
    const float distance = z - state.max;
    return (is_tempered ? distance / row.temperature : distance) - log_sum;
}

/** The further statistics of a row that has a softmax; result has what its state alone gives. */
template <typename Result, typename State>
DLLM_DEVICE void finish_further(Result &result, const State &state, float log_sum,
                                const row_context &row)
{
    result.gumbel_logprob = -log_sum; /* of the argmax, unless a draw says otherwise */
    if constexpr (has_entropy) result.entropy = log_sum - state.weighted * ln_2 / state.sum;
    if constexpr (has_second) {
        const float distance = state.second - state.max;
        result.second = state.second;
        result.second_column = state.second_column;
        result.margin = -expm1f(is_tempered ? distance / row.temperature : distance) / state.sum;
    }
    if constexpr (has_target) {
        result.target_logprob = log_probability(state, state.target, log_sum, row);
    }
    if constexpr (has_draw) {
        if (state.gumbel_column == no_column<decltype(state.column)>) return;
        result.gumbel_column = state.gumbel_column;
        result.gumbel_logprob = log_probability(state, state.gumbel, log_sum, row);
    }
}

#endif
