/* tuning.c - candidates, kernels, answers, search: one problem after the other */
#include "tuning.h"

#include "estimate.h"
#include "kernel_crew.h"
#include "measure.h"
#include "status.h"
#include "tuner_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MEASURE_MOST = 40, PATIENT_MOST = 96 };

/* One run of dllm__tune. */
typedef struct session {
    dllm_tuning *tuning;
    dllm_context *context;
    const dllm_tune_options *options;
    double started_ms;
    dllm_measure measure;
    dllm_trial *trials;
    int steps;
} session;

static double now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

const char *dllm__verdict_name(dllm_verdict verdict)
{
    static const char *const names[] = {"won",        "default", "noisy",
                                        "time limit", "stopped", "impossible"};
    return names[verdict];
}

/* ---- the field ---- */

/* Keeps the default, the best of each family, and the best of all up to `most`. */
static int choose_field(dllm_candidate *candidates, int count, int most)
{
    int kept = 0, families = 0;
    const dllm_family *seen[DLLM_CANDIDATES_MAX];
    for (int i = 0; i < count; i++) {
        const dllm_family *family = candidates[i].choice.family;
        int known = 0;
        while (known < families && seen[known] != family)
            known++;
        if (i > 0 && known < families && kept >= most) continue;
        if (known == families) seen[families++] = family;
        candidates[kept++] = candidates[i];
    }
    return kept;
}

static dllm_status list_candidates(session *all)
{
    dllm_tuning *tuning = all->tuning;
    dllm_device device = all->context->device;
    tuning->candidates = calloc(DLLM_CANDIDATES_MAX, sizeof *tuning->candidates);
    tuning->contenders = calloc(DLLM_CANDIDATES_MAX, sizeof *tuning->contenders);
    all->trials = calloc(DLLM_CANDIDATES_MAX, sizeof *all->trials);
    if (!tuning->candidates || !tuning->contenders || !all->trials)
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the candidates of a search");
    device.has_cublas = tuning->problem.operation == DLLM_OPERATION_HEAD &&
                        dllm__context_cublas(all->context) == DLLM_OK;
    DLLM_TRY(dllm__candidates(tuning->candidates, &tuning->count, &tuning->problem, &device));
    if (all->options->patience == DLLM_PATIENCE_EXHAUSTIVE) return DLLM_OK;
    const bool patient = all->options->patience == DLLM_PATIENCE_PATIENT;
    tuning->count =
        choose_field(tuning->candidates, tuning->count, patient ? PATIENT_MOST : MEASURE_MOST);
    return DLLM_OK;
}

static size_t largest_workspace(const dllm_tuning *tuning)
{
    size_t largest = 0;
    for (int i = 0; i < tuning->count; i++) {
        const dllm_choice *choice = &tuning->candidates[i].choice;
        const size_t bytes = choice->family->workspace_bytes(&tuning->problem, choice);
        if (bytes > largest) largest = bytes;
    }
    return largest + DLLM_WORKSPACE_ALIGNMENT - 1;
}

/* ---- what the search asks for ---- */

static bool is_stopped(const session *all)
{
    return all->options->stopped && all->options->stopped(all->options->user);
}

static dllm_search_stop stop(void *user)
{
    const session *all = user;
    const double limit = all->options->time_limit_ms;
    if (is_stopped(all)) return DLLM_STOP_NOW;
    return limit > 0.0 && now_ms() - all->started_ms >= limit ? DLLM_TIME_IS_UP : DLLM_GO_ON;
}

static bool explain(char *why, dllm_status status)
{
    if (status != DLLM_OK) (void)snprintf(why, DLLM_SEARCH_WHY_BYTES, "%s", dllm_last_error());
    dllm__clear_error();
    return status == DLLM_OK;
}

static bool open_trial(void *user, int number, char why[DLLM_SEARCH_WHY_BYTES])
{
    session *all = user;
    (void)atomic_fetch_add(&all->context->measurements, 1);
    return explain(why, dllm__trial_open(&all->trials[number], &all->measure,
                                         &all->tuning->candidates[number].choice));
}

static bool sample_trial(void *user, int number, double *us, char why[DLLM_SEARCH_WHY_BYTES])
{
    const session *all = user;
    return explain(why, dllm__trial_sample(&all->trials[number], &all->measure, us));
}

static void tell(const session *all, const char *phase, int done, int total)
{
    const dllm_tune_step step = {phase, done, total};
    if (all->options->step) all->options->step(all->options->user, &step);
}

static void measured(void *user)
{
    session *all = user;
    tell(all, "measure", ++all->steps, 0);
}

static bool goes_on(void *user)
{
    return stop(user) == DLLM_GO_ON;
}

static bool compiled(void *user, int done, int total)
{
    const session *all = user;
    tell(all, "compile", done, total);
    return goes_on(user);
}

/* ---- one problem ---- */

static void search(session *all)
{
    dllm_tuning *tuning = all->tuning;
    dllm_search run = {
        .contenders = tuning->contenders,
        .count = tuning->count,
        .exhaustive = all->options->patience == DLLM_PATIENCE_EXHAUSTIVE,
        .calls = {.user = all,
                  .open = open_trial,
                  .sample = sample_trial,
                  .stop = stop,
                  .step = measured},
    };
    dllm__search(&run);
    tuning->verdict = run.verdict;
    tuning->winner = run.winner;
    tuning->runner_up = run.runner_up;
    tuning->gain = run.gain;
    for (int i = 0; i < tuning->count; i++)
        dllm__trial_release(&all->trials[i], &all->measure);
}

static dllm_status keep(const session *all)
{
    const dllm_tuning *tuning = all->tuning;
    const dllm_contender *winner = &tuning->contenders[tuning->winner];
    const dllm_tuned tuned = {.choice = tuning->candidates[tuning->winner].choice,
                              .median_us = winner->median_us,
                              .spread_us = winner->spread_us,
                              .default_us = tuning->contenders[0].median_us};
    const bool says_nothing = tuning->verdict == DLLM_VERDICT_NOISY ||
                              tuning->verdict == DLLM_VERDICT_STOPPED ||
                              tuning->verdict == DLLM_VERDICT_IMPOSSIBLE;
    if (says_nothing || winner->failed || winner->median_us <= 0.0) return DLLM_OK;
    /* what a time limit cut short serves this context, and is measured again elsewhere */
    bool *stored = tuning->verdict == DLLM_VERDICT_TIME ? NULL : &all->tuning->stored;
    return dllm__tuned_keep(all->context, &tuning->problem, &tuned, stored);
}

static dllm_status run(session *all)
{
    dllm_tuning *tuning = all->tuning;
    DLLM_TRY(list_candidates(all));
    dllm__kernel_crew_run(all->context, &tuning->problem, tuning->candidates, tuning->count,
                          compiled, all);
    const bool disk = !(tuning->problem.prepare & DLLM_PREPARE_NO_DISK);
    const int lock = disk ? dllm__tuner_lock(all->context, goes_on, all) : -1;
    const dllm_status status = dllm__measure_create(&all->measure, all->context, &tuning->problem,
                                                    largest_workspace(tuning));
    if (status == DLLM_OK) search(all);
    dllm__measure_release(&all->measure);
    dllm__tuner_unlock(lock);
    return status == DLLM_OK ? keep(all) : status;
}

dllm_status dllm__tune(dllm_tuning *out, dllm_context *context, const dllm_problem *asked,
                       const dllm_tune_options *options)
{
    session all = {.tuning = out, .context = context, .options = options, .started_ms = now_ms()};
    *out = (dllm_tuning){.verdict = DLLM_VERDICT_IMPOSSIBLE, .runner_up = -1};
    dllm__tuned_problem(&out->problem, asked);
    const char *why = context->device.is_cpu ? "the CPU has one choice" : dllm__untunable(asked);
    if (why) return dllm__fail(DLLM_UNSUPPORTED, "there is nothing to tune: %s", why);
    out->floor_us = dllm__floor_us(&out->problem, &context->device);
    DLLM_TRY(dllm__context_enter(context));
    const dllm_status status = run(&all);
    dllm__context_leave(context);
    free(all.trials);
    out->seconds = 1e-3 * (now_ms() - all.started_ms);
    return status;
}

void dllm__tuning_release(dllm_tuning *tuning)
{
    free(tuning->candidates);
    free(tuning->contenders);
    *tuning = (dllm_tuning){.runner_up = -1};
}

/* ---- what prepare asks for ---- */

static void tune_bucket(dllm_context *context, const dllm_problem *problem,
                        const dllm_tune_options *options)
{
    dllm_tuning tuning;
    const dllm_status status = dllm__tune(&tuning, context, problem, options);
    if (status != DLLM_OK)
        dllm__log(&context->log, "not tuned for %lld rows: %s", (long long)problem->rows_max,
                  dllm_last_error());
    else
        dllm__log(&context->log, "tuned for %lld rows in %.1f s: %s, gain %.1f %%",
                  (long long)tuning.problem.rows_max, tuning.seconds,
                  dllm__verdict_name(tuning.verdict), 100.0 * tuning.gain);
    dllm__tuning_release(&tuning);
    dllm__clear_error();
}

static bool is_known(dllm_context *context, const dllm_problem *problem)
{
    dllm_device device = context->device;
    dllm_tuned tuned;
    if (dllm__context_enter(context) != DLLM_OK) return false;
    const bool known = dllm__tuned_find(&tuned, context, problem, &device) && !tuned.is_builtin;
    dllm__context_leave(context);
    return known;
}

void dllm__tune_missing(dllm_context *context, const dllm_problem *problem)
{
    int64_t rows[DLLM_PLAN_ENTRIES_MAX];
    const bool patient = problem->prepare & DLLM_PREPARE_PATIENT;
    const double started_ms = now_ms(), limit_ms = problem->time_limit_ms;
    const char *why = dllm__untunable(problem);
    if (context->device.is_cpu || problem->prepare & DLLM_PREPARE_DETERMINISTIC) return;
    if (why) {
        dllm__log(&context->log, "nothing is measured: %s", why);
        return;
    }
    const int buckets = dllm__row_buckets(rows, problem);
    for (int i = 0; i < buckets; i++) {
        dllm_problem bucket = *problem;
        const double spent_ms = now_ms() - started_ms;
        const dllm_tune_options options = {
            .patience = patient ? DLLM_PATIENCE_PATIENT : DLLM_PATIENCE_MEASURE,
            .time_limit_ms = limit_ms > 0.0 ? limit_ms - spent_ms : 0.0};
        bucket.rows_max = rows[i];
        if (limit_ms > 0.0 && spent_ms >= limit_ms) break;
        if (!is_known(context, &bucket)) tune_bucket(context, &bucket, &options);
    }
}
