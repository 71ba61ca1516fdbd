/* decode_lanes.c - see decode_lanes.h */
#include "decode_lanes.h"

#include "decode_shape.h"

#include <math.h>
#include <string.h>

/* ---- rules of a run ----------------------------------------------------------------------- */

static void read_dream(decode_lanes *out, dllm_sequence *sequence, const json_t *run)
{
    static const dllm_key_name keys[] = {DLLM_KEY_RANDOM, DLLM_KEY_CONFIDENCE, DLLM_KEY_MARGIN,
                                         DLLM_KEY_NEG_ENTROPY};
    const int alg = field_word(run, "alg", decode_algs);
    out->options.key = keys[alg];
    sequence->selection.name = alg == 0 ? DLLM_SELECTION_COINS : DLLM_SELECTION_TOP_K;
}

static void read_selection(dllm_selection *out, const json_t *run)
{
    out->threshold = (float)field_number(run, "threshold", (double)out->threshold);
    out->inclusive = field_integer(run, "inclusive", out->inclusive);
    out->factor = (float)field_number(run, "factor", (double)out->factor);
    out->count = field_integer(run, "num_to_transfer", out->count);
    if (json_object_get(run, "variant")) out->variant = field_word(run, "variant", decode_variants);
}

static void read_numbers(dllm_sequence *out, const json_t *run)
{
    out->steps = field_integer(run, "steps", out->steps);
    out->steps_per_block = field_integer(run, "steps_per_block", out->steps_per_block);
    out->eps = (float)field_number(run, "eps", (double)out->eps);
    out->edit_threshold = (float)field_number(run, "edit_threshold", (double)out->edit_threshold);
    out->max_post_steps = field_integer(run, "max_post_steps", out->max_post_steps);
    out->penalty = (float)field_number(run, "penalty_lambda", (double)out->penalty);
    out->cfg_scale = (float)field_number(run, "cfg_scale", (double)out->cfg_scale);
    out->filter.temperature =
        (float)field_number(run, "temperature", (double)out->filter.temperature);
}

static bool read_options(decode_lanes *out, const json_t *run, dllm_message *why)
{
    dllm_decode_options *options = &out->options;
    const bool has_words =
        json_object_get(run, "uniforms") || json_object_get(run, "order_uniforms");
    out->vocab = field_integer(run, "vocab", 0);
    if (out->vocab < 1 || out->vocab > FIELD_LIST_MAX)
        return DLLM_REFUSE(why, "vocab is outside 1 .. %d", FIELD_LIST_MAX);
    options->head.vocab = options->head.depth = out->vocab;
    options->head.hidden_type = options->head.weight_type = DLLM_FP32;
    options->head.inputs = has_words ? DLLM_IN_NOISE : 0;
    options->guides = json_object_get(run, "uncond_table") != NULL;
    if (field_word(run, "cfg_round", decode_roundings) == 1) options->head.cfg_round = DLLM_BF16;
    options->mask_id = field_integer(run, "mask_id", -1);
    options->mask_rule = (dllm_mask_rule)field_word(run, "mask_rule", decode_mask_rules);
    options->eligible_prefix = field_word(run, "eligible", decode_eligibles);
    options->fixed_steps = field_integer(run, "fixed_steps", 0);
    options->draws = options->draws || field_number(run, "temperature", 0) > 0;
    if (field_word(run, "remasking", decode_remaskings) == 1) options->key = DLLM_KEY_RANDOM;
    return true;
}

/* ---- canvases ----------------------------------------------------------------------------- */

/* Prompt and masks, or a canvas as it stands: its prompt ends at the first mask. */
static bool read_canvas(decode_lane *lane, double mask_id, dllm_message *why)
{
    field_list *canvas = &lane->canvas, positions;
    int prompt = 0;
    if (field_numbers(canvas, lane->run, "prompt")) {
        prompt = canvas->count;
        const int masks = field_integer(lane->run, "gen_length", 0);
        for (int i = 0; i < masks && canvas->count < FIELD_LIST_MAX; i++)
            canvas->values[canvas->count++] = mask_id;
    } else if (field_numbers(canvas, lane->run, "canvas")) {
        while (prompt < canvas->count && canvas->values[prompt] != mask_id)
            prompt++;
        if (field_numbers(&positions, lane->run, "prompt_positions")) prompt = positions.count;
    } else {
        return DLLM_REFUSE(why, "neither prompt nor canvas");
    }
    lane->sequence.prompt = prompt;
    lane->sequence.generate = canvas->count - prompt;
    return true;
}

/* Aligned blocks: the canvas is rounded up to whole ones. */
static void place_blocks(decode_lane *lane, const dllm_decode_options *options)
{
    field_list *canvas = &lane->canvas;
    const int given = field_integer(lane->run, "block_length", 0);
    if (!options->aligned_blocks) {
        lane->sequence.block_length = given;
        return;
    }
    const int length = given ? given : canvas->count;
    lane->sequence.block_length = length;
    while (length > 0 && canvas->count % length != 0 && canvas->count < FIELD_LIST_MAX)
        canvas->values[canvas->count++] = (double)options->mask_id;
}

static bool read_lane(decode_lanes *out, const json_t *run, const dllm_sequence *preset,
                      dllm_message *why)
{
    decode_lane *lane = &out->lanes[out->count];
    if (out->count == LANES_MAX) return DLLM_REFUSE(why, "more than %d sequences", LANES_MAX);
    lane->run = json_deep_copy(run);
    lane->sequence = *preset;
    out->count++;
    read_selection(&lane->sequence.selection, run);
    read_numbers(&lane->sequence, run);
    if (!read_canvas(lane, (double)out->options.mask_id, why)) return false;
    place_blocks(lane, &out->options);
    if (lane->canvas.count > out->length) out->length = lane->canvas.count;
    return true;
}

/* ---- runs --------------------------------------------------------------------------------- */

/* The sequences of a run as a list of objects; a new reference. */
static json_t *list_lanes(const json_t *run)
{
    const json_t *batch = json_object_get(run, "batch");
    const json_t *canvases = json_object_get(run, "canvases");
    const json_t *tables = json_object_get(run, "tables");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(batch); i++)
        (void)json_array_append(list, json_array_get(batch, i));
    for (size_t i = 0; i < json_array_size(canvases); i++)
        (void)json_array_append_new(list,
                                    json_pack("{s:O, s:O}", "canvas", json_array_get(canvases, i),
                                              "table", json_array_get(tables, i)));
    if (json_array_size(list) == 0) (void)json_array_append_new(list, json_object());
    return list;
}

bool decode_lanes_read(decode_lanes *out, const json_t *run, dllm_message *why)
{
    dllm_sequence preset;
    const char *named = json_string_value(json_object_get(run, "family"));
    const char *family = named ? named : "";
    *out = (decode_lanes){0};
    if (dllm_decode_preset(&out->options, &preset, family) != DLLM_OK)
        return DLLM_REFUSE(why, "%s", dllm_last_error());
    if (json_array_size(json_object_get(run, "tables")) !=
        json_array_size(json_object_get(run, "canvases")))
        return DLLM_REFUSE(why, "tables are not one a canvas");
    bool done = read_options(out, run, why);
    if (strcmp(family, "dream") == 0) read_dream(out, &preset, run);
    json_t *list = list_lanes(run);
    for (size_t i = 0; done && i < json_array_size(list); i++) {
        json_t *lane = json_copy((json_t *)run);
        (void)json_object_update(lane, json_array_get(list, i));
        done = read_lane(out, lane, &preset, why);
        json_decref(lane);
    }
    json_decref(list);
    out->options.sequences_max = out->count;
    out->options.length_max = out->options.block_length_max = out->length;
    for (int i = 0; i < out->count; i++)
        out->lanes[i].sequence.canvas_offset = (int64_t)i * out->length;
    return done;
}

void decode_lanes_release(decode_lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++)
        json_decref(lanes->lanes[i].run);
    lanes->count = 0;
}

const json_t *decode_lane_row(const decode_lane *lane, int forward, int copy, int q)
{
    const json_t *table = json_object_get(lane->run, copy ? "uncond_table" : "table");
    const json_t *tables = json_object_get(lane->run, "forwards_tables");
    const size_t last = json_array_size(tables) - 1;
    if (tables) table = json_array_get(tables, (size_t)forward < last ? (size_t)forward : last);
    return json_array_get(table, (size_t)q);
}
