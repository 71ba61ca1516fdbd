/*
 * shard_state.cuh - the state of a vocabulary shard as it travels: dllm_state of dllm.h
 */
#ifndef DLLM_SHARD_STATE_CUH
#define DLLM_SHARD_STATE_CUH

#include "base.cuh"
#include "extra.cuh"

/** dllm_state. In memory no id is -1 and s is in nats; in registers as the other states have it. */
struct shard_state {
    float max;
    float sum;
    int64_t column; /* global ids */
    int64_t nan_column;
    float weighted;
    float second;
    int64_t second_column;
    float target;
    uint32_t bits;
    float score;
    float gumbel;
    int64_t gumbel_column;
};

/** dllm_state_candidate: K of them follow a state, best first. */
struct shard_candidate {
    float value;
    uint32_t zero;
    int64_t id;
};

static_assert(sizeof(shard_state) == 64 && sizeof(shard_candidate) == 16, "the layout is public");

/* the DLLM_STATE_ bits of dllm.h */
constexpr uint32_t state_has_target = 1u << 0;
constexpr uint32_t state_param = 1u << 1;
constexpr uint32_t state_row = 1u << 2;
constexpr uint32_t state_asked = 1u << 3;

DLLM_DEVICE shard_state shard_neutral()
{
    shard_state state = {};
    state.max = -infinity();
    state.column = no_column<int64_t>;
    state.nan_column = no_column<int64_t>;
    extra_clear(state);
    return state;
}

DLLM_DEVICE int64_t id_of_column(int64_t column)
{
    return column == no_column<int64_t> ? -1 : column;
}

DLLM_DEVICE int64_t column_of_id(int64_t id)
{
    return id < 0 ? no_column<int64_t> : id;
}

DLLM_DEVICE shard_state load_shard(const char *from)
{
    shard_state state = *reinterpret_cast<const shard_state *>(from);
    state.column = column_of_id(state.column);
    state.nan_column = column_of_id(state.nan_column);
    state.second_column = column_of_id(state.second_column);
    state.gumbel_column = column_of_id(state.gumbel_column);
    state.weighted /= ln_2;
    return state;
}

DLLM_DEVICE void store_shard(char *to, shard_state state)
{
    state.column = id_of_column(state.column);
    state.nan_column = id_of_column(state.nan_column);
    state.second_column = id_of_column(state.second_column);
    state.gumbel_column = id_of_column(state.gumbel_column);
    state.weighted *= ln_2;
    *reinterpret_cast<shard_state *>(to) = state;
}

DLLM_DEVICE int64_t wide_column(int32_t column, int64_t vocab_offset)
{
    return column == DLLM_NO_COLUMN ? no_column<int64_t> : vocab_offset + column;
}

/** A state of this call's columns, which begin at `vocab_offset`, in global ids. */
template <typename State> DLLM_DEVICE shard_state widen(const State &from, int64_t vocab_offset)
{
    shard_state state = shard_neutral();
    state.max = from.max;
    state.sum = from.sum;
    state.column = wide_column(from.column, vocab_offset);
    state.nan_column = wide_column(from.nan_column, vocab_offset);
    if constexpr (has_entropy) state.weighted = from.weighted;
    if constexpr (has_second) {
        state.second = from.second;
        state.second_column = wide_column(from.second_column, vocab_offset);
    }
    if constexpr (has_target) state.target = from.target;
    if constexpr (has_draw) {
        state.score = from.score;
        state.gumbel = from.gumbel;
        state.gumbel_column = wide_column(from.gumbel_column, vocab_offset);
    }
    return state;
}

#endif
