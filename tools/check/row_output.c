/* row_output.c - the outputs of a row: number, name, where their buffers are named, how they are read */
#include "row_output.h"

#include "element_type.h"

#include <string.h>

typedef enum output_kind { KIND_ID, KIND_FLOAT, KIND_FLAGS } output_kind;

#define PLACES(field) offsetof(dllm_head_buffers, field), offsetof(dllm_sampler_buffers, field)

static const struct {
    const char *name;
    output_kind kind;
    size_t head_place;
    size_t sampler_place;
} outputs[ROW_OUTPUTS] = {
    [ROW_ARGMAX] = {"argmax", KIND_ID, PLACES(argmax)},
    [ROW_MAX] = {"max", KIND_FLOAT, PLACES(max)},
    [ROW_LSE] = {"lse", KIND_FLOAT, PLACES(lse)},
    [ROW_CONFIDENCE] = {"confidence", KIND_FLOAT, PLACES(confidence)},
    [ROW_ENTROPY] = {"entropy", KIND_FLOAT, PLACES(entropy)},
    [ROW_SECOND] = {"second", KIND_FLOAT, PLACES(second)},
    [ROW_SECOND_ID] = {"second_id", KIND_ID, PLACES(second_id)},
    [ROW_MARGIN] = {"margin", KIND_FLOAT, PLACES(margin)},
    [ROW_TARGET_LOGPROB] = {"target_logprob", KIND_FLOAT, PLACES(target_logprob)},
    [ROW_GUMBEL_ID] = {"gumbel_id", KIND_ID, PLACES(gumbel_id)},
    [ROW_GUMBEL_LOGPROB] = {"gumbel_logprob", KIND_FLOAT, PLACES(gumbel_logprob)},
    [ROW_FLAGS] = {"flags", KIND_FLAGS, PLACES(flags)},
};

_Static_assert(DLLM_OUT_FLAGS == 1 << ROW_FLAGS, "the numbers of outputs are those of their bits");

const char *row_output_name(int output)
{
    return outputs[output].name;
}

size_t row_id_bytes(dllm_id_type type)
{
    return type == DLLM_INT64 ? 8 : 4;
}

size_t row_output_bytes(int output, dllm_id_type id_type)
{
    return outputs[output].kind == KIND_ID ? row_id_bytes(id_type) : 4;
}

void row_output_bind(int output, dllm_head_buffers *head, dllm_sampler_buffers *sampler,
                     const void *data)
{
    memcpy((char *)head + outputs[output].head_place, &data, sizeof data);
    memcpy((char *)sampler + outputs[output].sampler_place, &data, sizeof data);
}

double row_output_value(int output, dllm_id_type id_type, const void *data, int64_t row)
{
    const char *place = (const char *)data + (size_t)row * row_output_bytes(output, id_type);
    int64_t wide;
    int32_t narrow;
    uint32_t flags;
    if (outputs[output].kind == KIND_FLOAT) return element_load(DLLM_FP32, data, row);
    if (outputs[output].kind == KIND_FLAGS) {
        memcpy(&flags, place, sizeof flags);
        return (double)flags;
    }
    if (id_type == DLLM_INT64) {
        memcpy(&wide, place, sizeof wide);
        return (double)wide;
    }
    memcpy(&narrow, place, sizeof narrow);
    return (double)narrow;
}
