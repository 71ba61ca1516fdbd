/* row_prepare.c - the plan of a row problem */
#include "row_run.h"

static uint32_t input_bits(const row_problem *problem)
{
    uint32_t bits = 0;
    if (problem->row_index) bits |= DLLM_IN_ROW_INDEX;
    if (problem->rows_device) bits |= DLLM_IN_ROWS_DEVICE;
    if (problem->target) bits |= DLLM_IN_TARGET;
    if (problem->temperature) bits |= DLLM_IN_TEMPERATURE;
    if (problem->bias) bits |= DLLM_IN_BIAS;
    if (problem->suppress) bits |= DLLM_IN_SUPPRESS;
    if (problem->penalty) bits |= DLLM_IN_PENALTY;
    if (problem->row_key) bits |= DLLM_IN_ROW_KEY;
    if (problem->noise) bits |= DLLM_IN_NOISE;
    if (problem->cfg_scale) bits |= DLLM_IN_CFG_SCALE;
    return bits;
}

/* Head and sampler options have these fields in common. */
#define FILL_OPTIONS(options, problem, prepare_bits)                                               \
    do {                                                                                           \
        (options).vocab = (problem)->vocab;                                                        \
        (options).rows_max = (problem)->rows_max ? (problem)->rows_max : (problem)->rows;          \
        (options).valid_vocab = (problem)->valid_vocab;                                            \
        (options).vocab_offset = (problem)->vocab_offset;                                          \
        (options).id_type = (problem)->id_type;                                                    \
        (options).index_type = (problem)->index_type;                                              \
        (options).outputs = (problem)->outputs;                                                    \
        (options).inputs = input_bits(problem);                                                    \
        (options).behaviour = (problem)->behaviour;                                                \
        (options).prepare = (prepare_bits);                                                        \
        (options).alignment_bytes = (problem)->alignment_bytes;                                    \
        (options).scale = (problem)->scale;                                                        \
        (options).softcap = (problem)->softcap;                                                    \
        (options).round_logits = (problem)->round_logits;                                          \
        (options).temperature = (problem)->plan_temperature;                                       \
        (options).candidates = (problem)->candidates;                                              \
        (options).suppress_max = (int32_t)(problem)->suppress_count;                               \
        (options).family = (problem)->family;                                                      \
        (options).cfg_scale = (problem)->plan_cfg_scale;                                           \
        (options).cfg_round = (problem)->cfg_round;                                                \
    } while (0)

static dllm_status prepare_merge(dllm_plan **out, dllm_context *context, const row_problem *problem,
                                 uint32_t prepare_bits)
{
    dllm_merge_options merge = DLLM_MERGE_OPTIONS_INIT;
    merge.vocab = problem->vocab;
    merge.shards_max = problem->shards;
    merge.rows_max = problem->rows_max ? problem->rows_max : problem->rows;
    merge.id_type = problem->id_type;
    merge.outputs = problem->outputs;
    merge.inputs = input_bits(problem);
    merge.behaviour = problem->behaviour;
    merge.prepare = prepare_bits;
    merge.temperature = problem->plan_temperature;
    merge.candidates = problem->candidates;
    merge.family = problem->family;
    return dllm_merge_prepare(out, context, &merge);
}

dllm_status row_prepare(dllm_plan **out, dllm_context *context, const row_problem *problem,
                        uint32_t prepare_bits)
{
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    if (problem->states) return prepare_merge(out, context, problem, prepare_bits);
    if (!problem->is_head) {
        FILL_OPTIONS(sampler, problem, prepare_bits);
        sampler.logits_type = problem->hidden_type;
        return dllm_sampler_prepare(out, context, &sampler);
    }
    FILL_OPTIONS(head, problem, prepare_bits);
    head.depth = problem->depth;
    head.hidden_type = problem->hidden_type;
    head.weight_type = problem->weight_type;
    return dllm_head_prepare(out, context, &head);
}
