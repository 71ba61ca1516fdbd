/* row_draws.c - does the draw follow softmax(z / T), and the winning score its own distribution? */
#include "row_draws.h"

#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 1024, LEVELS = 37, ROWS = 4096, DEPTH = 8, STRONG_ID = 77777 };

/* A winning score's class: below the median 0, 2, ... by the halvings down to it, above it 1, 3, ... */
enum { HALVINGS_MAX = 20, EXPECTED_LEAST = 12 };

static const float temperature = 0.7f;
static const uint64_t seed = 1;

/* ---- rows --------------------------------------------------------------------------------- */

/* LEVELS different logits, spread over all places of a tile. */
static float logit_of_level(int64_t id)
{
    return (float)(id * 7 % LEVELS) * 0.125f;
}

static int64_t level_of(int64_t id)
{
    return id * 7 % LEVELS;
}

/* One logit that loses to the others, all equal, in one draw of 450, to noise above 16.6 nearly always:
   uniform numbers of 24 bits end there. */
static float logit_against_one(int64_t id)
{
    return id == STRONG_ID ? 12.5f : 0.0f;
}

static int64_t is_strong(int64_t id)
{
    return id == STRONG_ID;
}

static int64_t range_of(int64_t id)
{
    return id * CLASSES_MAX / ROW_DRAWS_VOCAB;
}

/** A row of logits, and how its ids are told apart: in two ways, or in one. */
typedef struct draw_row {
    float (*logit)(int64_t id);
    int64_t (*class_of)(int64_t id);
    int64_t classes;
    bool has_ranges; /* CLASSES_MAX ranges of ids are likely enough to be counted */
} draw_row;

static const draw_row many_levels = {logit_of_level, level_of, LEVELS, true};
static const draw_row one_strong = {logit_against_one, is_strong, 2, false};

/* ---- what is expected --------------------------------------------------------------------- */

/* How often each class is drawn, and its share of the mass. */
typedef struct tally {
    const char *name;
    int64_t classes;
    int64_t seen[CLASSES_MAX];
    double share[CLASSES_MAX];
} tally;

typedef struct draw_tallies {
    const draw_row *row;
    int64_t draws;
    double log_sum; /* of exp(z / T) */
    int halvings;   /* of a half of the scores */
    tally logits, ranges, scores;
} draw_tallies;

static double tempered(const draw_row *row, int64_t id)
{
    return (double)row->logit(id) / (double)temperature;
}

/* Each half of the scores again in halves, as long as enough draws are expected in the smallest. */
static void share_scores(draw_tallies *all)
{
    all->halvings = 1;
    while (all->halvings < HALVINGS_MAX &&
           ldexp((double)all->draws, -all->halvings - 2) >= (double)EXPECTED_LEAST)
        all->halvings++;
    all->scores = (tally){.name = "winning scores", .classes = 2 * (int64_t)all->halvings};
    for (int i = 0; i < all->halvings; i++) {
        const double share = ldexp(1, i + 1 < all->halvings ? -i - 2 : -i - 1);
        double *pair = &all->scores.share[(int64_t)i * 2];
        pair[0] = pair[1] = share;
    }
}

static void share(draw_tallies *all, const draw_row *row, int64_t draws)
{
    double sum = 0;
    all->row = row;
    all->draws = draws;
    all->logits = (tally){.name = "logits", .classes = row->classes};
    all->ranges = (tally){.name = "ranges of ids", .classes = row->has_ranges ? CLASSES_MAX : 0};
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++)
        sum += exp(tempered(row, id));
    all->log_sum = log(sum);
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++) {
        const double p = exp(tempered(row, id)) / sum;
        all->logits.share[row->class_of(id)] += p;
        all->ranges.share[range_of(id)] += p;
    }
    share_scores(all);
}

/* ---- what is drawn ------------------------------------------------------------------------ */

/*
 * The largest of all z + T G is at most s with probability u = exp(-exp(log_sum - s / T)), so u of the
 * winner is uniform: a winner that is none has a score too low. Its noise is computed from its words,
 * in double.
 */
static int64_t class_of_score(const draw_tallies *all, uint64_t row_key, int64_t id)
{
    uint32_t words[2];
    reference_words(words, seed, row_key, 0, id);
    const double y =
        exp(all->log_sum - tempered(all->row, id) - reference_gumbel(words[0], words[1]));
    const bool is_high = y < log(2);
    const double rest = is_high ? -expm1(-y) : exp(-y); /* to the nearer end, at most 1/2 */
    const int halved = (int)fmin(-log2(rest) - 1, all->halvings - 1);
    return 2 * (int64_t)halved + is_high;
}

static row_outcome draw(device_memory *memory, dllm_context *context, const row_problem *problem,
                        draw_tallies *all, dllm_message *why)
{
    row_result result;
    const row_outcome outcome = row_run(&result, memory, context, problem);
    if (outcome != ROW_RAN) *why = result.message;
    for (int64_t r = 0; outcome == ROW_RAN && r < problem->rows; r++) {
        const int64_t id = (int64_t)row_result_value(&result, ROW_GUMBEL_ID, r);
        all->logits.seen[all->row->class_of(id)]++;
        all->ranges.seen[range_of(id)]++;
        all->scores.seen[class_of_score(all, problem->row_key[r], id)]++;
    }
    row_result_release(&result);
    return outcome;
}

/* Chi-square as a standard normal number (Wilson and Hilferty): also of few classes. */
static double deviations_of(const tally *from, int64_t draws)
{
    double chi_square = 0;
    for (int64_t i = 0; i < from->classes; i++) {
        const double expected = from->share[i] * (double)draws;
        const double off = (double)from->seen[i] - expected;
        chi_square += off * off / expected;
    }
    const double freedom = (double)(from->classes - 1), part = 2 / (9 * freedom);
    return (cbrt(chi_square / freedom) - (1 - part)) / sqrt(part);
}

/* 4.5 standard deviations: for that a right generator needs some 10^5 seeds, and there is one. */
static bool is_even(const draw_tallies *all, dllm_message *why)
{
    const tally *const tallies[] = {&all->logits, &all->scores, &all->ranges};
    for (size_t i = 0; i < sizeof tallies / sizeof tallies[0]; i++) {
        if (tallies[i]->classes == 0) continue;
        const double deviations = deviations_of(tallies[i], all->draws);
        if (fabs(deviations) > 4.5)
            return DLLM_REFUSE(why, "chi-square of %lld draws over %lld %s is %.1f deviations off",
                               (long long)all->draws, (long long)tallies[i]->classes,
                               tallies[i]->name, deviations);
    }
    return true;
}

/* ---- runs --------------------------------------------------------------------------------- */

/* The row of logits: the sampler's as it is, a head's as the first column of its weight. */
static void set_logits(row_problem *problem, const draw_row *row)
{
    static float logits[ROW_DRAWS_VOCAB];
    static uint16_t weight[ROW_DRAWS_VOCAB * DEPTH]; /* bf16: eighths up to 16 are exact */
    static const uint16_t hidden[DEPTH] = {0x3f80};  /* 1 */
    for (int64_t id = 0; id < ROW_DRAWS_VOCAB; id++) {
        uint32_t bits;
        logits[id] = row->logit(id);
        memcpy(&bits, &logits[id], sizeof bits);
        weight[id * DEPTH] = (uint16_t)(bits >> 16);
    }
    problem->hidden_type = problem->is_head ? DLLM_BF16 : DLLM_FP32;
    problem->hidden = problem->is_head ? (const void *)hidden : logits;
    if (!problem->is_head) return;
    problem->weight_type = DLLM_BF16;
    problem->weight = weight;
    problem->depth = DEPTH;
}

static row_outcome check_row(device_memory *memory, dllm_context *context, row_problem *problem,
                             draw_tallies *all, dllm_message *why)
{
    static uint64_t keys[ROWS];
    row_outcome outcome = ROW_RAN;
    set_logits(problem, all->row);
    problem->row_key = keys;
    for (int64_t done = 0; outcome == ROW_RAN && done < all->draws; done += problem->rows) {
        problem->rows = all->draws - done < ROWS ? all->draws - done : ROWS;
        for (int64_t r = 0; r < problem->rows; r++)
            keys[r] = (uint64_t)(done + r);
        outcome = draw(memory, context, problem, all, why);
    }
    return outcome == ROW_RAN && !is_even(all, why) ? ROW_FAILED : outcome;
}

row_outcome row_draws_check(device_memory *memory, dllm_context *context,
                            const row_draws_setup *setup, dllm_message *why)
{
    static int64_t row_index[ROWS]; /* all zero: the one row */
    static draw_tallies all;
    row_problem problem = {.is_head = setup->is_head,
                           .index_type = DLLM_INT64,
                           .vocab = ROW_DRAWS_VOCAB,
                           .row_index = row_index,
                           .source_rows = 1,
                           .seed = &seed,
                           .plan_temperature = temperature,
                           .outputs = DLLM_OUT_GUMBEL_ID,
                           .family = setup->family};
    share(&all, &many_levels, setup->draws);
    const row_outcome outcome = check_row(memory, context, &problem, &all, why);
    if (outcome != ROW_RAN) return outcome;
    share(&all, &one_strong, setup->draws / 4);
    return check_row(memory, context, &problem, &all, why);
}
