/*
 * row_context.cuh - what the logits and statistics of one row depend on beside the logits
 *
 * Read from the arrays of a run once a row, or once a tile where a kernel has no room to keep it.
 * A kernel of plain logits has an empty context.
 */
#ifndef DLLM_ROW_CONTEXT_CUH
#define DLLM_ROW_CONTEXT_CUH

#include "base.cuh"
#include "load.cuh"
#include "request.cuh"
#include "row_params.h"

struct plain_row_context {
    const dllm_row_inputs *inputs;
    dllm_candidate *list;   /* nullptr: no row, or none asked for */
    const uint32_t *noise;  /* the row's words */
    float draw_temperature; /* T of the draw; 0 = greedy */
    float temperature;      /* T of the statistics; 1 = untempered */
    float exponent;         /* log2 e / T */
    int32_t target;         /* column, DLLM_NO_COLUMN if it is not among this call's */
    int32_t penalty_column;
    float penalty;
    uint32_t key[2]; /* low word first */
    uint32_t seed[2];
    uint32_t draw;
};

struct guided_row_context : plain_row_context {
    float guidance; /* s; 0: none */
};

template <bool GUIDED> struct row_context_of {
    using type = plain_row_context;
};
template <> struct row_context_of<true> {
    using type = guided_row_context;
};

/* A member that nothing reads would still move registers about where rows draw. */
using row_context = row_context_of<has_guidance>::type;

DLLM_DEVICE int64_t load_id(const void *ids, int32_t ids_are_64, int64_t i)
{
    return ids_are_64 ? static_cast<const int64_t *>(ids)[i] : static_cast<const int32_t *>(ids)[i];
}

/** Column of a global id, DLLM_NO_COLUMN if it is not one of this call. */
DLLM_DEVICE int32_t column_of(const dllm_row_inputs &inputs, int64_t id)
{
    const int64_t column = id - inputs.vocab_offset;
    return column >= 0 && column < inputs.vocab ? static_cast<int32_t>(column) : DLLM_NO_COLUMN;
}

/** The row's temperature as it was given. */
DLLM_DEVICE float given_temperature(const dllm_row_inputs &inputs, int64_t row)
{
    return has_row_temperature ? inputs.temperatures[row] : inputs.temperature;
}

/** T where a row has one to divide by, else 0: greedy. */
DLLM_DEVICE float usable_temperature(float given)
{
    return given >= 0x1p-126f && given < infinity() ? given : 0.0f;
}

DLLM_DEVICE void set_noise(row_context &context, const dllm_row_inputs &inputs, int64_t row)
{
    if constexpr (has_noise) {
        context.noise = inputs.noise + 2 * row * inputs.vocab;
    } else {
        uint64_t key = static_cast<uint64_t>(row);
        if constexpr (has_row_key) {
            key = inputs.row_key[row];
        } else if (inputs.row_index != nullptr) {
            key = static_cast<uint64_t>(load_id(inputs.row_index, inputs.row_index_is_64, row));
        }
        context.key[0] = static_cast<uint32_t>(key);
        context.key[1] = static_cast<uint32_t>(key >> 32);
        const int64_t place = has_row_seed ? row : 0;
        context.seed[0] = static_cast<uint32_t>(inputs.seed[place]);
        context.seed[1] = static_cast<uint32_t>(inputs.seed[place] >> 32);
        context.draw = inputs.draw != nullptr ? inputs.draw[place] : 0;
    }
}

DLLM_DEVICE void set_temperature(row_context &context, const dllm_row_inputs &inputs, int64_t row)
{
    if constexpr (!is_tempered && !has_draw) return;
    const float temperature = usable_temperature(given_temperature(inputs, row));
    context.draw_temperature = temperature;
    if (is_tempered && temperature > 0.0f) {
        context.temperature = temperature;
        context.exponent = log2_e / temperature;
    }
}

DLLM_DEVICE void fill_context(row_context &context, const dllm_row_inputs &inputs, int64_t row)
{
    context.inputs = &inputs;
    set_temperature(context, inputs, row);
    if constexpr (has_target) {
        context.target = column_of(inputs, load_id(inputs.target, inputs.ids_are_64, row));
    }
    if constexpr (has_penalty) {
        context.penalty_column =
            column_of(inputs, load_id(inputs.penalty_id, inputs.ids_are_64, row));
        context.penalty = inputs.penalty[row];
    }
    if constexpr (has_draw) set_noise(context, inputs, row);
}

/** Of a row without anything further. */
DLLM_DEVICE row_context plain_context()
{
    row_context context = {};
    context.temperature = 1.0f;
    context.exponent = log2_e;
    return context;
}

/* The inputs among the last members of an argument struct. */
DLLM_DEVICE const dllm_row_inputs &inputs_of(const dllm_row_inputs &further)
{
    return further;
}

DLLM_DEVICE const dllm_row_inputs &inputs_of(const dllm_row_outputs &further)
{
    return further.inputs;
}

/* The list that a kernel adds to. */
template <typename Params>
DLLM_DEVICE dllm_candidate *find_list(const Params &params, int64_t row, int64_t part)
{
    const dllm_row_inputs &inputs = inputs_of(params.further);
    return inputs.lists + (part * params.state_stride + row) * inputs.list_stride;
}

/** s as it was given. */
DLLM_DEVICE float given_guidance(const dllm_guidance &guidance, int64_t row)
{
    return guidance.scales != nullptr ? guidance.scales[row] : guidance.scale;
}

template <typename Context>
DLLM_DEVICE void set_guidance(Context &context, const dllm_guidance &guidance, int64_t row)
{
    const float given = given_guidance(guidance, row);
    context.guidance = given > 0.0f && given < infinity() ? given : 0.0f;
}

/** The context of a row of the run; one beyond the last has that of the last. part: split * sharers and
 * which of these the lane is, where lists of candidates are kept. */
template <typename Params>
DLLM_DEVICE row_context find_context(const Params &params, int64_t row, int64_t part)
{
    row_context context = plain_context();
    if constexpr (asks_further) {
        const int64_t last = row_count(params) - 1;
        fill_context(context, inputs_of(params.further), smaller(row, last));
        if (has_candidates && row <= last) context.list = find_list(params, row, part);
        if constexpr (has_guidance) set_guidance(context, params.guidance, smaller(row, last));
    }
    return context;
}

#endif
