/*
 * row_output.h - the outputs of a row: number, name, where their buffers are named, how they are read
 */
#ifndef ROW_OUTPUT_H
#define ROW_OUTPUT_H

#include "dllm.h"

/** Buffers of a row that a run writes; up to ROW_OUTPUTS the number is that of the DLLM_OUT_ bit. */
typedef enum row_output {
    ROW_ARGMAX,
    ROW_MAX,
    ROW_LSE,
    ROW_CONFIDENCE,
    ROW_ENTROPY,
    ROW_SECOND,
    ROW_SECOND_ID,
    ROW_MARGIN,
    ROW_TARGET_LOGPROB,
    ROW_GUMBEL_ID,
    ROW_GUMBEL_LOGPROB,
    ROW_FLAGS,
    ROW_OUTPUTS, /* so far one value a row */
    ROW_CANDIDATE_VALUES = ROW_OUTPUTS,
    ROW_CANDIDATE_IDS,
    ROW_STATE, /* instead of the others, with DLLM_PARTIAL_STATE */
    ROW_BUFFERS
} row_output;

/** The output's name in the case files and in dllm_head_buffers. */
const char *row_output_name(int output);

/** The DLLM_OUT_ bit that asks for the buffer, 0 for the state. */
uint32_t row_output_bit(int output);

/** Bytes of an id, or of an index. */
size_t row_id_bytes(dllm_id_type type);

/** Bytes of one element, which the buffer is aligned to. */
size_t row_output_bytes(int output, dllm_id_type id_type);

/** The buffers of a call of each operation; one of them is used. */
typedef struct row_buffers {
    dllm_head_buffers head;
    dllm_sampler_buffers sampler;
    dllm_merge_buffers merge;
} row_buffers;

#define ROW_BUFFERS_INIT                                                                           \
    {                                                                                              \
        DLLM_HEAD_BUFFERS_INIT, DLLM_SAMPLER_BUFFERS_INIT, DLLM_MERGE_BUFFERS_INIT                 \
    }

/** Points the output's field of each struct at data. */
void row_output_bind(int output, row_buffers *buffers, const void *data);

/** Element `i` of an output as a number: ids and flags are exact in a double. Not of states. */
double row_output_value(int output, dllm_id_type id_type, const void *data, int64_t i);

#endif
