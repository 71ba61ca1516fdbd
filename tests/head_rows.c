/* head_rows.c - 128 real rows of the small model's head with their answers in double precision */
#include "head_rows.h"

#include "compare.h"

#include <stdlib.h>
#include <string.h>

static const char model_file[] = DLLM_SOURCE_DIR "/tests/data/austen/model.safetensors";
static const char rows_file[] = DLLM_SOURCE_DIR "/tests/data/austen/head_rows.safetensors";

static const uint32_t outputs =
    DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;

static bool find(const void **out, const dllm_tensor_file *file, const char *name,
                 dllm_tensor_type type, const int64_t shape[2], dllm_message *message)
{
    const dllm_tensor *tensor = NULL;
    if (!dllm_tensor_file_require(&tensor, file, name, shape[1] ? 2 : 1, shape, message))
        return false;
    *out = tensor->data;
    return tensor->type == type ||
           DLLM_REFUSE(message, "%s is not %s", name, dllm_tensor_type_name(type));
}

bool head_rows_open(head_rows *out, dllm_message *message)
{
    static const int64_t hidden[] = {HEAD_ROWS, HEAD_ROWS_DEPTH};
    static const int64_t weight[] = {HEAD_ROWS_VOCAB, HEAD_ROWS_DEPTH};
    static const int64_t list[] = {HEAD_ROWS, 0};
    const void *found[4] = {NULL};
    *out = (head_rows){0};
    if (!dllm_tensor_file_open(&out->files[0], model_file, message) ||
        !dllm_tensor_file_open(&out->files[1], rows_file, message) ||
        !find(&out->weight, out->files[0], "model.transformer.ff_out.weight", DLLM_TENSOR_BF16,
              weight, message) ||
        !find(&out->hidden, out->files[1], "hidden", DLLM_TENSOR_BF16, hidden, message) ||
        !find(&found[0], out->files[1], "argmax", DLLM_TENSOR_INT64, list, message) ||
        !find(&found[1], out->files[1], "max", DLLM_TENSOR_FP64, list, message) ||
        !find(&found[2], out->files[1], "lse", DLLM_TENSOR_FP64, list, message) ||
        !find(&found[3], out->files[1], "confidence", DLLM_TENSOR_FP64, list, message)) {
        head_rows_close(out);
        return false;
    }
    out->argmax = found[0];
    out->max = found[1];
    out->lse = found[2];
    out->confidence = found[3];
    return true;
}

void head_rows_close(head_rows *rows)
{
    dllm_tensor_file_close(rows->files[0]);
    dllm_tensor_file_close(rows->files[1]);
    *rows = (head_rows){0};
}

/* Values of the file, with the tolerances that the reference derives from the row's logits. */
static bool compare_row(const head_rows *rows, const row_result *result, int64_t row, double *z,
                        dllm_message *message)
{
    const reference_matrix hidden = {DLLM_BF16, rows->hidden, HEAD_ROWS_DEPTH};
    const reference_matrix weight = {DLLM_BF16, rows->weight, HEAD_ROWS_DEPTH};
    const reference_input input = {.z = z, .vocab = HEAD_ROWS_VOCAB};
    reference_delta delta;
    reference_row expected;
    row_answer answer;
    double value[ROW_OUTPUTS] = {0};
    dllm_message difference;
    reference_logits(z, &delta, &hidden, row, &weight, HEAD_ROWS_VOCAB, HEAD_ROWS_DEPTH);
    reference_statistics(&expected, &input);
    reference_answer(&answer, &expected, reference_delta_of(&delta, result->plan.family));
    answer.present |= DLLM_OUT_ARGMAX;
    answer.value[ROW_ARGMAX] = (double)rows->argmax[row];
    answer.value[ROW_MAX] = rows->max[row];
    answer.value[ROW_LSE] = rows->lse[row];
    answer.value[ROW_CONFIDENCE] = rows->confidence[row];
    for (int i = 0; i < ROW_OUTPUTS; i++)
        if (result->data[i]) value[i] = row_result_value(result, i, row);
    return row_answer_matches(&answer, value, outputs, ~0u, &difference) ||
           DLLM_REFUSE(message, "row %lld: %s", (long long)row, difference.text);
}

bool head_rows_check(const head_rows *rows, device_memory *memory, dllm_context *context,
                     const char *family, dllm_message *message)
{
    const row_problem problem = {.is_head = true,
                                 .hidden_type = DLLM_BF16,
                                 .weight_type = DLLM_BF16,
                                 .rows = HEAD_ROWS,
                                 .vocab = HEAD_ROWS_VOCAB,
                                 .depth = HEAD_ROWS_DEPTH,
                                 .hidden = rows->hidden,
                                 .weight = rows->weight,
                                 .outputs = outputs,
                                 .family = family};
    row_result result;
    double *z = malloc(HEAD_ROWS_VOCAB * sizeof *z);
    bool same = z != NULL || DLLM_REFUSE(message, "out of memory");
    const row_outcome outcome = row_run(&result, memory, context, &problem);
    if (outcome != ROW_RAN) {
        *message = result.message;
        same = false;
    }
    for (int64_t r = 0; same && r < HEAD_ROWS; r++)
        same = compare_row(rows, &result, r, z, message);
    row_result_release(&result);
    free(z);
    return same;
}
