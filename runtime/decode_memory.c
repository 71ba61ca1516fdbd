/*
 * decode_memory.c - where everything of a decode lies in the caller's workspace
 *
 * One list of arrays, walked twice: for the bytes, and to set the pointers.
 */
#include "decode.h"

#include <stddef.h>

enum { ALIGNMENT = 256 };

/** An array of the workspace: where its pointer stands in dllm_decode_params, and its bytes. */
typedef struct array {
    size_t place;
    int64_t bytes; /* 0: the pointer is NULL */
} array;

#define ARRAY(member, count, type)                                                                 \
    {                                                                                              \
        offsetof(dllm_decode_params, member), (count) * (int64_t)sizeof(type)                      \
    }

enum { ARRAYS = 35 };

static void list_arrays(array out[ARRAYS], const dllm_decode *decode)
{
    const dllm_decode_sizes *sizes = &decode->sizes;
    const uint32_t inputs = decode->head.inputs, outputs = decode->head.outputs;
    const int64_t sequences = sizes->sequences_max, rows = sizes->rows_max;
    const int64_t drawn = outputs & DLLM_OUT_GUMBEL_ID ? rows : 0;
    const bool publishes = decode->manner.publishes;
    const int64_t penalised = inputs & DLLM_IN_PENALTY || publishes ? rows : 0;
    const int64_t guided = inputs & DLLM_IN_CFG_SCALE ? sequences * sizes->length_max : 0;
    const int64_t id_bytes = decode->manner.ids_are_64 ? sizeof(int64_t) : sizeof(int32_t);
    const int64_t listed = outputs & DLLM_OUT_CANDIDATES ? rows * decode->head.candidates : 0;
    const int64_t words = inputs & DLLM_IN_NOISE ? rows * decode->head.vocab * 2 : 0;
    const array arrays[ARRAYS] = {
        ARRAY(rules, sequences, dllm_sequence_rules),
        ARRAY(records, sequences, dllm_sequence_record),
        ARRAY(batch, 1, dllm_batch_record),
        {offsetof(dllm_decode_params, unconditional), guided * id_bytes},
        ARRAY(guarded, decode->manner.edits ? rows : 0, uint8_t),
        ARRAY(trace, sizes->trace_max, dllm_change),
        ARRAY(rows.position, rows, int32_t),
        ARRAY(rows.source, rows, int64_t),
        ARRAY(rows.temperature, drawn, float),
        ARRAY(rows.key, drawn, uint64_t),
        ARRAY(rows.seed, drawn, uint64_t),
        ARRAY(rows.draw, drawn, uint32_t),
        ARRAY(rows.penalty_id, penalised, int64_t),
        ARRAY(rows.penalty, penalised, float),
        ARRAY(rows.cfg_scale, guided ? rows : 0, float),
        ARRAY(rows.noise, words, uint32_t),
        ARRAY(outputs.argmax, rows, int64_t),
        ARRAY(outputs.confidence, rows, float),
        ARRAY(outputs.entropy, outputs & DLLM_OUT_ENTROPY ? rows : 0, float),
        ARRAY(outputs.margin, outputs & DLLM_OUT_MARGIN ? rows : 0, float),
        ARRAY(outputs.flags, rows, uint32_t),
        ARRAY(outputs.drawn, drawn, int64_t),
        ARRAY(outputs.drawn_logprob, drawn, float),
        ARRAY(outputs.published, publishes ? rows : 0, float),
        ARRAY(outputs.values, listed, float),
        ARRAY(outputs.ids, listed, int64_t),
        ARRAY(block.sorted, sequences * sizes->sorted_max, uint64_t),
        ARRAY(block.order, rows, int32_t),
        ARRAY(block.token, rows, int64_t),
        ARRAY(block.key, rows, float),
        ARRAY(block.entropy, rows, float),
        ARRAY(block.masked, rows, uint8_t),
        ARRAY(block.usable, rows, uint8_t),
        ARRAY(block.edited, rows, uint8_t),
        ARRAY(block.chosen, rows, uint8_t),
    };
    for (int i = 0; i < ARRAYS; i++)
        out[i] = arrays[i];
}

static size_t rounded(int64_t bytes)
{
    return ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t suppress_bytes(const dllm_decode *decode)
{
    const int64_t ids = decode->sizes.suppress_max + decode->late_suppressed;
    return rounded(ids * (int64_t)sizeof(int64_t));
}

/* Both passes of the head use one workspace. */
static size_t head_bytes(const dllm_decode *decode)
{
    const size_t first = dllm_plan_workspace_bytes(decode->plan);
    const size_t second = dllm_plan_workspace_bytes(decode->second_plan);
    return first > second ? first : second;
}

size_t dllm__decode_memory_bytes(const dllm_decode *decode)
{
    array arrays[ARRAYS];
    size_t bytes = ALIGNMENT - 1;
    list_arrays(arrays, decode);
    for (int i = 0; i < ARRAYS; i++)
        bytes += rounded(arrays[i].bytes);
    return bytes + suppress_bytes(decode) + head_bytes(decode);
}

/* Hands out the arrays; returns the first byte behind them. */
static char *place_arrays(dllm_decode *decode, char *next)
{
    array arrays[ARRAYS];
    list_arrays(arrays, decode);
    for (int i = 0; i < ARRAYS; i++) {
        void **pointer = (void **)(void *)((char *)&decode->params + arrays[i].place);
        *pointer = arrays[i].bytes ? next : NULL;
        next += rounded(arrays[i].bytes);
    }
    return next;
}

static void place_head(dllm_decode *decode, const dllm_decode_buffers *buffers)
{
    const dllm_decode_params *params = &decode->params;
    const bool gathered = decode->manner.layout == DLLM_ROWS_GATHERED;
    const bool penalises = decode->head.inputs & DLLM_IN_PENALTY;
    const int64_t rows = decode->sizes.hidden_rows * decode->count;
    decode->buffers = (dllm_head_buffers){
        .struct_size = sizeof decode->buffers,
        .rows = decode->sizes.rows_max,
        .weight = buffers->weight,
        .hidden_stride = buffers->hidden_stride,
        .weight_stride = buffers->weight_stride,
        .row_index = gathered ? NULL : params->rows.source,
        .source_rows = gathered ? decode->sizes.rows_max : rows,
        .rows_device = &params->batch->rows,
        .argmax = params->outputs.argmax,
        .confidence = params->outputs.confidence,
        .entropy = params->outputs.entropy,
        .margin = params->outputs.margin,
        .flags = params->outputs.flags,
        .gumbel_id = params->outputs.drawn,
        .gumbel_logprob = params->outputs.drawn_logprob,
        .candidate_values = params->outputs.values,
        .candidate_ids = params->outputs.ids,
        .temperature = params->rows.temperature,
        .bias = buffers->bias,
        .penalty_id = penalises ? params->rows.penalty_id : NULL,
        .penalty = penalises ? params->rows.penalty : NULL,
        .cfg_scale = params->rows.cfg_scale,
        .row_key = params->rows.key,
        .seed = params->rows.seed,
        .draw = params->rows.draw,
        .noise = params->rows.noise,
    };
}

/* The pass of published confidences; what the first is run with is there. */
static void place_second(dllm_decode *decode)
{
    const dllm_decode_params *params = &decode->params;
    const dllm_head_buffers *first = &decode->buffers;
    decode->second_buffers = (dllm_head_buffers){
        .struct_size = sizeof decode->second_buffers,
        .rows = first->rows,
        .weight = first->weight,
        .hidden_stride = first->hidden_stride,
        .weight_stride = first->weight_stride,
        .row_index = first->row_index,
        .source_rows = first->source_rows,
        .rows_device = first->rows_device,
        .workspace = first->workspace,
        .workspace_bytes = first->workspace_bytes,
        .target_logprob = params->outputs.published,
        .target = params->outputs.drawn ? params->outputs.drawn : params->outputs.argmax,
        .bias = first->bias,
        .penalty_id = params->rows.penalty_id,
        .penalty = params->rows.penalty,
        .suppress = first->suppress,
        .cfg_scale = first->cfg_scale,
    };
}

void dllm__decode_lay_out(dllm_decode *decode, const dllm_decode_buffers *buffers)
{
    dllm_decode_params *params = &decode->params;
    const uintptr_t start = (uintptr_t)buffers->workspace;
    char *base = (char *)buffers->workspace + (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    *params = (dllm_decode_params){
        .canvas = buffers->canvas,
        .trace_max = decode->sizes.trace_max,
        .given_noise = buffers->noise,
        .given_positions = buffers->position_noise,
        .vocab = decode->head.vocab,
        .window_rows = decode->sizes.hidden_rows,
        .manner = decode->manner,
        .sequences = decode->count,
        .positions_max = (int32_t)decode->sizes.positions_max,
        .sorted_max = (int32_t)decode->sizes.sorted_max,
        .length_max = (int32_t)decode->sizes.length_max,
    };
    char *next = place_arrays(decode, base);
    place_head(decode, buffers);
    const bool suppresses = decode->sizes.suppress_max + decode->late_suppressed > 0;
    decode->suppress_place = suppresses ? (int64_t *)(void *)next : NULL;
    decode->buffers.suppress = decode->sizes.suppress_max ? decode->suppress_place : NULL;
    next += suppress_bytes(decode);
    decode->buffers.workspace = next;
    decode->buffers.workspace_bytes = head_bytes(decode);
    place_second(decode);
    decode->second_buffers.suppress = decode->suppress_place;
}
