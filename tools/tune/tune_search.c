/*
 * tune_search.c - `dllm-tune tune`: measures shapes on this GPU, one after the other, and keeps what
 * won
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "estimate.h"
#include "tune.h"
#include "tune_report.h"
#include "tune_results.h"
#include "tune_store.h"

static const double redraw_seconds = 0.2;
static const double floor_us_a_weight =
    4000.0; /* a shape as slow as this takes twice as long to tune */

typedef struct search_job {
    const tune_options *options;
    dllm_context *context;
    tune_shape_list shapes;
    json_t *results;
    int current;
    int won, kept, untuned, failed, resumed;
    bool interrupted, no_compiler, not_stored;
    double started;
    double drawn;
    double weight_done; /* of the shapes behind us, and of all of them */
    double weight_all;
} search_job;

static volatile sig_atomic_t signals_seen;

static void note_signal(int number)
{
    (void)number;
    signals_seen = signals_seen + 1;
}

static double now_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_interrupted(void *user)
{
    (void)user;
    return signals_seen > 0;
}

/* ---- progress ---- */

static double weight_of(const search_job *job, const tune_shape *shape)
{
    return 1.0 + dllm__floor_us(&shape->problem, &job->context->device) / floor_us_a_weight;
}

static void clear_bar(const search_job *job)
{
    if (!job->options->quiet && isatty(STDERR_FILENO)) (void)fputs("\r\033[K", stderr);
}

/* A bar on a terminal; a pipe gets a line a shape, on stdout. */
static void draw(void *user, const dllm_tune_step *step)
{
    static const char full[] = "####################";
    search_job *job = user;
    const double now = now_seconds();
    if (job->options->quiet || !isatty(STDERR_FILENO) || now - job->drawn < redraw_seconds) return;
    job->drawn = now;
    const int width = (int)sizeof full - 1;
    const double share = job->weight_done / job->weight_all;
    const tune_shape *shape = &job->shapes.shapes[job->current];
    (void)fprintf(stderr, "\r[%-*.*s] %d/%d %s rows %lld: %s %d", width, (int)(share * width), full,
                  job->current, job->shapes.count, shape->name, (long long)shape->problem.rows_max,
                  step->phase, step->done);
    if (step->total) (void)fprintf(stderr, "/%d", step->total);
    if (share > 0.0) {
        const int left = (int)((now - job->started) * (1.0 - share) / share + 0.5);
        (void)fprintf(stderr, ", %d:%02d left", left / 60, left % 60);
    }
    (void)fputs("\033[K", stderr);
    (void)fflush(stderr);
}

static void print_result(const search_job *job, const tune_shape *shape, const dllm_tuning *tuning)
{
    char words[96] = "nothing";
    const dllm_contender *winner = &tuning->contenders[tuning->winner];
    if (job->options->json || job->options->quiet) return;
    clear_bar(job);
    if (tuning->count)
        tune_choice_words(words, sizeof words, &tuning->candidates[tuning->winner].choice);
    (void)printf("%s %s rows %lld: %s, %.1f us (rule %.1f, floor %.1f), %s", shape->name,
                 shape->problem.operation == DLLM_OPERATION_HEAD ? "head" : "sampler",
                 (long long)shape->problem.rows_max, words, winner->median_us,
                 tuning->contenders[0].median_us, tuning->floor_us,
                 dllm__verdict_name(tuning->verdict));
    if (tuning->gain > 0.0) (void)printf(" %.1f %%", 100.0 * tuning->gain);
    (void)printf(", %d candidates, %.1f s\n", tuning->count, tuning->seconds);
    (void)fflush(stdout);
}

/* ---- one shape ---- */

static void count_verdict(search_job *job, const dllm_tuning *tuning)
{
    switch (tuning->verdict) {
    case DLLM_VERDICT_WON:
        job->won++;
        break;
    case DLLM_VERDICT_DEFAULT:
        job->kept++;
        break;
    case DLLM_VERDICT_NOISY:
    case DLLM_VERDICT_TIME:
        job->untuned++;
        break;
    case DLLM_VERDICT_STOPPED:
        job->interrupted = true;
        break;
    case DLLM_VERDICT_IMPOSSIBLE:
        job->failed++;
        break;
    }
    const bool is_final =
        tuning->verdict == DLLM_VERDICT_WON || tuning->verdict == DLLM_VERDICT_DEFAULT;
    job->not_stored |= is_final && !tuning->stored;
}

static bool is_known(const search_job *job, const dllm_problem *problem)
{
    dllm_tuned tuned;
    if (!job->options->resume || dllm__context_enter(job->context) != DLLM_OK) return false;
    dllm_device device = job->context->device;
    const bool known =
        dllm__tuned_find(&tuned, job->context, problem, &device) && !tuned.is_builtin;
    dllm__context_leave(job->context);
    return known;
}

static void fail_shape(search_job *job, const tune_shape *shape, dllm_status status)
{
    clear_bar(job);
    job->no_compiler |= status == DLLM_LIBRARY_MISSING;
    job->failed++;
    (void)tune_fail(TUNE_SOME_FAILED, "%s rows %lld: %s", shape->name,
                    (long long)shape->problem.rows_max, dllm_last_error());
}

static void tune_shape_now(search_job *job, const tune_shape *shape)
{
    dllm_tuning tuning;
    const double limit_ms = 1000.0 * job->options->time_limit_seconds;
    const double spent_ms = 1000.0 * (now_seconds() - job->started);
    const dllm_tune_options how = {
        .patience = (dllm_patience)job->options->patience,
        .time_limit_ms = limit_ms > 0.0 ? limit_ms - spent_ms : 0.0,
        .user = job,
        .step = draw,
        .stopped = is_interrupted,
    };
    if (limit_ms > 0.0 && spent_ms >= limit_ms) {
        job->untuned++;
        return;
    }
    const dllm_status status = dllm__tune(&tuning, job->context, &shape->problem, &how);
    if (status != DLLM_OK) {
        fail_shape(job, shape, status);
    } else {
        count_verdict(job, &tuning);
        print_result(job, shape, &tuning);
        (void)json_array_append_new(job->results, tune_result_json(shape, &tuning));
    }
    dllm__tuning_release(&tuning);
}

static void tune_all(search_job *job)
{
    job->started = now_seconds();
    for (int i = 0; i < job->shapes.count; i++)
        job->weight_all += weight_of(job, &job->shapes.shapes[i]);
    for (; job->current < job->shapes.count && !job->no_compiler; job->current++) {
        const tune_shape *shape = &job->shapes.shapes[job->current];
        if (is_known(job, &shape->problem))
            job->resumed++;
        else
            tune_shape_now(job, shape);
        job->weight_done += weight_of(job, shape);
        if (signals_seen > 0) job->interrupted = true;
        if (job->interrupted) break;
    }
    clear_bar(job);
}

/* ---- beginning and end ---- */

static int open_device(search_job *job)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    const dllm_log log = tune_log(job->options);
    options.device = job->options->device;
    options.log = log.function;
    options.log_user = log.user;
    if (dllm_context_create(&job->context, &options) == DLLM_OK) return TUNE_DONE;
    return tune_fail(TUNE_NO_DEVICE, "%s", dllm_last_error());
}

static json_t *document_of(const search_job *job)
{
    const dllm_device *device = &job->context->device;
    const char *const patience[] = {"measure", "patient", "exhaustive"};
    return json_pack("{ss ss si si ss ss sf si si si si si sb sO}", "device", device->name, "arch",
                     device->arch, "multiprocessors", device->multiprocessors, "driver",
                     device->driver_version, "library", dllm_version(), "patience",
                     patience[job->options->patience], "seconds", now_seconds() - job->started,
                     "won", job->won, "default", job->kept, "untuned", job->untuned, "failed",
                     job->failed, "resumed", job->resumed, "interrupted", job->interrupted,
                     "shapes", job->results);
}

static int end_code(const search_job *job)
{
    if (job->interrupted) return TUNE_INTERRUPTED;
    if (job->no_compiler) return TUNE_NO_COMPILER;
    if (job->failed) return TUNE_SOME_FAILED;
    if (job->not_stored) return TUNE_NO_CACHE;
    return job->untuned ? TUNE_UNTUNED : TUNE_DONE;
}

static int report(const search_job *job)
{
    json_t *document = document_of(job);
    int status = end_code(job);
    if (job->interrupted)
        (void)tune_fail(status, "interrupted with %d shapes left; what was tuned is kept",
                        job->shapes.count - job->won - job->kept - job->untuned - job->failed -
                            job->resumed);
    else if (status == TUNE_NO_CACHE)
        (void)tune_fail(status, "a tuned choice was not stored; with -v the library says why");
    if (job->options->report && !tune_report_write(job->options->report, document) &&
        status == TUNE_DONE)
        status = TUNE_SOME_FAILED;
    if (job->options->json) {
        const int printed = tune_print_json(document);
        return status == TUNE_DONE ? printed : status;
    }
    (void)printf("%d shapes: %d won, %d default, %d untuned, %d failed, %d known before; %.1f s\n",
                 job->shapes.count, job->won, job->kept, job->untuned, job->failed, job->resumed,
                 now_seconds() - job->started);
    json_decref(document);
    return status;
}

static int rehearse(const search_job *job)
{
    json_t *shapes = json_array();
    for (int i = 0; i < job->shapes.count; i++) {
        const tune_shape *shape = &job->shapes.shapes[i];
        const bool known = is_known(job, &shape->problem);
        (void)json_array_append_new(shapes,
                                    json_pack("{ss sI sb}", "set", shape->name, "rows",
                                              (json_int_t)shape->problem.rows_max, "known", known));
        if (!job->options->json)
            (void)printf("%s rows %lld%s\n", shape->name, (long long)shape->problem.rows_max,
                         known ? ", known" : "");
    }
    if (job->options->json)
        return tune_print_json(json_pack("{sb so}", "dry_run", true, "shapes", shapes));
    json_decref(shapes);
    return TUNE_DONE;
}

/* The first signal stops the search, a second Ctrl-C ends the program. A second SIGTERM does not: what
   sends one to a job often sends it to its process and to its group. */
static int tune_minding_signals(search_job *job)
{
    const struct sigaction once = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    const struct sigaction always = {.sa_handler = note_signal};
    struct sigaction before[2];
    signals_seen = 0;
    (void)sigaction(SIGINT, &once, &before[0]);
    (void)sigaction(SIGTERM, &always, &before[1]);
    tune_all(job);
    (void)sigaction(SIGINT, &before[0], NULL);
    (void)sigaction(SIGTERM, &before[1], NULL);
    return report(job);
}

int tune_search(const tune_options *options)
{
    search_job job = {.options = options, .results = json_array()};
    int status = tune_shapes_collect(&job.shapes, options);
    /* what is tuned already depends on the GPU, the shapes do not */
    if (status == TUNE_DONE && (!options->dry_run || options->resume)) status = open_device(&job);
    if (status == TUNE_DONE)
        status = options->dry_run ? rehearse(&job) : tune_minding_signals(&job);
    dllm_context_destroy(job.context);
    free(job.shapes.shapes);
    json_decref(job.results);
    return status;
}
