/*
 * head_rows.h - 128 real rows of the small model's head with their answers in double precision
 */
#ifndef HEAD_ROWS_H
#define HEAD_ROWS_H

#include "safetensors.h"

#include "row_run.h"

enum { HEAD_ROWS = 128, HEAD_ROWS_VOCAB = 4096, HEAD_ROWS_DEPTH = 256 };

typedef struct head_rows {
    dllm_tensor_file *files[2];
    const void *hidden;    /* (HEAD_ROWS, HEAD_ROWS_DEPTH) bf16 */
    const void *weight;    /* (HEAD_ROWS_VOCAB, HEAD_ROWS_DEPTH) bf16 */
    const int64_t *argmax; /* (HEAD_ROWS), and so on */
    const double *max;
    const double *lse;
    const double *confidence;
} head_rows;

/** Opens the model's files in the source tree; false with a message. */
bool head_rows_open(head_rows *out, dllm_message *message);

void head_rows_close(head_rows *rows);

/** Runs the rows through a family in one call and compares: argmax exact, the rest in tolerance. */
bool head_rows_check(const head_rows *rows, device_memory *memory, dllm_context *context,
                     const char *family, dllm_message *message);

#endif
