/*
 * problem.c - every rule of the public header about options
 *
 * Sampler options are first laid out as head options (the logits in the place of the hidden
 * states), so each rule is written once. The rules about the buffers of a run are in row_call.c.
 */
#include "problem.h"

#include "argument.h"
#include "status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What this version implements; anything else is refused by name. */
enum {
    OUTPUTS_BUILT =
        DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
    OUTPUTS_KNOWN = DLLM_OUT_CANDIDATES * 2 - 1,
    INPUTS_BUILT = DLLM_IN_ROW_INDEX | DLLM_IN_ROWS_DEVICE,
    INPUTS_KNOWN = DLLM_IN_NOISE * 2 - 1,
    BEHAVIOUR_BUILT = 0,
    BEHAVIOUR_KNOWN = DLLM_PARTIAL_STATE * 2 - 1,
    PREPARE_BUILT = DLLM_PREPARE_CACHE_ONLY | DLLM_PREPARE_NO_DISK | DLLM_PREPARE_DETERMINISTIC,
    PREPARE_KNOWN = DLLM_PREPARE_DETERMINISTIC * 2 - 1
};

enum { COUNT_MAX = INT32_MAX };

typedef struct bit_name {
    uint32_t bit;
    const char *name;
} bit_name;

static const bit_name output_names[] = {
    {DLLM_OUT_ENTROPY, "entropy"},
    {DLLM_OUT_SECOND, "second"},
    {DLLM_OUT_SECOND_ID, "second_id"},
    {DLLM_OUT_MARGIN, "margin"},
    {DLLM_OUT_TARGET_LOGPROB, "target_logprob"},
    {DLLM_OUT_GUMBEL_ID, "gumbel_id"},
    {DLLM_OUT_GUMBEL_LOGPROB, "gumbel_logprob"},
    {DLLM_OUT_CANDIDATES, "candidates"},
    {0, NULL},
};

static const bit_name input_names[] = {
    {DLLM_IN_TARGET, "target"},   {DLLM_IN_TEMPERATURE, "temperature"},
    {DLLM_IN_BIAS, "bias"},       {DLLM_IN_SUPPRESS, "suppress"},
    {DLLM_IN_PENALTY, "penalty"}, {DLLM_IN_ROW_KEY, "row_key"},
    {DLLM_IN_NOISE, "noise"},     {0, NULL},
};

static const bit_name behaviour_names[] = {
    {DLLM_TEMPERED, "tempered"},
    {DLLM_BATCH_INVARIANT, "batch_invariant"},
    {DLLM_PARTIAL_STATE, "partial_state"},
    {0, NULL},
};

static const bit_name prepare_names[] = {
    {DLLM_PREPARE_MEASURE, "measure"},
    {DLLM_PREPARE_PATIENT, "patient"},
    {0, NULL},
};

uint32_t dllm__outputs_built(void)
{
    return OUTPUTS_BUILT;
}

int dllm__type_bytes(dllm_type type)
{
    static const int bytes[] = {0, 2, 2, 4};
    return (unsigned)type < sizeof bytes / sizeof bytes[0] ? bytes[type] : 0;
}

static dllm_status check_bits(const char *what, uint32_t bits, uint32_t known, uint32_t built,
                              const bit_name *names)
{
    if (bits & ~known)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s 0x%x: bit 0x%x is not one of DLLM_...", what,
                          bits, bits & ~known);
    for (; names->name; names++)
        if (bits & ~built & names->bit)
            return dllm__fail(DLLM_UNSUPPORTED, "%s 0x%x: %s is not implemented in version %s",
                              what, bits, names->name, dllm_version());
    return DLLM_OK;
}

static dllm_status check_sizes(const dllm_head_options *options, dllm_operation operation)
{
    DLLM_TRY(dllm__check_range("vocab", options->vocab, 1, COUNT_MAX));
    if (operation == DLLM_OPERATION_HEAD)
        DLLM_TRY(dllm__check_range("depth", options->depth, 1, COUNT_MAX));
    DLLM_TRY(dllm__check_range("rows_max", options->rows_max, 0, COUNT_MAX));
    DLLM_TRY(dllm__check_range("valid_vocab", options->valid_vocab, 0, options->vocab));
    DLLM_TRY(
        dllm__check_range("vocab_offset", options->vocab_offset, 0, INT64_MAX - options->vocab));
    if (options->id_type == DLLM_INT32 && options->vocab_offset + options->vocab > COUNT_MAX)
        return dllm__fail(
            DLLM_INVALID_ARGUMENT,
            "vocab_offset %lld + vocab %lld is above 2147483647: ask for DLLM_INT64 ids",
            (long long)options->vocab_offset, (long long)options->vocab);
    return DLLM_OK;
}

static dllm_status check_types(const dllm_head_options *options, dllm_operation operation)
{
    const bool head = operation == DLLM_OPERATION_HEAD;
    if (!dllm__type_bytes(options->hidden_type))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "%s_type %d is not DLLM_BF16, DLLM_FP16 or DLLM_FP32",
                          head ? "hidden" : "logits", (int)options->hidden_type);
    if (head && !dllm__type_bytes(options->weight_type))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "weight_type %d is not DLLM_BF16, DLLM_FP16 or DLLM_FP32",
                          (int)options->weight_type);
    if ((unsigned)options->id_type > DLLM_INT64)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "id_type %d is not DLLM_INT32 or DLLM_INT64",
                          (int)options->id_type);
    if ((unsigned)options->index_type > DLLM_INT64)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "index_type %d is not DLLM_INT32 or DLLM_INT64",
                          (int)options->index_type);
    return DLLM_OK;
}

static dllm_status check_asked(const dllm_head_options *options)
{
    if (!options->outputs)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "outputs 0: ask for at least one DLLM_OUT_ bit");
    DLLM_TRY(check_bits("outputs", options->outputs, OUTPUTS_KNOWN, OUTPUTS_BUILT, output_names));
    DLLM_TRY(check_bits("inputs", options->inputs, INPUTS_KNOWN, INPUTS_BUILT, input_names));
    DLLM_TRY(check_bits("behaviour", options->behaviour, BEHAVIOUR_KNOWN, BEHAVIOUR_BUILT,
                        behaviour_names));
    return check_bits("prepare", options->prepare, PREPARE_KNOWN, PREPARE_BUILT, prepare_names);
}

/* A transform that is set is applied or refused, never dropped: it would change the probabilities
   while the winner hides it. */
static dllm_status check_transforms(const dllm_head_options *options)
{
    if (!isfinite(options->scale) || options->scale < 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "scale %g is negative or not finite",
                          (double)options->scale);
    if (!isfinite(options->softcap) || options->softcap < 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "softcap %g is negative or not finite",
                          (double)options->softcap);
    if (!isfinite(options->temperature))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "temperature %g is not finite",
                          (double)options->temperature);
    if (options->round_logits != DLLM_TYPE_NONE && options->round_logits != DLLM_BF16 &&
        options->round_logits != DLLM_FP16)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "round_logits %d is not DLLM_BF16 or DLLM_FP16",
                          (int)options->round_logits);
    const struct {
        bool set;
        const char *name;
    } unbuilt[] = {
        {options->scale != 0 && options->scale != 1, "scale"},
        {options->softcap > 0, "softcap"},
        {options->round_logits != DLLM_TYPE_NONE, "round_logits"},
        {options->temperature > 0, "temperature"},
        {options->candidates != 0, "candidates"},
        {options->suppress_max != 0, "suppress_max"},
        {options->time_limit_ms != 0, "time_limit_ms"},
    };
    for (size_t i = 0; i < sizeof unbuilt / sizeof unbuilt[0]; i++)
        if (unbuilt[i].set)
            return dllm__fail(DLLM_UNSUPPORTED, "%s is not implemented in version %s",
                              unbuilt[i].name, dllm_version());
    return DLLM_OK;
}

/* Largest power of two up to 16 that divides `bytes`. */
static int alignment_of(uint64_t bytes)
{
    int alignment = 16;
    while (bytes % (unsigned)alignment)
        alignment /= 2;
    return alignment;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static dllm_status take_alignment(dllm_problem *out, int asked)
{
    if (asked != 0 && asked != 1 && asked != 2 && asked != 4 && asked != 8 && asked != 16)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "alignment_bytes %d is not 1, 2, 4, 8 or 16",
                          asked);
    const int64_t width = out->operation == DLLM_OPERATION_HEAD ? out->depth : out->vocab;
    out->alignment_bytes =
        alignment_of((uint64_t)width * (unsigned)dllm__type_bytes(out->hidden_type));
    if (out->operation == DLLM_OPERATION_HEAD)
        out->alignment_bytes =
            smaller(out->alignment_bytes,
                    alignment_of((uint64_t)width * (unsigned)dllm__type_bytes(out->weight_type)));
    if (asked) out->alignment_bytes = asked;
    return DLLM_OK;
}

static dllm_status take_family(dllm_problem *out, const char *family)
{
    if (!family) return DLLM_OK;
    if (strlen(family) >= sizeof out->family)
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "family \"%.40s...\" is longer than %zu characters", family,
                          sizeof out->family - 1);
    (void)snprintf(out->family, sizeof out->family, "%s", family);
    return DLLM_OK;
}

static dllm_status make_problem(dllm_problem *out, const dllm_head_options *options,
                                dllm_operation operation)
{
    DLLM_TRY(check_types(options, operation));
    DLLM_TRY(check_sizes(options, operation));
    DLLM_TRY(check_transforms(options));
    DLLM_TRY(check_asked(options));
    *out = (dllm_problem){
        .operation = operation,
        .hidden_type = options->hidden_type,
        .weight_type = options->weight_type,
        .id_type = options->id_type,
        .index_type = options->index_type,
        .vocab = options->vocab,
        .valid_vocab = options->valid_vocab ? options->valid_vocab : options->vocab,
        .vocab_offset = options->vocab_offset,
        .depth = options->depth,
        .rows_max = options->rows_max,
        .outputs = options->outputs,
        .inputs = options->inputs,
        .behaviour = options->behaviour,
        .prepare = options->prepare,
    };
    DLLM_TRY(take_alignment(out, options->alignment_bytes));
    return take_family(out, options->family);
}

dllm_status dllm__head_problem(dllm_problem *out, const dllm_head_options *options)
{
    dllm_head_options copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, options, "options"));
    return make_problem(out, &copy, DLLM_OPERATION_HEAD);
}

dllm_status dllm__sampler_problem(dllm_problem *out, const dllm_sampler_options *options)
{
    dllm_sampler_options copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, options, "options"));
    const dllm_head_options view = {
        .struct_size = sizeof view,
        .vocab = copy.vocab,
        .rows_max = copy.rows_max,
        .valid_vocab = copy.valid_vocab,
        .vocab_offset = copy.vocab_offset,
        .hidden_type = copy.logits_type,
        .id_type = copy.id_type,
        .index_type = copy.index_type,
        .outputs = copy.outputs,
        .inputs = copy.inputs,
        .behaviour = copy.behaviour,
        .prepare = copy.prepare,
        .time_limit_ms = copy.time_limit_ms,
        .alignment_bytes = copy.alignment_bytes,
        .scale = copy.scale,
        .softcap = copy.softcap,
        .round_logits = copy.round_logits,
        .temperature = copy.temperature,
        .candidates = copy.candidates,
        .suppress_max = copy.suppress_max,
        .family = copy.family,
    };
    return make_problem(out, &view, DLLM_OPERATION_SAMPLER);
}
