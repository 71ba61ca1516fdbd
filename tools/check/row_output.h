/*
 * row_output.h - the outputs of a row: number, name, where their buffers are named, how they are read
 */
#ifndef ROW_OUTPUT_H
#define ROW_OUTPUT_H

#include "dllm.h"

/** Outputs of a row; the number is that of its DLLM_OUT_ bit. */
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
    ROW_OUTPUTS
} row_output;

/** The output's name in the case files and in dllm_head_buffers. */
const char *row_output_name(int output);

/** Bytes of an id, or of an index. */
size_t row_id_bytes(dllm_id_type type);

/** Bytes of one row of the output. */
size_t row_output_bytes(int output, dllm_id_type id_type);

/** Points the output's field of both buffer structs at data. */
void row_output_bind(int output, dllm_head_buffers *head, dllm_sampler_buffers *sampler,
                     const void *data);

/** The output of a row as a number: ids and flags are exact in a double. */
double row_output_value(int output, dllm_id_type id_type, const void *data, int64_t row);

#endif
