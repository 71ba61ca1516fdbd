/*
 * decode_preset.c - what published decoders do, as options and sequence (decode.md 1)
 *
 * A preset says what its family has in common; lengths, ids and published defects are the caller's.
 */
#include "argument.h"
#include "status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** What a preset changes; the rest is that of llada. */
typedef struct preset {
    const char *name;
    void (*change)(dllm_decode_options *options, dllm_sequence *sequence);
} preset;

static void select_by(dllm_sequence *sequence, dllm_select_name name, float threshold)
{
    sequence->selection.name = name;
    sequence->selection.threshold = threshold;
    sequence->schedule = DLLM_SCHEDULED_NONE;
    sequence->steps = 0;
}

/* Temperature and filters on the model's distribution. */
static void filter_by(dllm_decode_options *options, dllm_sequence *sequence, int32_t k_first)
{
    options->tempered = 1;
    sequence->filter.k_first = k_first;
}

static void make_llada(dllm_decode_options *options, dllm_sequence *sequence)
{
    (void)options;
    sequence->schedule = DLLM_SCHEDULED_EVEN;
    sequence->steps = 128;
}

static void make_threshold(dllm_decode_options *options, dllm_sequence *sequence)
{
    (void)options;
    select_by(sequence, DLLM_SELECTION_THRESHOLD, 0.9f);
    sequence->selection.inclusive = 1;
}

static void make_factor(dllm_decode_options *options, dllm_sequence *sequence)
{
    (void)options;
    select_by(sequence, DLLM_SELECTION_FACTOR, INFINITY);
}

static void make_dream(dllm_decode_options *options, dllm_sequence *sequence)
{
    filter_by(options, sequence, 0);
    options->shifted = 1;
    options->key = DLLM_KEY_RANDOM;
    select_by(sequence, DLLM_SELECTION_COINS, 1);
    sequence->schedule = DLLM_SCHEDULED_DREAM;
    sequence->steps = 512;
    sequence->eps = 1e-3f;
    sequence->filters_greedy = 1;
}

static void make_low_confidence(dllm_decode_options *options, dllm_sequence *sequence)
{
    options->aligned_blocks = 1;
    options->persist_forward = 1;
    select_by(sequence, DLLM_SELECTION_THRESHOLD, 0.95f);
}

static void make_llada2(dllm_decode_options *options, dllm_sequence *sequence)
{
    filter_by(options, sequence, 1);
    options->aligned_blocks = 1;
    select_by(sequence, DLLM_SELECTION_DYNAMIC, 0.95f);
    sequence->schedule = DLLM_SCHEDULED_EVEN_BLOCK;
    sequence->steps_per_block = 32;
    sequence->block_length = 32;
    sequence->eos_rule = DLLM_END_AFTER_BLOCK;
}

static void make_llada21(dllm_decode_options *options, dllm_sequence *sequence)
{
    filter_by(options, sequence, 1);
    options->aligned_blocks = 1;
    options->edits = 1;
    select_by(sequence, DLLM_SELECTION_DYNAMIC, 0.95f);
    sequence->selection.count = 1;
    sequence->block_length = 32;
    sequence->edit_threshold = 0.9f;
    sequence->max_post_steps = 16;
}

static void make_joint(dllm_decode_options *options, dllm_sequence *sequence)
{
    make_llada21(options, sequence);
    options->guards_given = 1;
    options->drops_last_edits = 1;
    options->persist_forward = 1;
    options->penalises = 1;
    select_by(sequence, DLLM_SELECTION_THRESHOLD, 0.5f);
    sequence->edit_threshold = 0;
}

static void make_sdar(dllm_decode_options *options, dllm_sequence *sequence)
{
    make_llada2(options, sequence);
    options->draws = 1;
    options->persist_forward = 1;
    sequence->selection.threshold = 0.85f;
    sequence->steps_per_block = 8;
    sequence->block_length = 8;
    sequence->filter.temperature = 1;
}

static void make_entropy_bound(dllm_decode_options *options, dllm_sequence *sequence)
{
    options->key = DLLM_KEY_NEG_ENTROPY;
    select_by(sequence, DLLM_SELECTION_ENTROPY_BOUND, INFINITY);
}

static void make_hierarchy(dllm_decode_options *options, dllm_sequence *sequence)
{
    (void)options;
    select_by(sequence, DLLM_SELECTION_HIERARCHY, INFINITY);
    sequence->selection.low_threshold = 0.4f;
}

static void make_fast_dllm_v2(dllm_decode_options *options, dllm_sequence *sequence)
{
    filter_by(options, sequence, 0);
    options->shifted = 1;
    options->aligned_blocks = 1;
    select_by(sequence, DLLM_SELECTION_THRESHOLD, 0.9f);
    sequence->block_length = 8;
    sequence->eos_rule = DLLM_END_GAP_CLOSED;
}

static const preset presets[] = {
    {"llada", make_llada},
    {"threshold", make_threshold},
    {"factor", make_factor},
    {"dream", make_dream},
    {"sglang_low_confidence", make_low_confidence},
    {"llada2", make_llada2},
    {"llada21", make_llada21},
    {"sglang_joint", make_joint},
    {"sdar", make_sdar},
    {"entropy_bound", make_entropy_bound},
    {"hierarchy", make_hierarchy},
    {"fast_dllm_v2", make_fast_dllm_v2},
};

enum { PRESETS = sizeof presets / sizeof presets[0] };

const char *dllm_decode_preset_name(int32_t i)
{
    return i >= 0 && i < PRESETS ? presets[i].name : NULL;
}

static dllm_status refuse_name(const char *name)
{
    char list[256];
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < PRESETS && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 presets[i].name);
    return dllm__fail(DLLM_INVALID_ARGUMENT, "preset \"%s\" is none of %s", name, list);
}

dllm_status dllm_decode_preset(dllm_decode_options *options, dllm_sequence *sequence,
                               const char *name)
{
    static const dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm__clear_error();
    if (!options || !sequence || !name)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL",
                          !options    ? "options"
                          : !sequence ? "sequence"
                                      : "name");
    for (int i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) != 0) continue;
        *options = (dllm_decode_options){
            .struct_size = sizeof *options, .head = head, .sequences_max = 1, .lookahead = 2};
        *sequence =
            (dllm_sequence){.struct_size = sizeof *sequence,
                            .selection = {.struct_size = sizeof sequence->selection, .factor = 1},
                            .filter = {.struct_size = sizeof sequence->filter, .top_p = 1},
                            .fill_id = -1};
        presets[i].change(options, sequence);
        return DLLM_OK;
    }
    return refuse_name(name);
}
