/* decode_sequence.c - a sequence's parameters, checked, as the rules that a step goes by */
#include "decode.h"

#include "argument.h"
#include "status.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20 };

_Static_assert((int)DLLM_SCHEDULED_DREAM == (int)DLLM_SCHEDULE_DREAM, "one numbering of schedules");

/** A sequence while it is checked. */
typedef struct reader {
    const dllm_decode *decode;
    dllm_sequence given;
    int64_t number;
    int64_t block_length;
    int64_t length; /* whole blocks */
} reader;

static dllm_status check(const reader *from, const char *name, int64_t value, int64_t low,
                         int64_t high)
{
    if (value >= low && value <= high) return DLLM_OK;
    return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: %s %lld is outside %lld .. %lld",
                      (long long)from->number, name, (long long)value, (long long)low,
                      (long long)high);
}

/* ---- lengths ------------------------------------------------------------------------------ */

/* Where the last block ends. */
static dllm_status take_lengths(reader *from)
{
    const dllm_decode_options *options = &from->decode->options;
    const dllm_sequence *given = &from->given;
    const bool aligned = options->aligned_blocks;
    DLLM_TRY(check(from, "prompt", given->prompt, 0, options->length_max));
    DLLM_TRY(check(from, "generate", given->generate, 0, options->length_max - given->prompt));
    DLLM_TRY(check(from, "canvas_offset", given->canvas_offset, 0, INT64_MAX / 16));
    from->block_length = given->block_length;
    if (from->block_length == 0) from->block_length = given->generate > 0 ? given->generate : 1;
    DLLM_TRY(check(from, "block_length", from->block_length, 1, options->block_length_max));
    from->length = given->prompt + given->generate;
    if (aligned)
        from->length =
            (from->length + from->block_length - 1) / from->block_length * from->block_length;
    else if (given->generate % from->block_length != 0)
        return dllm__fail(
            DLLM_INVALID_ARGUMENT, "sequence %lld: block_length %lld does not divide generate %lld",
            (long long)from->number, (long long)from->block_length, (long long)given->generate);
    return check(from, "length of whole blocks", from->length, 0, options->length_max);
}

/* Forwards of a block, 0 without a limit. */
static dllm_status take_steps(int32_t *out, const reader *from)
{
    const dllm_sequence *given = &from->given;
    const int64_t blocks = given->generate / from->block_length;
    DLLM_TRY(check(from, "steps", given->steps, 0, STEPS_MAX));
    DLLM_TRY(check(from, "steps_per_block", given->steps_per_block, 0, STEPS_MAX));
    DLLM_TRY(check(from, "schedule", (int64_t)given->schedule, 0, DLLM_SCHEDULED_DREAM));
    const bool wanted = given->schedule != DLLM_SCHEDULED_NONE || from->decode->options.fixed_steps;
    if (wanted && (given->steps > 0) == (given->steps_per_block > 0))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "sequence %lld: steps %d, steps_per_block %d: a schedule wants one",
                          (long long)from->number, given->steps, given->steps_per_block);
    *out = given->steps_per_block;
    if (given->steps == 0) return DLLM_OK;
    if (from->decode->options.aligned_blocks)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "sequence %lld: steps %d with aligned blocks, which want steps_per_block",
                          (long long)from->number, given->steps);
    *out = given->steps;
    if (blocks == 0) return DLLM_OK;
    if (given->steps % blocks != 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "sequence %lld: %lld blocks do not divide steps %d",
                          (long long)from->number, (long long)blocks, given->steps);
    *out = (int32_t)(given->steps / blocks);
    return DLLM_OK;
}

/* A rule that may commit nothing for ever, in a block without a limit on its forwards. */
static dllm_status check_progress(const reader *from, int32_t steps)
{
    const dllm_sequence *given = &from->given;
    const dllm_select_rule rule = dllm__selection_rule(&given->selection);
    if (steps > 0 || from->length == given->prompt || dllm_is_data_driven(&rule)) return DLLM_OK;
    if (rule.name != DLLM_SELECT_COINS && rule.count < 1)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "sequence %lld: count %d commits nothing, and neither schedule nor steps "
                          "are given",
                          (long long)from->number, rule.count);
    if (from->decode->options.mask_rule == DLLM_MASK_SUPPRESS) return DLLM_OK;
    return dllm__fail(DLLM_INVALID_ARGUMENT,
                      "sequence %lld: a mask that may be predicted wants steps or steps_per_block",
                      (long long)from->number);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static dllm_status check_numbers(const reader *from)
{
    const dllm_sequence *given = &from->given;
    const bool is_off = given->selection.threshold == INFINITY;
    const struct {
        const char *name;
        float value;
    } numbers[] = {{"temperature", given->filter.temperature},
                   {"threshold", is_off ? 1 : given->selection.threshold},
                   {"near_tie", given->selection.near_tie},
                   {"factor", given->selection.factor},
                   {"gamma", given->selection.gamma},
                   {"low_threshold", given->selection.low_threshold},
                   {"order_temperature", given->order_temperature},
                   {"edit_threshold", given->edit_threshold},
                   {"penalty", given->penalty},
                   {"cfg_scale", given->cfg_scale}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!isfinite(numbers[i].value))
            return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: %s %g is not finite",
                              (long long)from->number, numbers[i].name, (double)numbers[i].value);
    if (given->cfg_scale < 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: cfg_scale %g is negative",
                          (long long)from->number, (double)given->cfg_scale);
    if (!(given->filter.top_p > 0))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: top_p %g is not above 0",
                          (long long)from->number, (double)given->filter.top_p);
    if (given->schedule == DLLM_SCHEDULED_DREAM && !(given->eps > 0 && given->eps < 1))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: eps %g is not between 0 and 1",
                          (long long)from->number, (double)given->eps);
    return DLLM_OK;
}

static bool has_filter(const dllm_sequence *given)
{
    const bool is_drawn = given->filter.temperature >= FLT_MIN;
    return (is_drawn || given->filters_greedy) &&
           (given->filter.top_k > 0 || given->filter.top_p < 1);
}

/* What a sequence wants and its loop was not prepared for. */
static dllm_status check_abilities(const reader *from)
{
    const dllm_decode *decode = from->decode;
    const dllm_sequence *given = &from->given;
    const bool is_bounded = given->selection.name == DLLM_SELECTION_ENTROPY_BOUND;
    const bool is_tossed = given->selection.name == DLLM_SELECTION_COINS;
    const struct {
        bool lacks;
        const char *what;
    } rules[] = {
        {given->filter.temperature >= FLT_MIN && !decode->options.draws,
         "a temperature wants draws 1"},
        {has_filter(given) && decode->manner.candidates == 0, "a filter wants head.candidates"},
        {has_filter(given) && !decode->options.tempered, "a filter wants tempered 1"},
        {given->penalty != 0 && !decode->options.penalises, "a penalty wants penalises 1"},
        {given->cfg_scale > 0 && !decode->options.guides, "a cfg_scale wants guides 1"},
        {is_bounded && !(decode->head.outputs & DLLM_OUT_ENTROPY),
         "an entropy bound wants the entropy as key, or in head.outputs"},
        {is_bounded && !given->selection.by_key && decode->options.key != DLLM_KEY_NEG_ENTROPY,
         "an entropy bound by entropy wants key neg_entropy"},
        {is_tossed && given->order_temperature > 0, "coins want order_temperature 0"},
        {is_tossed && decode->options.key != DLLM_KEY_RANDOM, "coins want key random"},
        {given->eos_count > 0 && !given->eos, "eos is NULL"}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].lacks)
            return dllm__fail(DLLM_INVALID_ARGUMENT, "sequence %lld: %s", (long long)from->number,
                              rules[i].what);
    return DLLM_OK;
}

/* An end that every masked position would be. */
static dllm_status check_ends(const reader *from)
{
    const dllm_sequence *given = &from->given;
    const int64_t mask = from->decode->manner.mask_id;
    for (int32_t i = 0; given->eos && i < given->eos_count; i++)
        if (given->eos[i] == mask)
            return dllm__fail(DLLM_INVALID_ARGUMENT,
                              "sequence %lld: %lld is an end of sequence and the mask",
                              (long long)from->number, (long long)mask);
    return DLLM_OK;
}

static dllm_status check_rest(const reader *from)
{
    const dllm_sequence *given = &from->given;
    const int64_t vocab = from->decode->head.vocab;
    DLLM_TRY(
        check(from, "selection name", (int64_t)given->selection.name, 0, DLLM_SELECTION_COINS));
    DLLM_TRY(check(from, "count", given->selection.count, 0, INT32_MAX));
    DLLM_TRY(check(from, "variant", given->selection.variant, 0, DLLM_FACTOR_DROP_LAST));
    DLLM_TRY(check(from, "top_k", given->filter.top_k, 0, INT32_MAX));
    DLLM_TRY(check(from, "max_post_steps", given->max_post_steps, 0, STEPS_MAX));
    DLLM_TRY(check(from, "eos_rule", (int64_t)given->eos_rule, 0, DLLM_END_STEP));
    DLLM_TRY(check(from, "eos_count", given->eos_count, 0, DLLM_EOS_IDS_MAX));
    DLLM_TRY(check_ends(from));
    return check(from, "fill_id", given->fill_id, -1, vocab - 1);
}

/* ---- rules -------------------------------------------------------------------------------- */

static void fill_rules(dllm_sequence_rules *out, const reader *from, int32_t steps)
{
    const dllm_sequence *given = &from->given;
    const bool aligned = from->decode->options.aligned_blocks;
    const float temperature =
        given->filter.temperature >= FLT_MIN ? given->filter.temperature : 0.0f;
    *out = (dllm_sequence_rules){
        .canvas = given->canvas_offset,
        .seed = given->seed,
        .request_key = given->request_key & UINT32_MAX,
        .fill_id = given->fill_id,
        .select = dllm__selection_rule(&given->selection),
        .filter = {.order = given->filter.k_first ? DLLM_FILTER_K_THEN_P : DLLM_FILTER_P_THEN_K,
                   .top_k = given->filter.top_k,
                   .top_p = given->filter.top_p,
                   .temperature = temperature},
        .is_filtered = has_filter(given),
        .eos_count = given->eos_count,
        .eos_rule = (int32_t)given->eos_rule,
        .prompt = (int32_t)given->prompt,
        .length = (int32_t)from->length,
        .first_block = (int32_t)(aligned ? given->prompt / from->block_length * from->block_length
                                         : given->prompt),
        .block_length = (int32_t)from->block_length,
        .schedule = (int32_t)given->schedule,
        .steps = steps,
        .max_post_steps = given->max_post_steps,
        .eps = given->eps,
        .temperature = temperature,
        .order_temperature = given->order_temperature,
        .edit_threshold = given->edit_threshold,
        .penalty = given->penalty,
        .cfg_scale = given->cfg_scale,
    };
    if (given->eos_count > 0)
        memcpy(out->eos, given->eos, (size_t)given->eos_count * sizeof *out->eos);
}

dllm_status dllm__decode_take_sequence(dllm_sequence_rules *out, const dllm_decode *decode,
                                       const dllm_sequence *sequence, int64_t number)
{
    reader from = {.decode = decode, .number = number};
    int32_t steps = 0;
    DLLM_TRY(dllm__take_struct(&from.given, sizeof from.given, sequence, "sequence"));
    DLLM_TRY(take_lengths(&from));
    DLLM_TRY(take_steps(&steps, &from));
    DLLM_TRY(check_rest(&from));
    DLLM_TRY(check_numbers(&from));
    DLLM_TRY(check_abilities(&from));
    DLLM_TRY(check_progress(&from, steps));
    fill_rules(out, &from, steps);
    return DLLM_OK;
}
