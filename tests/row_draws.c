/* row_draws.c - does the draw follow softmax(z / T)? */
#include "row_draws.h"

#include <math.h>
#include <stdlib.h>

enum { RANGES = 1024, LEVELS = 37, ROWS = 4096 };

static const float temperature = 0.7f;

/* The row has LEVELS different logits, spread over all places of a tile. */
static float logit_of_level(int64_t level)
{
    return (float)level * 0.125f;
}

static int64_t level_of(int64_t id)
{
    return id * 7 % LEVELS;
}

static int64_t range_of(int64_t id)
{
    return id * RANGES / ROW_DRAWS_VOCAB;
}

/* How often each class is drawn, and its share of the mass. */
typedef struct tally {
    int64_t seen[RANGES];
    double share[RANGES];
    int64_t classes;
} tally;

static void add_shares(tally *ranges, tally *levels)
{
    double sum = 0;
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++)
        sum += exp((double)logit_of_level(level_of(id)) / (double)temperature);
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++) {
        const double p = exp((double)logit_of_level(level_of(id)) / (double)temperature) / sum;
        ranges->share[range_of(id)] += p;
        levels->share[level_of(id)] += p;
    }
}

/* Chi-square less its mean, in units of its standard deviation. */
static double excess(const tally *from, int64_t draws)
{
    double chi_square = 0;
    for (int64_t i = 0; i < from->classes; i++) {
        const double expected = from->share[i] * (double)draws;
        chi_square +=
            ((double)from->seen[i] - expected) * ((double)from->seen[i] - expected) / expected;
    }
    const double freedom = (double)(from->classes - 1);
    return (chi_square - freedom) / sqrt(2 * freedom);
}

static row_outcome draw(device_memory *memory, dllm_context *context, const row_problem *problem,
                        tally tallies[2], dllm_message *why)
{
    row_result result;
    const row_outcome outcome = row_run(&result, memory, context, problem);
    if (outcome != ROW_RAN) *why = result.message;
    for (int64_t r = 0; outcome == ROW_RAN && r < problem->rows; r++) {
        const int64_t id = (int64_t)row_result_value(&result, ROW_GUMBEL_ID, r);
        tallies[0].seen[range_of(id)]++;
        tallies[1].seen[level_of(id)]++;
    }
    row_result_release(&result);
    return outcome;
}

/* 4.5 standard deviations: for that a right generator needs some 10^5 seeds, and there is one. */
static bool is_even(const tally tallies[2], int64_t draws, dllm_message *why)
{
    static const char *const names[] = {"ranges of ids", "logits"};
    for (int i = 0; i < 2; i++) {
        const double deviations = excess(&tallies[i], draws);
        if (fabs(deviations) > 4.5)
            return DLLM_REFUSE(why, "chi-square of %lld draws over %lld %s is %.1f deviations off",
                               (long long)draws, (long long)tallies[i].classes, names[i],
                               deviations);
    }
    return true;
}

row_outcome row_draws_check(device_memory *memory, dllm_context *context, const char *family,
                            int64_t draws, dllm_message *why)
{
    static float logits[ROW_DRAWS_VOCAB];
    static int64_t row_index[ROWS]; /* all zero: the one row */
    static uint64_t keys[ROWS];
    static tally tallies[2];
    const uint64_t seed = 1;
    tallies[0] = (tally){.classes = RANGES};
    tallies[1] = (tally){.classes = LEVELS};
    add_shares(&tallies[0], &tallies[1]);
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++)
        logits[id] = logit_of_level(level_of(id));
    row_problem problem = {.hidden_type = DLLM_FP32,
                           .index_type = DLLM_INT64,
                           .vocab = ROW_DRAWS_VOCAB,
                           .hidden = logits,
                           .row_index = row_index,
                           .source_rows = 1,
                           .row_key = keys,
                           .seed = &seed,
                           .plan_temperature = temperature,
                           .outputs = DLLM_OUT_GUMBEL_ID,
                           .family = family};
    row_outcome outcome = ROW_RAN;
    for (int64_t done = 0; outcome == ROW_RAN && done < draws; done += problem.rows) {
        problem.rows = draws - done < ROWS ? draws - done : ROWS;
        for (int64_t r = 0; r < problem.rows; r++)
            keys[r] = (uint64_t)(done + r);
        outcome = draw(memory, context, &problem, tallies, why);
    }
    if (outcome == ROW_RAN && !is_even(tallies, draws, why)) return ROW_FAILED;
    return outcome;
}
