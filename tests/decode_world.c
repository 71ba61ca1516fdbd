/* decode_world.c - see decode_world.h */
#include "decode_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

float world_logit(const int64_t *canvas, int length, int q, int v)
{
    uint64_t state = 0x5eed;
    for (int i = 0; i < length; i++)
        state = mix(state + (uint64_t)canvas[i]);
    state = mix(state ^ (uint64_t)(q * WORLD_VOCAB + v));
    /* one id in four stands out, so that thresholds have something to choose */
    return (float)(state % 32) / 8.0f + (state >> 32 & 3 ? 0.0f : (float)(state >> 40 & 31) / 8.0f);
}

/* ---- trunk -------------------------------------------------------------------------------- */

static void read_narrow(decode_world *world)
{
    for (int i = 0; world->options.id_type == DLLM_INT32 && i < WORLD_SEQUENCES * WORLD_LENGTH; i++)
        world->canvas[i] = world->narrow[i];
}

static int length_of(const decode_world *world, int s)
{
    return (int)(world->sequences[s].prompt + world->sequences[s].generate);
}

/* The second canvases, as far as sequences reach. */
static void read_unconditional(decode_world *world, const dllm_trunk_call *call)
{
    const bool is_narrow = world->options.id_type == DLLM_INT32;
    for (int s = 0; call->copies > 1 && s < world->count; s++)
        for (int q = 0; q < length_of(world, s); q++) {
            const int64_t i = s * call->unconditional_stride + q;
            world->unconditional[s * WORLD_LENGTH + q] =
                is_narrow ? ((const int32_t *)call->unconditional)[i]
                          : ((const int64_t *)call->unconditional)[i];
        }
}

/* Logits of listed row r, which is that of position `source` in a canvas, into hidden row `place`. */
static void write_row(decode_world *world, int64_t place, const int64_t *canvas, int s, int source)
{
    float *out = world->hidden + place * WORLD_VOCAB;
    for (int v = 0; v < WORLD_VOCAB; v++)
        out[v] = world_logit(canvas + (size_t)s * WORLD_LENGTH, length_of(world, s), source, v);
}

/* Writes the rows that the layout says will be read; the others are NaN. */
static void write_rows(decode_world *world, const dllm_trunk_call *call)
{
    const bool gathered = world->options.layout == DLLM_HIDDEN_GATHERED;
    const int64_t second = gathered ? call->rows_max : (int64_t)world->count * WORLD_LENGTH;
    int row = 0;
    for (size_t i = 0; i < sizeof world->hidden / sizeof world->hidden[0]; i++)
        world->hidden[i] = NAN;
    for (int s = 0; s < world->count; s++)
        for (int i = 0; i < call->status[s].reads; i++, row++) {
            const int q = call->row_position[row];
            const int source = world->options.shifted && q > 0 ? q - 1 : q;
            const int64_t place = gathered ? row : s * WORLD_LENGTH + source;
            if (s == world->nan_sequence && q == world->nan_position) continue;
            write_row(world, place, world->canvas, s, source);
            if (call->copies > 1 && world->sequences[s].cfg_scale > 0)
                write_row(world, second + place, world->unconditional, s, source);
        }
}

static int forward(void *user, dllm_trunk_call *call)
{
    decode_world *world = user;
    if (world->forwards == world->fails_at) return 7;
    if (world->forwards == world->cancels_at) dllm_decode_cancel(world->decode);
    world->forwards++;
    read_narrow(world);
    read_unconditional(world, call);
    if (world->looked) world->looked(world, call);
    write_rows(world, call);
    return 0;
}

/* ---- world -------------------------------------------------------------------------------- */

void world_create(decode_world *out, const char *preset)
{
    dllm_context_options context = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_decode_options *options = &out->options;
    *out = (decode_world){.count = 1, .fails_at = -1, .cancels_at = -1, .nan_position = -1};
    context.device = DLLM_DEVICE_CPU;
    context.threads = 1;
    if (dllm_context_create(&out->context, &context) != DLLM_OK ||
        dllm_decode_preset(options, &out->sequences[0], preset) != DLLM_OK)
        abort();
    options->head.vocab = options->head.depth = WORLD_VOCAB;
    options->head.hidden_type = options->head.weight_type = DLLM_FP32;
    options->mask_id = WORLD_MASK;
    options->sequences_max = WORLD_SEQUENCES;
    options->length_max = options->block_length_max = WORLD_LENGTH;
    options->id_type = DLLM_INT64;
    options->trace_max = WORLD_TRACE;
    options->trunk = forward;
    options->trunk_user = out;
    for (int v = 0; v < WORLD_VOCAB; v++)
        out->weight[v * WORLD_VOCAB + v] = 1;
}

void world_release(decode_world *world)
{
    free(world->buffers.workspace);
    dllm_decode_destroy(world->decode);
    dllm_context_destroy(world->context);
}

void world_set_canvas(decode_world *world, int sequence, int prompt, int generate)
{
    dllm_sequence *parameters = &world->sequences[sequence];
    if (sequence > 0) *parameters = world->sequences[0];
    if (sequence >= world->count) world->count = sequence + 1;
    parameters->prompt = prompt;
    parameters->generate = generate;
    parameters->canvas_offset = (int64_t)sequence * WORLD_LENGTH;
    for (int q = 0; q < WORLD_LENGTH; q++)
        world->canvas[sequence * WORLD_LENGTH + q] =
            q < prompt ? (q * 5 + sequence) % WORLD_EOS : WORLD_MASK;
}

dllm_status world_begin(decode_world *world)
{
    const bool is_narrow = world->options.id_type == DLLM_INT32;
    if (!world->decode) {
        const dllm_status status =
            dllm_decode_prepare(&world->decode, world->context, &world->options);
        if (status != DLLM_OK) return status;
        if (world->prepared) world->prepared(world->decode);
        world->buffers = (dllm_decode_buffers){.struct_size = sizeof world->buffers};
        world->buffers.workspace_bytes = dllm_decode_workspace_bytes(world->decode);
        world->buffers.workspace = malloc(world->buffers.workspace_bytes);
    }
    if (!world->buffers.workspace) abort();
    memset(world->buffers.workspace, 0xee, world->buffers.workspace_bytes);
    for (int i = 0; i < WORLD_SEQUENCES * WORLD_LENGTH; i++)
        world->narrow[i] = (int32_t)world->canvas[i];
    world->buffers.canvas = is_narrow ? (void *)world->narrow : (void *)world->canvas;
    world->buffers.hidden = world->hidden;
    world->buffers.weight = world->weight;
    world->forwards = 0;
    return dllm_decode_begin(world->decode, &world->buffers, world->sequences, world->count, NULL);
}

const int64_t *world_canvas(decode_world *world, int sequence)
{
    read_narrow(world);
    return world->canvas + (size_t)sequence * WORLD_LENGTH;
}

dllm_sequence_status world_status(decode_world *world, int sequence)
{
    dllm_sequence_status status[WORLD_SEQUENCES];
    if (dllm_decode_read(world->decode, NULL, status, world->count) != DLLM_OK) abort();
    return status[sequence];
}
