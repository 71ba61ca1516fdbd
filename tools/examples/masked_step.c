/*
 * masked_step.c - one step of masked-diffusion decoding: score the masked positions, commit the surest
 *
 * A canvas of six tokens, three of them still masked. The head reads only the hidden rows of the
 * masked positions, through row_index; nothing of the size of rows x vocabulary is written. Here
 * the weight is the unit matrix, so a hidden row is its own row of logits and can be read by eye.
 */
#include <dllm.h>

#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 6, VOCAB = 4, DEPTH = 4, MASK = -1 };

static const float hidden[LENGTH][DEPTH] = {{9, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 9, 0},
                                            {0, 0, 0, 5}, {0, 0, 9, 0}, {1, 0, 1, 0}};
static const float weight[VOCAB][DEPTH] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};

/* What a step allocates. */
typedef struct step {
    dllm_context *context;
    dllm_plan *plan;
    void *workspace;
} step;

static dllm_status prepare(step *out)
{
    dllm_context_options device = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_status status;
    device.device = DLLM_DEVICE_CPU;
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = LENGTH;
    options.hidden_type = options.weight_type = DLLM_FP32;
    options.index_type = DLLM_INT64;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE;
    options.inputs = DLLM_IN_ROW_INDEX;
    status = dllm_context_create(&out->context, &device);
    if (status == DLLM_OK) status = dllm_head_prepare(&out->plan, out->context, &options);
    if (status != DLLM_OK) return status;
    out->workspace = malloc(dllm_plan_workspace_bytes(out->plan));
    return out->workspace ? DLLM_OK : DLLM_OUT_OF_MEMORY;
}

/** Commits the surest masked position of the canvas. */
static dllm_status commit(const step *step, int32_t *canvas)
{
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    int64_t masked[LENGTH];
    int32_t token[LENGTH];
    float confidence[LENGTH];
    int64_t best = 0;
    dllm_status status;
    for (int64_t q = 0; q < LENGTH; q++)
        if (canvas[q] == MASK) masked[buffers.rows++] = q;
    buffers.hidden = hidden;
    buffers.weight = weight;
    buffers.row_index = masked;
    buffers.source_rows = LENGTH;
    buffers.workspace = step->workspace;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(step->plan);
    buffers.argmax = token;
    buffers.confidence = confidence;
    status = dllm_head_run(step->plan, &buffers, NULL);
    if (status != DLLM_OK || buffers.rows == 0) return status;
    for (int64_t r = 1; r < buffers.rows; r++)
        if (confidence[r] > confidence[best]) best = r;
    canvas[masked[best]] = token[best];
    printf("position %d: token %d, confidence %.4f\n", (int)masked[best], (int)token[best],
           (double)confidence[best]);
    return DLLM_OK;
}

int main(void)
{
    int32_t canvas[LENGTH] = {0, MASK, 2, MASK, 2, MASK};
    step step = {NULL, NULL, NULL};
    dllm_status status = prepare(&step);
    for (int i = 0; i < 3 && status == DLLM_OK; i++)
        status = commit(&step, canvas);
    if (status != DLLM_OK)
        (void)fprintf(stderr, "%s: %s\n", dllm_status_text(status), dllm_last_error());
    free(step.workspace);
    dllm_plan_destroy(step.plan);
    dllm_context_destroy(step.context);
    return status == DLLM_OK ? 0 : 1;
}
