/*
 * problem.c - every rule of the public header about options
 *
 * Sampler and merge options are first laid out as head options (the logits in the place of the hidden
 * states), so each rule is written once. The rules about the buffers of a run are in row_call.c,
 * what a family does not implement in ability.c.
 */
#include "problem.h"

#include "argument.h"
#include "status.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUTS_KNOWN = DLLM_OUT_CANDIDATES * 2 - 1,
    INPUTS_KNOWN = DLLM_IN_CFG_SCALE * 2 - 1,
    BEHAVIOUR_KNOWN = DLLM_PARTIAL_STATE * 2 - 1,
    PREPARE_KNOWN = DLLM_PREPARE_DETERMINISTIC * 2 - 1,
    /* what a merge may be asked for: the rest has been done to the logits, or is in the states */
    MERGE_INPUTS = DLLM_IN_TEMPERATURE,
    MERGE_BEHAVIOUR = DLLM_TEMPERED | DLLM_BATCH_INVARIANT
};

enum { COUNT_MAX = INT32_MAX, CANDIDATES_MAX = 256 };

int dllm__type_bytes(dllm_type type)
{
    static const int bytes[] = {0, 2, 2, 4};
    return (unsigned)type < sizeof bytes / sizeof bytes[0] ? bytes[type] : 0;
}

static dllm_status check_bits(const char *what, uint32_t bits, uint32_t known)
{
    if (bits & ~known)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s 0x%x: bit 0x%x is not one of DLLM_...", what,
                          bits, bits & ~known);
    return DLLM_OK;
}

static dllm_status check_sizes(const dllm_head_options *options, dllm_operation operation)
{
    /* the columns of a call are counted in 32 bits, the ids of a whole vocabulary are not */
    const bool merge = operation == DLLM_OPERATION_MERGE;
    DLLM_TRY(dllm__check_range("vocab", options->vocab, 1, merge ? INT64_MAX : COUNT_MAX));
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
    if (operation != DLLM_OPERATION_MERGE && !dllm__type_bytes(options->hidden_type))
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

/* What the outputs need of the other fields. */
static dllm_status check_needs(const dllm_head_options *options)
{
    const int64_t words_bytes = 2 * (int64_t)sizeof(uint32_t);
    int64_t bytes;
    if (options->outputs & DLLM_OUT_CANDIDATES && options->candidates == 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "candidates 0 is outside 1 .. %d", CANDIDATES_MAX);
    if (options->inputs & DLLM_IN_NOISE &&
        __builtin_mul_overflow(options->rows_max * options->vocab, words_bytes, &bytes))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "noise of %lld rows x %lld columns overflows 64 bits",
                          (long long)options->rows_max, (long long)options->vocab);
    return DLLM_OK;
}

static dllm_status check_asked(const dllm_head_options *options, dllm_operation operation)
{
    const bool merge = operation == DLLM_OPERATION_MERGE;
    if (!options->outputs)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "outputs 0: ask for at least one DLLM_OUT_ bit");
    DLLM_TRY(check_bits("outputs", options->outputs, OUTPUTS_KNOWN));
    DLLM_TRY(check_bits("inputs", options->inputs, merge ? MERGE_INPUTS : INPUTS_KNOWN));
    DLLM_TRY(
        check_bits("behaviour", options->behaviour, merge ? MERGE_BEHAVIOUR : BEHAVIOUR_KNOWN));
    if (!merge && options->outputs & DLLM_OUT_TARGET_LOGPROB && !(options->inputs & DLLM_IN_TARGET))
        return dllm__fail(DLLM_INVALID_ARGUMENT,
                          "outputs 0x%x: target_logprob needs DLLM_IN_TARGET", options->outputs);
    DLLM_TRY(check_needs(options));
    return check_bits("prepare", options->prepare, PREPARE_KNOWN);
}

static dllm_status check_guidance(const dllm_head_options *options)
{
    if (!isfinite(options->cfg_scale) || options->cfg_scale < 0)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "cfg_scale %g is negative or not finite",
                          (double)options->cfg_scale);
    if (options->cfg_round != DLLM_TYPE_NONE && options->cfg_round != DLLM_BF16)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "cfg_round %d is not DLLM_BF16",
                          (int)options->cfg_round);
    return DLLM_OK;
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
    DLLM_TRY(check_guidance(options));
    DLLM_TRY(dllm__check_range("candidates", options->candidates, 0, CANDIDATES_MAX));
    DLLM_TRY(dllm__check_range("suppress_max", options->suppress_max, 0, COUNT_MAX));
    return dllm__check_range("time_limit_ms", options->time_limit_ms, 0, COUNT_MAX);
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
    DLLM_TRY(check_asked(options, operation));
    const bool guided = options->cfg_scale > 0 || options->inputs & DLLM_IN_CFG_SCALE;
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
        .scale = options->scale == 1.0f ? 0.0f : options->scale,
        .softcap = options->softcap,
        .temperature = options->temperature < FLT_MIN ? 0.0f : options->temperature,
        .round_logits = options->round_logits,
        .is_guided = guided,
        .cfg_scale = options->cfg_scale,
        .cfg_round = options->cfg_round,
        .candidates = options->candidates,
        .suppress_max = options->suppress_max,
        .time_limit_ms = options->time_limit_ms,
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
        .cfg_scale = copy.cfg_scale,
        .cfg_round = copy.cfg_round,
    };
    return make_problem(out, &view, DLLM_OPERATION_SAMPLER);
}

dllm_status dllm__merge_problem(dllm_problem *out, const dllm_merge_options *options)
{
    dllm_merge_options copy;
    DLLM_TRY(dllm__take_struct(&copy, sizeof copy, options, "options"));
    const dllm_head_options view = {
        .struct_size = sizeof view,
        .vocab = copy.vocab,
        .rows_max = copy.rows_max,
        .id_type = copy.id_type,
        .outputs = copy.outputs,
        .inputs = copy.inputs,
        .behaviour = copy.behaviour,
        .prepare = copy.prepare,
        .temperature = copy.temperature,
        .candidates = copy.candidates,
        .family = copy.family,
    };
    DLLM_TRY(dllm__check_range("shards_max", copy.shards_max, 1, COUNT_MAX));
    DLLM_TRY(make_problem(out, &view, DLLM_OPERATION_MERGE));
    out->shards_max = copy.shards_max;
    return DLLM_OK;
}

const char *dllm__type_name(dllm_type type)
{
    static const char *const names[] = {"none", "bf16", "fp16", "fp32"};
    return names[type];
}
