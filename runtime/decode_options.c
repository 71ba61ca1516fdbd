/*
 * decode_options.c - options of a decode loop, checked, as sizes, manner and the options of its head
 */
#include "decode.h"

#include "argument.h"
#include "status.h"

#include <string.h>

enum {
    SEQUENCES_MAX = 1 << 16,
    LENGTH_MAX = 1 << 24,
    SUPPRESS_MAX = INT32_MAX - DLLM_LATE_IDS_MAX /* the mask and late ids are added */
};

_Static_assert((int)DLLM_HIDDEN_GATHERED == (int)DLLM_ROWS_GATHERED &&
                   (int)DLLM_HIDDEN_BLOCK_AND_BEFORE == (int)DLLM_ROWS_BLOCK_AND_BEFORE,
               "one numbering of layouts");
_Static_assert((int)DLLM_KEY_RANDOM == (int)DLLM_SCORE_RANDOM, "one numbering of keys");

/* ---- checks ------------------------------------------------------------------------------- */

static dllm_status check_switches(const dllm_decode_options *options)
{
    const struct {
        const char *name;
        int32_t value;
    } switches[] = {{"shifted", options->shifted},
                    {"draws", options->draws},
                    {"tempered", options->tempered},
                    {"edits", options->edits},
                    {"guards_given", options->guards_given},
                    {"drops_last_edits", options->drops_last_edits},
                    {"penalises", options->penalises},
                    {"round_bf16", options->round_bf16},
                    {"eligible_prefix", options->eligible_prefix},
                    {"fixed_steps", options->fixed_steps},
                    {"persist_forward", options->persist_forward},
                    {"first_from_full", options->first_from_full},
                    {"aligned_blocks", options->aligned_blocks},
                    {"strict_filter", options->strict_filter},
                    {"guides", options->guides}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        DLLM_TRY(dllm__check_range(switches[i].name, switches[i].value, 0, 1));
    if (options->edits && options->eligible_prefix)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "edits 1 and eligible_prefix 1 exclude each other");
    return DLLM_OK;
}

static dllm_status check_sizes(const dllm_decode_options *options)
{
    DLLM_TRY(dllm__check_range("vocab", options->head.vocab, 1, INT32_MAX));
    DLLM_TRY(dllm__check_range("mask_id", options->mask_id, 0, options->head.vocab - 1));
    DLLM_TRY(dllm__check_range("sequences_max", options->sequences_max, 1, SEQUENCES_MAX));
    DLLM_TRY(dllm__check_range("length_max", options->length_max, 1, LENGTH_MAX));
    DLLM_TRY(dllm__check_range("block_length_max", options->block_length_max, 1,
                               DLLM_BLOCK_POSITIONS_MAX));
    if (options->eligible_prefix)
        DLLM_TRY(dllm__check_range("length_max with eligible_prefix", options->length_max, 1,
                                   DLLM_BLOCK_POSITIONS_MAX));
    DLLM_TRY(dllm__check_range("hidden_rows", options->hidden_rows, 0, LENGTH_MAX));
    DLLM_TRY(dllm__check_range("trace_max", options->trace_max, 0, INT32_MAX));
    return dllm__check_range("lookahead", options->lookahead, 0, DLLM_DECODE_LOOKAHEAD_MAX);
}

/* LLaDA's published confidence is that of the plain softmax. */
static dllm_status check_published(const dllm_decode_options *options)
{
    DLLM_TRY(dllm__check_range("eos_confidence", (int64_t)options->eos_confidence, 0,
                               DLLM_EOS_PUBLISHED));
    if (options->eos_confidence != DLLM_EOS_PUBLISHED) return DLLM_OK;
    if (options->late_count == 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "late_count 0: a published eos_confidence wants "
                                                 "EOS and what else ends a text");
    for (int32_t i = 0; options->late && i < options->late_count; i++)
        DLLM_TRY(dllm__check_range("late", options->late[i], 0, options->head.vocab - 1));
    if (options->key != DLLM_KEY_CONFIDENCE || options->tempered || options->penalises ||
        options->head.candidates > 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "a published eos_confidence wants key confidence, without tempered, "
                          "penalises and candidates");
    return DLLM_OK;
}

static dllm_status check_names(const dllm_decode_options *options)
{
    DLLM_TRY(dllm__check_range("id_type", (int64_t)options->id_type, 0, DLLM_INT64));
    DLLM_TRY(dllm__check_range("layout", (int64_t)options->layout, 0, DLLM_HIDDEN_GATHERED));
    DLLM_TRY(dllm__check_range("key", (int64_t)options->key, 0, DLLM_KEY_RANDOM));
    DLLM_TRY(dllm__check_range("mask_rule", (int64_t)options->mask_rule, 0, DLLM_MASK_ALLOW));
    DLLM_TRY(dllm__check_range("late_count", options->late_count, 0, DLLM_LATE_IDS_MAX));
    if (options->late_count > 0 && !options->late)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "late is NULL with late_count %d",
                          options->late_count);
    DLLM_TRY(check_published(options));
    if (!options->trunk) return dllm__fail(DLLM_INVALID_ARGUMENT, "trunk is NULL");
    return DLLM_OK;
}

/* What of the head's options is the loop's own affair. */
static dllm_status check_head(const dllm_head_options *head)
{
    const uint32_t inputs = DLLM_IN_BIAS | DLLM_IN_NOISE;
    const uint32_t outputs = DLLM_OUT_ENTROPY | DLLM_OUT_MARGIN;
    if (head->inputs & ~inputs)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "head.inputs %#x has bits beside bias and noise",
                          (unsigned)head->inputs);
    if (head->outputs & ~outputs)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "head.outputs %#x has bits beside entropy and margin",
                          (unsigned)head->outputs);
    if (head->behaviour & ~(uint32_t)DLLM_BATCH_INVARIANT)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "head.behaviour %#x has bits beside batch_invariant",
                          (unsigned)head->behaviour);
    if (head->cfg_scale != 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "head.cfg_scale %g: it is given with a sequence",
                          (double)head->cfg_scale);
    if (head->vocab_offset != 0)
        return dllm__fail(DLLM_UNSUPPORTED, "head.vocab_offset %lld: a loop has a whole vocabulary",
                          (long long)head->vocab_offset);
    return dllm__check_range("head.suppress_max", head->suppress_max, 0, SUPPRESS_MAX);
}

/* ---- what follows ------------------------------------------------------------------------- */

static void take_manner(dllm_decode_manner *out, const dllm_decode_options *options)
{
    const bool publishes = options->eos_confidence == DLLM_EOS_PUBLISHED;
    *out = (dllm_decode_manner){
        .mask_id = options->mask_id,
        .late_count = publishes ? 0 : options->late_count,
        .score = (int32_t)options->key,
        .round_bf16 = options->round_bf16,
        .excludes_mask = options->mask_rule == DLLM_MASK_EXCLUDE,
        .allows_mask = options->mask_rule == DLLM_MASK_ALLOW,
        .eligible_prefix = options->eligible_prefix,
        .fixed_steps = options->fixed_steps,
        .persists = options->persist_forward,
        .first_from_full = options->first_from_full,
        .edits = options->edits,
        .guards_given = options->guards_given,
        .drops_last_edits = options->drops_last_edits,
        .strict_filter = options->strict_filter,
        .shifted = options->shifted,
        .layout = (int32_t)options->layout,
        .ids_are_64 = options->id_type == DLLM_INT64,
        .candidates = options->head.candidates,
        .publishes = publishes,
        .eos = publishes ? options->late[0] : -1,
    };
    if (options->late_count > 0)
        memcpy(out->late, options->late, (size_t)options->late_count * sizeof *out->late);
}

static int64_t hidden_rows(const dllm_decode_options *options)
{
    if (options->layout == DLLM_HIDDEN_CANVAS) return options->length_max;
    if (options->layout == DLLM_HIDDEN_GATHERED) return 0;
    return options->block_length_max + (options->layout == DLLM_HIDDEN_BLOCK_AND_BEFORE);
}

static dllm_status take_sizes(dllm_decode_sizes *out, const dllm_decode_options *options)
{
    const int64_t least = hidden_rows(options);
    const bool suppresses = options->mask_rule == DLLM_MASK_SUPPRESS;
    *out = (dllm_decode_sizes){
        .sequences_max = options->sequences_max,
        .length_max = options->length_max,
        .positions_max = options->eligible_prefix ? options->length_max : options->block_length_max,
        .sorted_max = 1,
        .hidden_rows = options->hidden_rows ? options->hidden_rows : least,
        .trace_max = options->trace_max,
        .suppress_max = options->head.suppress_max + suppresses,
    };
    while (out->sorted_max < out->positions_max)
        out->sorted_max *= 2;
    out->rows_max = out->sequences_max * out->positions_max;
    if (options->layout != DLLM_HIDDEN_GATHERED && out->hidden_rows < least)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "hidden_rows %lld is below the layout's %lld",
                          (long long)out->hidden_rows, (long long)least);
    return DLLM_OK;
}

static uint32_t outputs_of(const dllm_decode_options *options)
{
    uint32_t outputs =
        options->head.outputs | DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
    if (options->key == DLLM_KEY_MARGIN) outputs |= DLLM_OUT_MARGIN;
    if (options->key == DLLM_KEY_ENTROPY || options->key == DLLM_KEY_NEG_ENTROPY)
        outputs |= DLLM_OUT_ENTROPY;
    if (options->draws) outputs |= DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;
    if (options->head.candidates > 0) outputs |= DLLM_OUT_CANDIDATES;
    return outputs;
}

static uint32_t inputs_of(const dllm_decode_options *options, const dllm_decode_sizes *sizes)
{
    uint32_t inputs = options->head.inputs | DLLM_IN_ROWS_DEVICE;
    if (options->layout != DLLM_HIDDEN_GATHERED) inputs |= DLLM_IN_ROW_INDEX;
    if (options->draws) inputs |= DLLM_IN_TEMPERATURE | DLLM_IN_ROW_KEY | DLLM_IN_ROW_SEED;
    if (options->penalises) inputs |= DLLM_IN_PENALTY;
    if (options->guides) inputs |= DLLM_IN_CFG_SCALE;
    if (sizes->suppress_max > 0) inputs |= DLLM_IN_SUPPRESS;
    return inputs;
}

/* The head's pass that gives published confidences: the token's, after ends have left the row. EOS, which
   stays where a sequence draws, leaves as a penalty. */
static void take_second(dllm_decode *out)
{
    const uint32_t kept =
        DLLM_IN_ROW_INDEX | DLLM_IN_ROWS_DEVICE | DLLM_IN_BIAS | DLLM_IN_CFG_SCALE;
    out->late_suppressed = out->manner.publishes ? out->options.late_count - 1 : 0;
    const int32_t suppressed = out->head.suppress_max + out->late_suppressed;
    out->second = out->head;
    out->second.outputs = DLLM_OUT_TARGET_LOGPROB;
    out->second.inputs = (out->head.inputs & kept) | DLLM_IN_TARGET | DLLM_IN_PENALTY |
                         (suppressed > 0 ? DLLM_IN_SUPPRESS : 0U);
    out->second.suppress_max = suppressed;
}

dllm_status dllm__decode_take_options(dllm_decode *out, const dllm_decode_options *options)
{
    DLLM_TRY(dllm__take_struct(&out->options, sizeof out->options, options, "options"));
    const dllm_decode_options *given = &out->options;
    DLLM_TRY(check_sizes(given));
    DLLM_TRY(check_switches(given));
    DLLM_TRY(check_names(given));
    DLLM_TRY(check_head(&given->head));
    DLLM_TRY(take_sizes(&out->sizes, given));
    take_manner(&out->manner, given);
    out->head = given->head;
    out->head.rows_max = out->sizes.rows_max;
    out->head.id_type = out->head.index_type = DLLM_INT64;
    out->head.outputs = outputs_of(given);
    out->head.inputs = inputs_of(given, &out->sizes);
    out->head.behaviour |= given->tempered ? DLLM_TEMPERED : 0U;
    out->head.temperature = 0;
    out->head.suppress_max = (int32_t)out->sizes.suppress_max;
    take_second(out);
    return DLLM_OK;
}
