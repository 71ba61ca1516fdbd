/*
 * statistics.c - what follows from a problem: the statistics and transforms that it needs, and the
 * size of its state
 *
 * The CPU backend and the kernels both go by these bits, so that nothing is computed that no output
 * asks for, and nothing is left out that one does.
 */
#include "problem.h"

static const uint32_t gumbel_outputs = DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;

static bool may_draw(const dllm_problem *problem)
{
    return problem->operation == DLLM_OPERATION_MERGE || problem->inputs & DLLM_IN_TEMPERATURE ||
           problem->temperature > 0;
}

uint32_t dllm__statistics(const dllm_problem *problem)
{
    const uint32_t outputs = problem->outputs;
    const bool targets =
        problem->operation == DLLM_OPERATION_MERGE || problem->inputs & DLLM_IN_TARGET;
    uint32_t bits = 0;
    if (outputs & DLLM_OUT_ENTROPY) bits |= DLLM_STATISTIC_ENTROPY;
    if (outputs & (DLLM_OUT_SECOND | DLLM_OUT_SECOND_ID | DLLM_OUT_MARGIN))
        bits |= DLLM_STATISTIC_SECOND;
    if (targets && outputs & (DLLM_OUT_TARGET_LOGPROB | DLLM_OUT_FLAGS))
        bits |= DLLM_STATISTIC_TARGET;
    if (outputs & gumbel_outputs && may_draw(problem)) bits |= DLLM_STATISTIC_GUMBEL;
    if (outputs & DLLM_OUT_CANDIDATES) bits |= DLLM_STATISTIC_CANDIDATES;
    return bits;
}

/* Temperatures, keys and words are left out where nothing asks for them. */
static uint32_t row_transforms(const dllm_problem *problem)
{
    const bool by_row = problem->inputs & DLLM_IN_TEMPERATURE;
    const bool drawn = dllm__statistics(problem) & DLLM_STATISTIC_GUMBEL &&
                       problem->operation != DLLM_OPERATION_MERGE;
    const bool flagged =
        problem->outputs & DLLM_OUT_FLAGS && problem->operation != DLLM_OPERATION_MERGE;
    const bool tempered = problem->behaviour & DLLM_TEMPERED &&
                          (by_row || (problem->temperature > 0 && problem->temperature != 1));
    uint32_t bits = 0;
    if (tempered) bits |= DLLM_TRANSFORM_TEMPERED;
    if (by_row && (tempered || drawn || flagged)) bits |= DLLM_TRANSFORM_ROW_TEMPERATURE;
    if (drawn && problem->inputs & DLLM_IN_NOISE)
        bits |= DLLM_TRANSFORM_NOISE;
    else if (drawn)
        bits |= (problem->inputs & DLLM_IN_ROW_KEY ? DLLM_TRANSFORM_ROW_KEY : 0U) |
                (problem->inputs & DLLM_IN_ROW_SEED ? DLLM_TRANSFORM_ROW_SEED : 0U);
    return bits;
}

uint32_t dllm__transforms(const dllm_problem *problem)
{
    uint32_t bits = row_transforms(problem);
    if (problem->round_logits == DLLM_BF16) bits |= DLLM_TRANSFORM_ROUND_BF16;
    if (problem->round_logits == DLLM_FP16) bits |= DLLM_TRANSFORM_ROUND_FP16;
    if (problem->scale != 0) bits |= DLLM_TRANSFORM_SCALE;
    if (problem->softcap != 0) bits |= DLLM_TRANSFORM_SOFTCAP;
    if (problem->inputs & DLLM_IN_BIAS) bits |= DLLM_TRANSFORM_BIAS;
    if (problem->inputs & DLLM_IN_SUPPRESS) bits |= DLLM_TRANSFORM_SUPPRESS;
    if (problem->inputs & DLLM_IN_PENALTY) bits |= DLLM_TRANSFORM_PENALTY;
    if (problem->is_guided) bits |= DLLM_TRANSFORM_GUIDANCE;
    if (problem->is_guided && problem->cfg_round == DLLM_BF16) bits |= DLLM_TRANSFORM_GUIDANCE_BF16;
    return bits;
}

size_t dllm__state_bytes(const dllm_problem *problem)
{
    const bool merge = problem->operation == DLLM_OPERATION_MERGE;
    const bool listed = merge || problem->outputs & DLLM_OUT_CANDIDATES;
    if (!merge && !(problem->behaviour & DLLM_PARTIAL_STATE)) return 0;
    return sizeof(dllm_state) +
           (listed ? (size_t)problem->candidates * sizeof(dllm_state_candidate) : 0);
}
