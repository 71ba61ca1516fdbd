/*
 * trunk.c - see trunk.h
 *
 * Every product is one of panel.h. Weights stay as they are in the file; a panel of them is
 * unpacked, used for all positions, and forgotten.
 */
#include "trunk.h"
#include "panel.h"
#include "parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES 64 /* positions of a head whose scores are held at a time */

typedef struct scratch {
    float *panel;  /* (depth_max, DLLM_PANEL) */
    float *row;    /* (depth_max) one row of a weight */
    float *scores; /* (QUERIES, padded length) */
} scratch;

struct dllm_trunk {
    const dllm_model *model;
    int64_t length_max;
    int64_t padded_max; /* length_max, up to a multiple of DLLM_PANEL */
    int threads;
    scratch *scratch; /* (threads) */
    float *cosine;    /* (length_max, head / 2) */
    float *sine;      /* (length_max, head / 2) */
    float *x;         /* (length_max, hidden) the residual stream, and so are the others: */
    float *normed;
    float *query;
    float *key;
    float *value;
    float *mixed; /* what attention gives */
    float *gate;  /* (length_max, mlp) */
    float *up;    /* (length_max, mlp) */
};

/* ---- products -------------------------------------------------------------------------------- */

/** y (+)= x W^T with W (width, depth) as in the file. */
typedef struct linear_work {
    dllm_trunk *trunk;
    const dllm_tensor *weight;
    const float *x;
    float *y;
    int64_t length;
    bool add;
} linear_work;

/** The panels [first, last) of one linear layer. */
static void multiply_weight(void *work, int64_t first, int64_t last, int thread)
{
    const linear_work *layer = work;
    const scratch *mine = &layer->trunk->scratch[thread];
    const int64_t width = layer->weight->shape[0];
    const int64_t depth = layer->weight->shape[1];
    for (int64_t column = first * DLLM_PANEL; column < last * DLLM_PANEL && column < width;
         column += DLLM_PANEL) {
        const int64_t used = width - column < DLLM_PANEL ? width - column : DLLM_PANEL;
        for (int64_t c = 0; c < DLLM_PANEL; c++) {
            if (c < used)
                dllm_tensor_to_fp32(mine->row, layer->weight, (column + c) * depth, depth);
            for (int64_t i = 0; i < depth; i++)
                mine->panel[i * DLLM_PANEL + c] = c < used ? mine->row[i] : 0.0f;
        }
        const dllm_panel_rows rows = {layer->y + column, width, layer->x, depth, layer->length};
        dllm_panel_multiply(&rows, mine->panel, depth, used, layer->add);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): y is written through the work */
static void run_linear(dllm_trunk *trunk, float *y, const float *x, const dllm_tensor *weight,
                       int64_t length, bool add)
{
    linear_work layer = {trunk, weight, x, y, length, add};
    const int64_t panels = (weight->shape[0] + DLLM_PANEL - 1) / DLLM_PANEL;
    dllm_parallel_for(trunk->threads, panels, multiply_weight, &layer);
}

/* ---- norm, rotation, attention --------------------------------------------------------------- */

/** y[t] = x[t] / rms(x[t]) * weight; the sum of squares in double, which costs nothing here. */
static void normalise(dllm_trunk *trunk, float *y, const float *x, const dllm_tensor *weight,
                      int64_t length)
{
    const int64_t hidden = trunk->model->config.hidden;
    float *factor = trunk->scratch[0].row;
    dllm_tensor_to_fp32(factor, weight, 0, hidden);
    for (int64_t t = 0; t < length; t++, x += hidden, y += hidden) {
        double squares = 0.0;
        for (int64_t i = 0; i < hidden; i++)
            squares += (double)x[i] * (double)x[i];
        const double mean = squares / (double)hidden + trunk->model->config.norm_epsilon;
        const float inverse = (float)(1.0 / sqrt(mean));
        for (int64_t i = 0; i < hidden; i++)
            y[i] = x[i] * inverse * factor[i];
    }
}

/** Rotates the pairs (i, i + half) of one head by the angles of its position. */
static void rotate_head(float *x, const float *cosine, const float *sine, int64_t half)
{
    for (int64_t i = 0; i < half; i++) {
        const float low = x[i];
        const float high = x[i + half];
        x[i] = low * cosine[i] - high * sine[i];
        x[i + half] = high * cosine[i] + low * sine[i];
    }
}

static void rotate(const dllm_trunk *trunk, float *x, int64_t length)
{
    const dllm_model_config *config = &trunk->model->config;
    const int64_t half = config->hidden / config->heads / 2;
    for (int64_t t = 0; t < length; t++)
        for (int64_t head = 0; head < config->heads; head++, x += 2 * half)
            rotate_head(x, trunk->cosine + t * half, trunk->sine + t * half, half);
}

/** Turns scores into weights that sum to 1, after the scale. */
static void soften(float *scores, int64_t length, float scale)
{
    float most = -INFINITY;
    for (int64_t s = 0; s < length; s++)
        most = fmaxf(most, scores[s]);
    float sum = 0.0f;
    for (int64_t s = 0; s < length; s++) {
        scores[s] = expf((scores[s] - most) * scale);
        sum += scores[s];
    }
    for (int64_t s = 0; s < length; s++)
        scores[s] /= sum;
}

typedef struct attention_work {
    dllm_trunk *trunk;
    int64_t length;
} attention_work;

/** QUERIES or fewer positions of one head from `from` on: scores, weights, weighted values. */
static void attend_queries(const attention_work *work, const scratch *mine, int64_t head,
                           int64_t from)
{
    const dllm_trunk *trunk = work->trunk;
    const int64_t hidden = trunk->model->config.hidden;
    const int64_t depth = hidden / trunk->model->config.heads;
    const int64_t place = head * depth; /* of the head in a row */
    const int64_t length = work->length;
    const int64_t count = length - from < QUERIES ? length - from : QUERIES;
    dllm_panel_rows rows = {NULL, trunk->padded_max, trunk->query + from * hidden + place, hidden,
                            count};
    for (int64_t s = 0; s < length; s += DLLM_PANEL) {
        const int64_t width = length - s < DLLM_PANEL ? length - s : DLLM_PANEL;
        dllm_panel_pack(mine->panel, trunk->key + s * hidden + place, hidden, depth, width);
        rows.out = mine->scores + s;
        dllm_panel_multiply(&rows, mine->panel, depth, width, false);
    }
    for (int64_t t = 0; t < count; t++)
        soften(mine->scores + t * trunk->padded_max, length, 1.0f / sqrtf((float)depth));
    rows.x = mine->scores;
    rows.x_stride = trunk->padded_max;
    rows.out_stride = hidden;
    for (int64_t i = 0; i < depth; i += DLLM_PANEL) {
        const int64_t width = depth - i < DLLM_PANEL ? depth - i : DLLM_PANEL;
        for (int64_t s = 0; s < length; s++)
            memcpy(mine->panel + s * DLLM_PANEL, trunk->value + s * hidden + place + i,
                   (size_t)width * sizeof *mine->panel);
        rows.out = trunk->mixed + from * hidden + place + i;
        dllm_panel_multiply(&rows, mine->panel, length, width, false);
    }
}

/** The heads [first, last). */
static void attend(void *work, int64_t first, int64_t last, int thread)
{
    const attention_work *attention = work;
    const scratch *mine = &attention->trunk->scratch[thread];
    for (int64_t head = first; head < last; head++)
        for (int64_t from = 0; from < attention->length; from += QUERIES)
            attend_queries(attention, mine, head, from);
}

/* ---- forward --------------------------------------------------------------------------------- */

/** gate = silu(gate) * up, with silu(g) = g / (1 + exp(-g)). */
static void combine_gate(float *gate, const float *up, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

static void run_block(dllm_trunk *trunk, const dllm_model_block *block, int64_t length)
{
    const dllm_tensor *const *tensor = block->tensor;
    normalise(trunk, trunk->normed, trunk->x, tensor[DLLM_BLOCK_ATTN_NORM], length);
    run_linear(trunk, trunk->query, trunk->normed, tensor[DLLM_BLOCK_Q_PROJ], length, false);
    run_linear(trunk, trunk->key, trunk->normed, tensor[DLLM_BLOCK_K_PROJ], length, false);
    run_linear(trunk, trunk->value, trunk->normed, tensor[DLLM_BLOCK_V_PROJ], length, false);
    rotate(trunk, trunk->query, length);
    rotate(trunk, trunk->key, length);
    attention_work work = {trunk, length};
    dllm_parallel_for(trunk->threads, trunk->model->config.heads, attend, &work);
    run_linear(trunk, trunk->x, trunk->mixed, tensor[DLLM_BLOCK_ATTN_OUT], length, true);

    normalise(trunk, trunk->normed, trunk->x, tensor[DLLM_BLOCK_FF_NORM], length);
    run_linear(trunk, trunk->gate, trunk->normed, tensor[DLLM_BLOCK_FF_PROJ], length, false);
    run_linear(trunk, trunk->up, trunk->normed, tensor[DLLM_BLOCK_UP_PROJ], length, false);
    combine_gate(trunk->gate, trunk->up, length * trunk->model->config.mlp);
    run_linear(trunk, trunk->x, trunk->gate, tensor[DLLM_BLOCK_FF_OUT], length, true);
}

const float *dllm_trunk_forward(dllm_trunk *trunk, const int32_t *ids, int64_t length)
{
    const dllm_model *model = trunk->model;
    const int64_t hidden = model->config.hidden;
    assert(length <= trunk->length_max);
    for (int64_t t = 0; t < length; t++)
        dllm_tensor_to_fp32(trunk->x + t * hidden, model->embedding, ids[t] * hidden, hidden);
    for (int64_t layer = 0; layer < model->config.layers; layer++)
        run_block(trunk, &model->blocks[layer], length);
    normalise(trunk, trunk->normed, trunk->x, model->final_norm, length);
    return trunk->normed;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/** angle(t, i) = t * theta^(-i / half), in double: at long positions fp32 would lose the angle. */
static void fill_angles(dllm_trunk *trunk, int64_t half)
{
    for (int64_t t = 0; t < trunk->length_max; t++) {
        for (int64_t i = 0; i < half; i++) {
            const double exponent = -(double)i / (double)half;
            const double angle = (double)t * pow(trunk->model->config.rope_theta, exponent);
            trunk->cosine[t * half + i] = (float)cos(angle);
            trunk->sine[t * half + i] = (float)sin(angle);
        }
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool allocate_floats(float **out, int64_t count, int64_t width)
{
    *out = calloc((size_t)count * (size_t)width, sizeof **out);
    return *out != NULL;
}

static bool allocate(dllm_trunk *trunk)
{
    const dllm_model_config *config = &trunk->model->config;
    const int64_t length = trunk->length_max;
    const int64_t depth_max = larger(larger(config->hidden, config->mlp), length);
    const int64_t half = config->hidden / config->heads / 2;
    float **const streams[] = {&trunk->x,   &trunk->normed, &trunk->query,
                               &trunk->key, &trunk->value,  &trunk->mixed};
    trunk->scratch = calloc((size_t)trunk->threads, sizeof *trunk->scratch);
    bool done = trunk->scratch != NULL;
    for (int i = 0; done && i < trunk->threads; i++)
        done = allocate_floats(&trunk->scratch[i].panel, depth_max, DLLM_PANEL) &&
               allocate_floats(&trunk->scratch[i].row, depth_max, 1) &&
               allocate_floats(&trunk->scratch[i].scores, QUERIES, trunk->padded_max);
    for (size_t i = 0; done && i < sizeof streams / sizeof streams[0]; i++)
        done = allocate_floats(streams[i], length, config->hidden);
    return done && allocate_floats(&trunk->gate, length, config->mlp) &&
           allocate_floats(&trunk->up, length, config->mlp) &&
           allocate_floats(&trunk->cosine, length, half) &&
           allocate_floats(&trunk->sine, length, half);
}

bool dllm_trunk_create(dllm_trunk **out, const dllm_model *model, int64_t length_max, int threads,
                       dllm_message *message)
{
    dllm_trunk *trunk = calloc(1, sizeof *trunk);
    if (!trunk) return DLLM_REFUSE(message, "out of memory");
    trunk->model = model;
    trunk->length_max = length_max;
    trunk->padded_max = (length_max + DLLM_PANEL - 1) / DLLM_PANEL * DLLM_PANEL;
    trunk->threads = threads;
    if (!allocate(trunk)) {
        dllm_trunk_destroy(trunk);
        return DLLM_REFUSE(message, "out of memory for a trunk of %jd positions",
                           (intmax_t)length_max);
    }
    fill_angles(trunk, model->config.hidden / model->config.heads / 2);
    *out = trunk;
    return true;
}

void dllm_trunk_destroy(dllm_trunk *trunk)
{
    if (!trunk) return;
    float *const buffers[] = {trunk->cosine, trunk->sine, trunk->x,     trunk->normed,
                              trunk->query,  trunk->key,  trunk->value, trunk->mixed,
                              trunk->gate,   trunk->up};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        free(buffers[i]);
    for (int i = 0; trunk->scratch && i < trunk->threads; i++) {
        free(trunk->scratch[i].panel);
        free(trunk->scratch[i].row);
        free(trunk->scratch[i].scores);
    }
    free(trunk->scratch);
    free(trunk);
}
