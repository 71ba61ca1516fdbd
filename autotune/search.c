/* search.c - rounds, cuts, the final against the default */
#include "search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBE_ROUNDS = 3,  /* of everyone, before the first cut */
    WHOLE_ROUNDS = 11, /* the same of an exhaustive search */
    MORE_ROUNDS = 5,   /* before each further cut */
    FINALISTS = 3,     /* beside the default */
    FINAL_ROUNDS = 30, /* pairs of the final */
    PAIRS_MIN = 3,     /* below, nothing can be said */
    WARM_MEDIANS = 3,  /* so many medians in a row must agree before the first round */
    WARM_SAMPLES = 3,  /* of each of them */
    WARM_TRIES = 20    /* medians until the device is called noisy */
};
static const double slower = 1.10;      /* of the best: not worth another sample */
static const double warm_within = 0.02; /* medians that agree */
static const double gain_least = 0.02;  /* a smaller one is not worth a change */
static const double gain_deviations = 3.0;
static const double noise_most = 0.05; /* spread of the default, of its median */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of(const double *values, int count)
{
    double sorted[DLLM_SAMPLES_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

static double deviation_of(const double *values, int count, double median)
{
    double away[DLLM_SAMPLES_MAX];
    for (int i = 0; i < count; i++)
        away[i] = fabs(values[i] - median);
    return median_of(away, count);
}

static bool is_in(const dllm_contender *contender)
{
    return !contender->failed && !contender->dropped;
}

static void fail(dllm_contender *contender)
{
    contender->failed = true;
    contender->sample_count = 0;
    contender->median_us = contender->spread_us = contender->ratio = 0.0;
}

static void tell(const dllm_search *search)
{
    if (search->calls.step) search->calls.step(search->calls.user);
}

/* ---- rounds ---- */

/* True unless the caller wants to stop; then the verdict is set. */
static bool goes_on(dllm_search *search)
{
    const dllm_search_stop stop = search->calls.stop(search->calls.user);
    if (stop == DLLM_TIME_IS_UP) search->verdict = DLLM_VERDICT_TIME;
    if (stop == DLLM_STOP_NOW) search->verdict = DLLM_VERDICT_STOPPED;
    return stop == DLLM_GO_ON;
}

/* A time of 0 is a clock that does not run, not a fast kernel. */
static bool take(dllm_search *search, int number, double *us)
{
    dllm_contender *contender = &search->contenders[number];
    if (search->calls.sample(search->calls.user, number, us, contender->why) && *us > 0.0)
        return true;
    if (!contender->why[0]) (void)memcpy(contender->why, "was timed at 0", sizeof "was timed at 0");
    fail(contender);
    return false;
}

/* One sample of everyone who is in; false when the caller wants to stop. A round is whole or not
   kept, so that samples of equal number are pairs. */
static bool sample_round(dllm_search *search)
{
    int taken = 0;
    for (; taken < search->count; taken++) {
        dllm_contender *contender = &search->contenders[taken];
        double us = 0.0;
        if (!is_in(contender)) continue;
        if (!goes_on(search)) break;
        assert(contender->sample_count < DLLM_SAMPLES_MAX);
        if (take(search, taken, &us)) contender->samples_us[contender->sample_count] = us;
        tell(search);
    }
    if (taken < search->count) return false;
    for (int i = 0; i < search->count; i++) {
        dllm_contender *contender = &search->contenders[i];
        if (is_in(contender)) contender->sample_count++;
    }
    return true;
}

/* Median of a contender's times by another's, both of them still in, in the last rounds. */
static double ratio_of(const dllm_contender *contender, const dllm_contender *other, int pairs,
                       double *deviation)
{
    double ratios[DLLM_SAMPLES_MAX] = {0};
    const double *a = contender->samples_us + contender->sample_count - pairs;
    const double *b = other->samples_us + other->sample_count - pairs;
    for (int i = 0; i < pairs; i++)
        ratios[i] = a[i] / b[i];
    const double median = median_of(ratios, pairs);
    *deviation = deviation_of(ratios, pairs, median);
    return median;
}

static void settle(dllm_search *search)
{
    const dllm_contender *standing = &search->contenders[0];
    for (int i = 0; i < search->count; i++) {
        dllm_contender *contender = &search->contenders[i];
        double unused;
        if (!contender->sample_count || !is_in(contender)) continue;
        contender->ratio =
            is_in(standing) ? ratio_of(contender, standing, contender->sample_count, &unused) : 0.0;
        contender->median_us = median_of(contender->samples_us, contender->sample_count);
        contender->spread_us =
            deviation_of(contender->samples_us, contender->sample_count, contender->median_us);
    }
}

static bool sample_rounds(dllm_search *search, int rounds)
{
    bool done = true;
    for (int i = 0; done && i < rounds; i++)
        done = sample_round(search);
    settle(search);
    return done;
}

/* ---- cuts ---- */

/* The fastest who is in, but for `except`; -1 if there is none. */
static int fastest(const dllm_search *search, int except)
{
    int best = -1;
    for (int i = 0; i < search->count; i++) {
        const dllm_contender *contender = &search->contenders[i];
        if (i == except || !is_in(contender) || !contender->sample_count) continue;
        if (best < 0 || contender->median_us < search->contenders[best].median_us) best = i;
    }
    return best;
}

/* Drops the slowest challenger; the default always stays. */
static void drop_slowest(dllm_search *search)
{
    int worst = -1;
    for (int i = 1; i < search->count; i++) {
        const dllm_contender *contender = &search->contenders[i];
        if (!is_in(contender)) continue;
        if (worst < 0 || contender->median_us > search->contenders[worst].median_us) worst = i;
    }
    if (worst > 0) search->contenders[worst].dropped = true;
}

static int challengers(const dllm_search *search)
{
    int count = 0;
    for (int i = 1; i < search->count; i++)
        count += is_in(&search->contenders[i]);
    return count;
}

static void cut(dllm_search *search)
{
    const int best = fastest(search, -1);
    if (best < 0) return;
    const double limit = slower * search->contenders[best].median_us;
    const int half = (challengers(search) + 1) / 2;
    for (int i = 1; i < search->count; i++) {
        dllm_contender *contender = &search->contenders[i];
        if (is_in(contender) && contender->median_us > limit) contender->dropped = true;
    }
    while (challengers(search) > FINALISTS && challengers(search) > half)
        drop_slowest(search);
}

/* ---- the three parts of a search ---- */

static bool open_all(dllm_search *search)
{
    for (int i = 0; i < search->count; i++) {
        dllm_contender *contender = &search->contenders[i];
        if (!goes_on(search)) return false;
        if (!search->calls.open(search->calls.user, i, contender->why)) fail(contender);
        tell(search);
    }
    return true;
}

/* Until the first who is in takes the same time again and again. */
static bool warm_up(dllm_search *search)
{
    double before = 0.0;
    int agreeing = 1;
    for (int i = 0; i < WARM_TRIES && agreeing < WARM_MEDIANS; i++) {
        double samples[WARM_SAMPLES];
        int number = 0, taken = 0;
        while (number < search->count && !is_in(&search->contenders[number]))
            number++;
        if (number == search->count) return true; /* the verdict will say so */
        for (; taken < WARM_SAMPLES && goes_on(search); taken++)
            if (!take(search, number, &samples[taken])) break;
        if (search->verdict != DLLM_VERDICT_DEFAULT) return false;
        if (taken < WARM_SAMPLES) continue; /* this one failed: the next is the first */
        const double median = median_of(samples, WARM_SAMPLES);
        agreeing = fabs(median - before) <= warm_within * before ? agreeing + 1 : 1;
        before = median;
    }
    if (agreeing < WARM_MEDIANS) search->verdict = DLLM_VERDICT_NOISY;
    return agreeing >= WARM_MEDIANS;
}

static bool probe(dllm_search *search)
{
    if (!sample_rounds(search, search->exhaustive ? WHOLE_ROUNDS : PROBE_ROUNDS)) return false;
    while (challengers(search) > FINALISTS) {
        cut(search);
        if (!sample_rounds(search, MORE_ROUNDS)) return false;
    }
    return true;
}

/* What a challenger saves of the default's time, by pairs of the last rounds: 0 if it is no more than
   noise. */
static double gain_of(const dllm_contender *challenger, const dllm_contender *standing, int pairs)
{
    double deviation;
    if (pairs < PAIRS_MIN) return 0.0;
    const double gain = 1.0 - ratio_of(challenger, standing, pairs, &deviation);
    const double noise = gain_deviations * deviation;
    return gain > gain_least && gain > noise ? gain : 0.0;
}

/* The best challenger by pairs against the default; without a default that works, the fastest. */
static void decide(dllm_search *search, int pairs)
{
    const dllm_contender *standing = &search->contenders[0];
    search->winner = 0;
    search->gain = 0.0;
    if (!is_in(standing)) {
        const int best = fastest(search, -1);
        search->winner = best > 0 ? best : 0;
    }
    for (int i = 1; is_in(standing) && i < search->count; i++) {
        const dllm_contender *challenger = &search->contenders[i];
        if (!is_in(challenger)) continue;
        const double gain = gain_of(challenger, standing, pairs);
        if (gain <= search->gain) continue;
        search->gain = gain;
        search->winner = i;
    }
    search->runner_up = fastest(search, search->winner);
}

static bool is_noisy(const dllm_search *search)
{
    const dllm_contender *standing = &search->contenders[0];
    return is_in(standing) && standing->spread_us > noise_most * standing->median_us;
}

/* Everyone's samples but the last ones are forgotten where there is no room for the final. */
static void make_room(dllm_search *search)
{
    for (int i = 0; i < search->count; i++) {
        dllm_contender *contender = &search->contenders[i];
        if (is_in(contender) && contender->sample_count + FINAL_ROUNDS > DLLM_SAMPLES_MAX)
            contender->sample_count = 0;
    }
}

void dllm__search(dllm_search *search)
{
    search->verdict = DLLM_VERDICT_DEFAULT;
    search->runner_up = -1;
    search->winner = 0;
    search->gain = 0.0;
    const bool probed = open_all(search) && warm_up(search) && probe(search);
    int pairs = 0;
    if (probed) {
        make_room(search);
        const int before = search->contenders[0].sample_count;
        (void)sample_rounds(search, FINAL_ROUNDS);
        pairs = search->contenders[0].sample_count - before;
    }
    if (pairs < PAIRS_MIN) pairs = search->contenders[0].sample_count;
    if (search->verdict == DLLM_VERDICT_STOPPED || search->verdict == DLLM_VERDICT_NOISY) return;
    if (fastest(search, -1) < 0) {
        if (search->verdict == DLLM_VERDICT_DEFAULT) search->verdict = DLLM_VERDICT_IMPOSSIBLE;
        return;
    }
    if (is_noisy(search)) {
        search->verdict = DLLM_VERDICT_NOISY;
        return;
    }
    decide(search, pairs);
    if (search->verdict == DLLM_VERDICT_DEFAULT && search->winner > 0)
        search->verdict = DLLM_VERDICT_WON;
}
