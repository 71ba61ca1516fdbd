/*
 * decoder.c - see decoder.h
 */
#include "decoder.h"
#include "device_memory.h"
#include "exact_split.h"
#include "trunk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct dllm_decoder {
    const dllm_model *model;
    dllm_decoder_options options;
    int64_t length;
    int64_t rows_max;
    int copies;      /* 2 with guidance: rows of the second canvas lie behind rows_max others */
    int64_t depth;   /* of the product the library sees */
    int64_t addends; /* of a weight in the split form, 0: hidden and weight as they are */
    size_t row_bytes;
    dllm_decode *decode;
    dllm_trunk *trunk;
    device_memory memory;
    int32_t *ids;           /* (length) on the host */
    int32_t *unconditional; /* (length) on the host: the second canvas */
    int32_t *position;      /* (rows_max) on the host */
    void *rows;             /* (rows_max, depth) gathered, on the host, for each copy in turn */
    dllm_trace_record *trace;
    /* on the device */
    int32_t *canvas;
    void *hidden; /* (copies, rows_max, depth) */
    void *weight; /* NULL where the mapped file is used */
    void *workspace;
    size_t workspace_bytes;
    double begun_ms; /* when the trunk was left */
    dllm_decoder_report report;
    dllm_message message; /* the trunk's */
};

int64_t dllm_decoder_length(const dllm_decoder_options *options)
{
    const dllm_sequence *sequence = &options->sequence;
    const int64_t length = sequence->prompt + sequence->generate;
    const int64_t block = sequence->block_length;
    if (!options->decode.aligned_blocks || block <= 0) return length;
    return (length + block - 1) / block * block;
}

static double now_ms(void)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* ---- trunk -------------------------------------------------------------------------------- */

/* Canvases and listed positions to the host; *rows of them. */
static bool fetch_step(dllm_decoder *decoder, const dllm_trunk_call *call, int64_t *rows)
{
    device_memory *memory = &decoder->memory;
    const size_t canvas_bytes = (size_t)decoder->length * sizeof *decoder->ids;
    return device_wait(memory, call->stream) &&
           device_read(memory, rows, call->rows, sizeof *rows) &&
           device_read(memory, decoder->ids, call->canvas, canvas_bytes) &&
           (call->copies == 1 ||
            device_read(memory, decoder->unconditional, call->unconditional, canvas_bytes)) &&
           device_read(memory, decoder->position, call->row_position,
                       (size_t)*rows * sizeof *decoder->position);
}

static void gather_rows(dllm_decoder *decoder, const float *hidden, int64_t count)
{
    const int64_t width = decoder->model->config.hidden;
    for (int64_t r = 0; r < count; r++) {
        const int64_t q = decoder->position[r];
        const int64_t source = decoder->options.decode.shifted && q > 0 ? q - 1 : q;
        const float *row = hidden + source * width;
        char *place = (char *)decoder->rows + (size_t)r * decoder->row_bytes;
        if (decoder->addends)
            dllm_split_hidden((uint16_t *)(void *)place, row, width, decoder->addends);
        else
            memcpy(place, row, decoder->row_bytes);
    }
}

/* Hidden rows of the listed positions of a canvas to the device. */
static bool send_rows(dllm_decoder *decoder, int copy, int64_t count)
{
    const int32_t *ids = copy ? decoder->unconditional : decoder->ids;
    char *place = (char *)decoder->hidden + (size_t)(copy * decoder->rows_max) * decoder->row_bytes;
    if (count == 0) return true;
    gather_rows(decoder, dllm_trunk_forward(decoder->trunk, ids, decoder->length), count);
    return device_write(&decoder->memory, place, decoder->rows, (size_t)count * decoder->row_bytes);
}

static int forward(void *user, dllm_trunk_call *call)
{
    dllm_decoder *decoder = user;
    int64_t rows = 0;
    if (!fetch_step(decoder, call, &rows))
        return dllm_message_set(&decoder->message, "%s", decoder->memory.message), 1;
    if (decoder->begun_ms > 0) decoder->report.ms += now_ms() - decoder->begun_ms;
    if (decoder->options.show)
        decoder->options.show(decoder->options.user, decoder->ids, decoder->length);
    decoder->report.rows += rows;
    for (int copy = 0; copy < decoder->copies; copy++)
        if (!send_rows(decoder, copy, rows))
            return dllm_message_set(&decoder->message, "%s", decoder->memory.message), 1;
    decoder->begun_ms = now_ms();
    return 0;
}

/* ---- create and destroy ------------------------------------------------------------------- */

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

/* Sizes, types and ids of the model into the loop's options. */
static void fill_options(dllm_decoder *decoder)
{
    dllm_decode_options *decode = &decoder->options.decode;
    dllm_sequence *sequence = &decoder->options.sequence;
    const int64_t block = sequence->block_length ? sequence->block_length : sequence->generate;
    decode->head.vocab = decoder->model->config.vocab;
    decode->head.depth = decoder->model->config.hidden;
    decode->head.hidden_type = DLLM_FP32;
    decode->head.weight_type = type_of(decoder->model->head);
    decode->head.family = decoder->options.family;
    decode->mask_id = decoder->model->config.mask_id;
    decode->sequences_max = 1;
    decode->length_max = decoder->length;
    decode->block_length_max = block;
    decode->id_type = DLLM_INT32;
    decode->layout = DLLM_HIDDEN_GATHERED;
    decode->trunk = forward;
    decode->trunk_user = decoder;
    decoder->rows_max = decode->eligible_prefix ? decoder->length : block;
    decoder->copies = decode->guides ? 2 : 1;
}

/** Asks for the pair of types as it is, and if that is refused for the split form. */
static dllm_status prepare(dllm_decoder *decoder, dllm_context *context, dllm_message *message)
{
    dllm_head_options *head = &decoder->options.decode.head;
    decoder->row_bytes = (size_t)head->depth * sizeof(float);
    dllm_status status = dllm_decode_prepare(&decoder->decode, context, &decoder->options.decode);
    if (status == DLLM_UNSUPPORTED) {
        decoder->addends = addends_of(decoder->model->head);
        head->depth *= DLLM_SPLIT_HIDDEN * decoder->addends;
        head->hidden_type = head->weight_type = DLLM_BF16;
        decoder->row_bytes = (size_t)head->depth * sizeof(uint16_t);
        status = dllm_decode_prepare(&decoder->decode, context, &decoder->options.decode);
    }
    decoder->depth = head->depth;
    if (status != DLLM_OK) dllm_message_set(message, "%s", dllm_last_error());
    return status;
}

static bool allocate_all(dllm_decoder *decoder)
{
    device_memory *memory = &decoder->memory;
    const size_t rows = (size_t)decoder->rows_max;
    const size_t length = (size_t)decoder->length;
    decoder->workspace_bytes = dllm_decode_workspace_bytes(decoder->decode);
    decoder->report.workspace_bytes =
        decoder->workspace_bytes -
        (size_t)decoder->options.decode.trace_max * sizeof(dllm_trace_record);
    const size_t hidden = (size_t)decoder->copies * rows;
    decoder->report.logits_bytes = hidden * (size_t)decoder->model->config.vocab * sizeof(float);
    decoder->ids = calloc(length, sizeof *decoder->ids);
    decoder->unconditional = calloc(length, sizeof *decoder->unconditional);
    decoder->position = calloc(rows, sizeof *decoder->position);
    decoder->rows = malloc(rows * decoder->row_bytes);
    decoder->canvas = device_allocate(memory, length * sizeof *decoder->canvas);
    decoder->hidden = device_allocate(memory, hidden * decoder->row_bytes);
    decoder->workspace = device_allocate(memory, decoder->workspace_bytes);
    return decoder->ids && decoder->unconditional && decoder->position && decoder->rows &&
           decoder->canvas && decoder->hidden && decoder->workspace;
}

/** Splits the whole weight on the host, then copies it to the device. */
static bool upload_split_weight(dllm_decoder *decoder)
{
    const dllm_tensor *weight = decoder->model->head;
    const int64_t hidden = decoder->model->config.hidden, vocab = decoder->model->config.vocab;
    const size_t bytes = (size_t)vocab * decoder->row_bytes;
    uint16_t *split = malloc(bytes);
    float *row = calloc((size_t)hidden, sizeof *row);
    bool done = split && row;
    for (int64_t v = 0; done && v < vocab; v++) {
        dllm_tensor_to_fp32(row, weight, v * hidden, hidden);
        dllm_split_weight(split + v * decoder->depth, row, hidden, decoder->addends);
    }
    done = done && device_write(&decoder->memory, decoder->weight, split, bytes);
    free(row);
    free(split);
    return done;
}

/** Brings the weight to the device; on the CPU the mapped file serves as it is. */
static bool upload_weight(dllm_decoder *decoder)
{
    const dllm_tensor *weight = decoder->model->head;
    if (!decoder->addends && decoder->memory.device == DLLM_DEVICE_CPU) return true;
    const size_t split_bytes = (size_t)decoder->model->config.vocab * decoder->row_bytes;
    decoder->weight =
        device_allocate(&decoder->memory, decoder->addends ? split_bytes : weight->size_bytes);
    if (!decoder->weight) return false;
    if (decoder->addends) return upload_split_weight(decoder);
    return device_write(&decoder->memory, decoder->weight, weight->data, weight->size_bytes);
}

static dllm_status read_family(dllm_decoder *decoder, dllm_message *message)
{
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    const dllm_status status = dllm_decode_info(decoder->decode, &information);
    if (status != DLLM_OK) dllm_message_set(message, "%s", dllm_last_error());
    memcpy(decoder->report.family, information.family, sizeof decoder->report.family);
    return status;
}

static dllm_status fill(dllm_decoder *decoder, dllm_context *context, dllm_message *message)
{
    const dllm_decoder_options *options = &decoder->options;
    const dllm_status status = prepare(decoder, context, message);
    if (status != DLLM_OK) return status;
    if (!dllm_trunk_create(&decoder->trunk, decoder->model, decoder->length, options->threads,
                           message))
        return DLLM_OUT_OF_MEMORY;
    if (device_open(&decoder->memory, options->device) && allocate_all(decoder) &&
        upload_weight(decoder))
        return read_family(decoder, message);
    const char *reason = decoder->memory.message;
    dllm_message_set(message, "%s", reason[0] ? reason : "out of memory for the decode");
    return DLLM_DRIVER_FAILED;
}

dllm_status dllm_decoder_create(dllm_decoder **out, dllm_context *context, const dllm_model *model,
                                const dllm_decoder_options *options, dllm_message *message)
{
    dllm_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        dllm_message_set(message, "out of memory");
        return DLLM_OUT_OF_MEMORY;
    }
    decoder->model = model;
    decoder->options = *options;
    decoder->length = dllm_decoder_length(options);
    fill_options(decoder);
    const dllm_status status = fill(decoder, context, message);
    if (status == DLLM_OK)
        *out = decoder;
    else
        dllm_decoder_destroy(decoder);
    return status;
}

void dllm_decoder_destroy(dllm_decoder *decoder)
{
    if (!decoder) return;
    void *const buffers[] = {decoder->canvas, decoder->hidden, decoder->weight, decoder->workspace};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        device_free(&decoder->memory, buffers[i]);
    dllm_decode_destroy(decoder->decode);
    device_close(&decoder->memory);
    dllm_trunk_destroy(decoder->trunk);
    free(decoder->ids);
    free(decoder->unconditional);
    free(decoder->position);
    free(decoder->rows);
    free(decoder->trace);
    free(decoder);
}

/* ---- run ---------------------------------------------------------------------------------- */

static dllm_status refuse(dllm_message *message, dllm_status status, const char *reason)
{
    dllm_message_set(message, "%s", reason);
    return status;
}

static dllm_status begin(dllm_decoder *decoder, const int32_t *ids, dllm_message *message)
{
    const dllm_sequence *sequence = &decoder->options.sequence;
    dllm_decode_buffers buffers = DLLM_DECODE_BUFFERS_INIT;
    for (int64_t q = 0; q < decoder->length; q++)
        decoder->ids[q] = q < sequence->prompt ? ids[q] : (int32_t)decoder->model->config.mask_id;
    if (!device_write(&decoder->memory, decoder->canvas, decoder->ids,
                      (size_t)decoder->length * sizeof *decoder->ids))
        return refuse(message, DLLM_DRIVER_FAILED, decoder->memory.message);
    buffers.canvas = decoder->canvas;
    buffers.hidden = decoder->hidden;
    buffers.weight = decoder->weight ? decoder->weight : decoder->model->head->data;
    buffers.workspace = decoder->workspace;
    buffers.workspace_bytes = decoder->workspace_bytes;
    const dllm_status status = dllm_decode_begin(decoder->decode, &buffers, sequence, 1, NULL);
    return status == DLLM_OK ? status : refuse(message, status, dllm_last_error());
}

dllm_status dllm_decoder_run(dllm_decoder *decoder, int32_t *ids, dllm_message *message)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    dllm_sequence_status sequence;
    const char *reason = decoder->message.text;
    decoder->message.text[0] = '\0';
    decoder->begun_ms = 0;
    dllm_status status = begin(decoder, ids, message);
    if (status != DLLM_OK) return status;
    status = dllm_decode_run(decoder->decode, NULL);
    if (status != DLLM_OK) return refuse(message, status, reason[0] ? reason : dllm_last_error());
    status = dllm_decode_read(decoder->decode, &batch, &sequence, 1);
    if (status != DLLM_OK) return refuse(message, status, dllm_last_error());
    if (decoder->begun_ms > 0) decoder->report.ms += now_ms() - decoder->begun_ms;
    decoder->report.steps += batch.forwards;
    decoder->report.uncovered += sequence.uncovered;
    if (!device_read(&decoder->memory, ids, decoder->canvas, (size_t)decoder->length * sizeof *ids))
        return refuse(message, DLLM_DRIVER_FAILED, decoder->memory.message);
    if (decoder->options.show) decoder->options.show(decoder->options.user, ids, decoder->length);
    return DLLM_OK;
}

const dllm_trace_record *dllm_decoder_trace(dllm_decoder *decoder, int64_t *count,
                                            dllm_message *message)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    if (dllm_decode_read(decoder->decode, &batch, NULL, 0) != DLLM_OK)
        return dllm_message_set(message, "%s", dllm_last_error()), NULL;
    const int64_t most = decoder->options.decode.trace_max;
    *count = batch.traced < most ? batch.traced : most;
    free(decoder->trace);
    decoder->trace = calloc((size_t)*count + 1, sizeof *decoder->trace);
    if (!decoder->trace) return dllm_message_set(message, "out of memory for the trace"), NULL;
    if (dllm_decode_trace(decoder->decode, decoder->trace, 0, *count) == DLLM_OK)
        return decoder->trace;
    return dllm_message_set(message, "%s", dllm_last_error()), NULL;
}

void dllm_decoder_read_report(const dllm_decoder *decoder, dllm_decoder_report *out)
{
    *out = decoder->report;
}
