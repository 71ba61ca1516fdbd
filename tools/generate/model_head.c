/*
 * model_head.c - see model_head.h
 */
#include "model_head.h"
#include "device_memory.h"
#include "exact_split.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct dllm_model_head {
    const dllm_model *model;
    int64_t rows_max;
    int64_t depth;   /* of the product the library sees */
    int64_t addends; /* of a weight in the split form, 0: hidden and weight as they are */
    dllm_plan *plan;
    device_memory memory;
    void *rows;   /* (rows_max, depth) gathered, on the host */
    void *hidden; /* the same on the device */
    void *weight; /* on the device; NULL where the mapped file is used */
    void *workspace;
    void *token;
    void *confidence;
    void *flags;
    size_t row_bytes;
    dllm_model_head_report report;
};

static dllm_type type_of(const dllm_tensor *tensor)
{
    if (tensor->type == DLLM_TENSOR_BF16) return DLLM_BF16;
    return tensor->type == DLLM_TENSOR_FP16 ? DLLM_FP16 : DLLM_FP32;
}

static int64_t addends_of(const dllm_tensor *tensor)
{
    if (tensor->type == DLLM_TENSOR_BF16) return 1;
    return tensor->type == DLLM_TENSOR_FP16 ? 2 : 3;
}

/* ---- create and destroy ---------------------------------------------------------------------- */

/** Splits the whole weight on the host, then copies it to the device. */
static bool upload_split_weight(dllm_model_head *head)
{
    const dllm_tensor *weight = head->model->head;
    const int64_t hidden = head->model->config.hidden;
    const int64_t vocab = head->model->config.vocab;
    const size_t bytes = (size_t)vocab * head->row_bytes;
    uint16_t *split = malloc(bytes);
    float *row = calloc((size_t)hidden, sizeof *row);
    bool done = split && row;
    for (int64_t v = 0; done && v < vocab; v++) {
        dllm_tensor_to_fp32(row, weight, v * hidden, hidden);
        dllm_split_weight(split + v * head->depth, row, hidden, head->addends);
    }
    done = done && device_write(&head->memory, head->weight, split, bytes);
    free(row);
    free(split);
    return done;
}

/** Asks for the pair as it is, and if that is refused for the split form. */
static dllm_status prepare(dllm_model_head *head, dllm_context *context, const char *family,
                           dllm_message *message)
{
    const dllm_model_config *config = &head->model->config;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = config->vocab;
    options.valid_vocab = config->mask_id;
    options.depth = config->hidden;
    options.rows_max = head->rows_max;
    options.hidden_type = DLLM_FP32;
    options.weight_type = type_of(head->model->head);
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
    options.family = family;
    head->row_bytes = (size_t)options.depth * sizeof(float);
    dllm_status status = dllm_head_prepare(&head->plan, context, &options);
    if (status == DLLM_UNSUPPORTED) {
        head->addends = addends_of(head->model->head);
        options.depth *= DLLM_SPLIT_HIDDEN * head->addends;
        options.hidden_type = DLLM_BF16;
        options.weight_type = DLLM_BF16;
        head->row_bytes = (size_t)options.depth * sizeof(uint16_t);
        status = dllm_head_prepare(&head->plan, context, &options);
    }
    head->depth = options.depth;
    if (status != DLLM_OK) dllm_message_set(message, "%s", dllm_last_error());
    return status;
}

static bool allocate_all(dllm_model_head *head)
{
    const size_t rows = (size_t)head->rows_max;
    const size_t workspace_bytes = dllm_plan_workspace_bytes(head->plan);
    head->rows = malloc(rows * head->row_bytes);
    head->hidden = device_allocate(&head->memory, rows * head->row_bytes);
    head->workspace = device_allocate(&head->memory, workspace_bytes);
    head->token = device_allocate(&head->memory, rows * sizeof(int32_t));
    head->confidence = device_allocate(&head->memory, rows * sizeof(float));
    head->flags = device_allocate(&head->memory, rows * sizeof(uint32_t));
    head->report.workspace_bytes = workspace_bytes;
    head->report.logits_bytes = rows * (size_t)head->model->config.vocab * sizeof(float);
    return head->rows && head->hidden && head->workspace && head->token && head->confidence &&
           head->flags;
}

/** Brings the weight to the device; on the CPU the mapped file serves as it is. */
static bool upload_weight(dllm_model_head *head)
{
    const dllm_tensor *weight = head->model->head;
    if (!head->addends && head->memory.device == DLLM_DEVICE_CPU) return true;
    const size_t split_bytes = (size_t)head->model->config.vocab * head->row_bytes;
    head->weight = device_allocate(&head->memory, head->addends ? split_bytes : weight->size_bytes);
    if (!head->weight) return false;
    if (head->addends) return upload_split_weight(head);
    return device_write(&head->memory, head->weight, weight->data, weight->size_bytes);
}

dllm_status dllm_model_head_create(dllm_model_head **out, dllm_context *context,
                                   const dllm_model *model, const dllm_model_head_options *options,
                                   dllm_message *message)
{
    const dllm_model_config *config = &model->config;
    if (config->mask_id != config->vocab - 1) {
        dllm_message_set(message,
                         "mask_token_id %jd is not the last id, %jd: a mask that lies elsewhere "
                         "needs a suppression list, which is not built yet",
                         (intmax_t)config->mask_id, (intmax_t)config->vocab - 1);
        return DLLM_UNSUPPORTED;
    }
    dllm_model_head *head = calloc(1, sizeof *head);
    if (!head) {
        dllm_message_set(message, "out of memory");
        return DLLM_OUT_OF_MEMORY;
    }
    head->model = model;
    head->rows_max = options->rows_max;
    dllm_status status = prepare(head, context, options->family, message);
    if (status != DLLM_OK) goto done;
    status = DLLM_DRIVER_FAILED;
    if (!device_open(&head->memory, options->device) || !allocate_all(head) ||
        !upload_weight(head)) {
        const char *reason = head->memory.message;
        dllm_message_set(message, "%s", reason[0] ? reason : "out of memory for the head");
        goto done;
    }
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    status = dllm_plan_info(head->plan, &information);
    memcpy(head->report.family, information.family, sizeof head->report.family);
    if (status != DLLM_OK) dllm_message_set(message, "%s", dllm_last_error());
done:
    if (status == DLLM_OK)
        *out = head;
    else
        dllm_model_head_destroy(head);
    return status;
}

void dllm_model_head_destroy(dllm_model_head *head)
{
    if (!head) return;
    void *const buffers[] = {head->hidden, head->weight,     head->workspace,
                             head->token,  head->confidence, head->flags};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        device_free(&head->memory, buffers[i]);
    dllm_plan_destroy(head->plan);
    device_close(&head->memory);
    free(head->rows);
    free(head);
}

/* ---- score ----------------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void gather_rows(const dllm_model_head *head, const float *hidden, const int64_t *positions,
                        int64_t count)
{
    const int64_t width = head->model->config.hidden;
    for (int64_t r = 0; r < count; r++) {
        const float *row = hidden + positions[r] * width;
        char *place = (char *)head->rows + (size_t)r * head->row_bytes;
        if (head->addends)
            dllm_split_hidden((uint16_t *)(void *)place, row, width, head->addends);
        else
            memcpy(place, row, head->row_bytes);
    }
}

/** Runs the head on the rows that lie on the device and waits for its results. */
static bool run_head(dllm_model_head *head, int64_t count, dllm_message *message)
{
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = count;
    buffers.hidden = head->hidden;
    buffers.weight = head->weight ? head->weight : head->model->head->data;
    buffers.workspace = head->workspace;
    buffers.workspace_bytes = head->report.workspace_bytes;
    buffers.argmax = head->token;
    buffers.confidence = head->confidence;
    buffers.flags = head->flags;
    const double begun_ms = now_ms();
    if (dllm_head_run(head->plan, &buffers, NULL) != DLLM_OK)
        return DLLM_REFUSE(message, "%s", dllm_last_error());
    if (!device_wait(&head->memory, NULL)) return DLLM_REFUSE(message, "%s", head->memory.message);
    head->report.ms += now_ms() - begun_ms;
    head->report.rows += count;
    return true;
}

bool dllm_model_head_score(dllm_model_head *head, const float *hidden, const int64_t *positions,
                           int64_t count, const dllm_row_scores *out, dllm_message *message)
{
    device_memory *memory = &head->memory;
    const size_t rows = (size_t)count;
    gather_rows(head, hidden, positions, count);
    if (!device_write(memory, head->hidden, head->rows, rows * head->row_bytes))
        return DLLM_REFUSE(message, "%s", memory->message);
    if (!run_head(head, count, message)) return false;
    if (!device_read(memory, out->token, head->token, rows * sizeof *out->token) ||
        !device_read(memory, out->confidence, head->confidence, rows * sizeof *out->confidence) ||
        !device_read(memory, out->flags, head->flags, rows * sizeof *out->flags))
        return DLLM_REFUSE(message, "%s", memory->message);
    return true;
}

void dllm_model_head_read_report(const dllm_model_head *head, dllm_model_head_report *out)
{
    *out = head->report;
}
