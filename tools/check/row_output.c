/* row_output.c - the outputs of a row: number, name, where their buffers are named, how they are read */
#include "row_output.h"

#include "element_type.h"

#include <string.h>

typedef enum output_kind { KIND_ID, KIND_FLOAT, KIND_FLAGS, KIND_STATE } output_kind;

/* Where a field stands in each struct of row_buffers; the merge has no state of its own to write. */
#define OUTPUT(name, kind, bit)                                                                    \
    {                                                                                              \
#name, kind, bit,                                                                          \
        {                                                                                          \
            offsetof(row_buffers, head.name), offsetof(row_buffers, sampler.name),                 \
                offsetof(row_buffers, merge.name)                                                  \
        }                                                                                          \
    }

static const struct {
    const char *name;
    output_kind kind;
    uint32_t bit;
    size_t places[3];
} outputs[ROW_BUFFERS] = {
    [ROW_ARGMAX] = OUTPUT(argmax, KIND_ID, DLLM_OUT_ARGMAX),
    [ROW_MAX] = OUTPUT(max, KIND_FLOAT, DLLM_OUT_MAX),
    [ROW_LSE] = OUTPUT(lse, KIND_FLOAT, DLLM_OUT_LSE),
    [ROW_CONFIDENCE] = OUTPUT(confidence, KIND_FLOAT, DLLM_OUT_CONFIDENCE),
    [ROW_ENTROPY] = OUTPUT(entropy, KIND_FLOAT, DLLM_OUT_ENTROPY),
    [ROW_SECOND] = OUTPUT(second, KIND_FLOAT, DLLM_OUT_SECOND),
    [ROW_SECOND_ID] = OUTPUT(second_id, KIND_ID, DLLM_OUT_SECOND_ID),
    [ROW_MARGIN] = OUTPUT(margin, KIND_FLOAT, DLLM_OUT_MARGIN),
    [ROW_TARGET_LOGPROB] = OUTPUT(target_logprob, KIND_FLOAT, DLLM_OUT_TARGET_LOGPROB),
    [ROW_GUMBEL_ID] = OUTPUT(gumbel_id, KIND_ID, DLLM_OUT_GUMBEL_ID),
    [ROW_GUMBEL_LOGPROB] = OUTPUT(gumbel_logprob, KIND_FLOAT, DLLM_OUT_GUMBEL_LOGPROB),
    [ROW_FLAGS] = OUTPUT(flags, KIND_FLAGS, DLLM_OUT_FLAGS),
    [ROW_CANDIDATE_VALUES] = OUTPUT(candidate_values, KIND_FLOAT, DLLM_OUT_CANDIDATES),
    [ROW_CANDIDATE_IDS] = OUTPUT(candidate_ids, KIND_ID, DLLM_OUT_CANDIDATES),
    [ROW_STATE] = {"state",
                   KIND_STATE,
                   0,
                   {offsetof(row_buffers, head.state), offsetof(row_buffers, sampler.state)}},
};

_Static_assert(DLLM_OUT_FLAGS == 1 << ROW_FLAGS, "the numbers of outputs are those of their bits");

const char *row_output_name(int output)
{
    return outputs[output].name;
}

uint32_t row_output_bit(int output)
{
    return outputs[output].bit;
}

size_t row_id_bytes(dllm_id_type type)
{
    return type == DLLM_INT64 ? 8 : 4;
}

size_t row_output_bytes(int output, dllm_id_type id_type)
{
    if (outputs[output].kind == KIND_STATE) return sizeof(int64_t);
    return outputs[output].kind == KIND_ID ? row_id_bytes(id_type) : 4;
}

void row_output_bind(int output, row_buffers *buffers, const void *data)
{
    for (size_t i = 0; i < sizeof outputs->places / sizeof outputs->places[0]; i++)
        if (i == 0 || outputs[output].places[i])
            memcpy((char *)buffers + outputs[output].places[i], &data, sizeof data);
}

double row_output_value(int output, dllm_id_type id_type, const void *data, int64_t i)
{
    const char *place = (const char *)data + (size_t)i * row_output_bytes(output, id_type);
    int64_t wide;
    int32_t narrow;
    uint32_t flags;
    if (outputs[output].kind == KIND_FLOAT) return element_load(DLLM_FP32, data, i);
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
