/*
 * tune_prebuild.c - fills the cache folder for architectures that need not be here
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler.h"
#include "entry_walk.h"
#include "kernel_key.h"
#include "tune.h"
#include "tune_kernel.h"
#include "tune_packs.h"
#include "tune_store.h"
#include "tune_targets.h"
#include "tune_workers.h"

static const double line_seconds = 5.0;

typedef struct prebuild {
    const tune_options *options;
    dllm_kernel_spec *specs;
    bool *done; /* of each spec */
    int count;
    int done_count;
    int compiled;
    int cached;
    int failed;
    bool writable; /* the folder, as far as a probe could tell */
    bool no_compiler;
    bool not_stored;
    bool interrupted;
    double started;  /* seconds */
    double reported; /* seconds after the start: when progress was last told in a pipe */
    json_t *failures;
} prebuild;

static double now_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- what has become of them ---- */

static void add_failure(prebuild *job, int index, const char *message)
{
    tune_kernel kernel;
    tune_kernel_of_spec(&kernel, &job->specs[index]);
    job->failed++;
    (void)json_array_append_new(
        job->failures, json_pack("{ss ss ss so}", "program", kernel.program, "arch", kernel.arch,
                                 "defines", kernel.defines, "message", tune_json_text(message)));
    (void)tune_fail(TUNE_SOME_FAILED, "%s for %s (%s): %s", kernel.program, kernel.arch,
                    kernel.defines, message);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO)) (void)fputs("\r\033[K", stderr);
}

static void show_bar(const prebuild *job, double left_seconds)
{
    static const char full[] = "########################";
    const int width = (int)sizeof full - 1;
    const int filled = job->done_count * width / job->count;
    const int left = (int)(left_seconds + 0.5);
    (void)fprintf(stderr, "\r[%-*.*s] %d/%d, %d compiled, %d:%02d left\033[K", width, filled, full,
                  job->done_count, job->count, job->compiled, left / 60, left % 60);
    (void)fflush(stderr);
}

/* A bar on a terminal; in a pipe a line now and then. */
static void show_progress(prebuild *job)
{
    const double spent = now_seconds() - job->started;
    if (job->options->quiet || job->done_count == 0) return;
    const double left = spent * (job->count - job->done_count) / job->done_count;
    if (isatty(STDERR_FILENO)) {
        show_bar(job, left);
    } else if (spent - job->reported > line_seconds && !job->options->verbose) {
        job->reported = spent;
        (void)fprintf(stderr, "%d of %d kernels, %d compiled, %.0f s\n", job->done_count,
                      job->count, job->compiled, spent);
    }
}

static void show_kernel(const prebuild *job, const tune_outcome *outcome)
{
    tune_kernel kernel;
    if (!job->options->verbose || outcome->status != DLLM_OK) return;
    tune_kernel_of_spec(&kernel, &job->specs[outcome->index]);
    clear_progress();
    if (outcome->compiled)
        (void)fprintf(stderr, "compiled in %.0f ms: ", outcome->compile_ms);
    else
        (void)fprintf(stderr, "cached: ");
    (void)fprintf(stderr, "%s for %s (%s)\n", kernel.program, kernel.arch, kernel.defines);
}

/* Where every further kernel would fail for the same reason, one message is enough. */
static bool goes_on(prebuild *job, const tune_outcome *outcome)
{
    if (outcome->status == DLLM_LIBRARY_MISSING) {
        if (!job->no_compiler) (void)tune_fail(TUNE_NO_COMPILER, "%s", outcome->message);
        job->no_compiler = true;
    } else if (outcome->status == DLLM_UNSUPPORTED && (outcome->compiled || !job->writable)) {
        if (!job->not_stored) (void)tune_fail(TUNE_NO_CACHE, "%s", outcome->message);
        job->not_stored = true;
    } else if (outcome->status != DLLM_OK) {
        add_failure(job, outcome->index, outcome->message);
    } else if (outcome->compiled && !outcome->stored) {
        if (!job->not_stored)
            (void)tune_fail(TUNE_NO_CACHE, "a kernel was compiled and could not be stored; with -v "
                                           "the library says why");
        job->not_stored = true;
    }
    return !job->no_compiler && !job->not_stored;
}

static bool take_outcome(void *user, const tune_outcome *outcome)
{
    prebuild *job = user;
    if (!outcome) {
        show_progress(job);
        return true;
    }
    job->done[outcome->index] = true;
    job->done_count++;
    job->compiled += outcome->compiled;
    job->cached += outcome->status == DLLM_OK && !outcome->compiled;
    if (outcome->status != DLLM_OK) clear_progress();
    show_kernel(job, outcome);
    const bool further = goes_on(job, outcome);
    show_progress(job);
    return further;
}

static void compile_all(prebuild *job)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const tune_work work = {.specs = job->specs,
                            .count = job->count,
                            .jobs = job->options->jobs ? job->options->jobs
                                    : cores > 0        ? (int)cores
                                                       : 1,
                            .log = tune_log(job->options),
                            .visit = take_outcome,
                            .user = job};
    job->started = now_seconds();
    const tune_end end = tune_workers_run(&work);
    clear_progress();
    job->interrupted = end == TUNE_END_INTERRUPTED;
    if (job->interrupted || job->no_compiler || job->not_stored) return;
    for (int i = 0; i < job->count; i++) {
        if (!job->done[i])
            add_failure(job, i,
                        end == TUNE_END_FAILED ? "no worker process could be started"
                                               : "its worker process died");
    }
}

/* ---- dry run ---- */

/* The valid entries of the folder. */
typedef struct cached_names {
    const char *build; /* of the compiler at hand, "" = none: any entry will do */
    json_t *names;
    bool refused; /* a folder in it is not used */
} cached_names;

static void note_entry(void *user, const dllm_entry_report *report)
{
    cached_names *cached = user;
    if (report->refused) {
        (void)tune_store_refused(report);
        cached->refused = true;
    }
    if (report->reason) return;
    if (cached->build[0] && strcmp(cached->build, report->build) != 0) return;
    char key[DLLM_SHA256_HEX_BYTES];
    (void)snprintf(key, sizeof key, "%s", report->name);
    (void)json_object_set_new(cached->names, key, json_true());
}

/* Counts what is cached, and prints the rest. */
static void rehearse(prebuild *job, const dllm_cache_dir *dir)
{
    const dllm_log log = tune_log(job->options);
    dllm_compiler *compiler = NULL;
    char build[32] = "";
    cached_names cached = {.build = build, .names = json_object()};
    if (dllm__compiler_create(&compiler, NULL, &log) != DLLM_OK ||
        dllm__compiler_build(compiler, build) != DLLM_OK)
        build[0] = '\0';
    dllm__entry_walk(dir, note_entry, &cached);
    job->not_stored = cached.refused;
    for (int i = 0; i < job->count; i++) {
        dllm_kernel_key key;
        tune_kernel kernel;
        if (dllm__kernel_key(&key, &job->specs[i]) == DLLM_OK &&
            json_object_get(cached.names, key.hex)) {
            job->cached++;
            continue;
        }
        tune_kernel_of_spec(&kernel, &job->specs[i]);
        if (!job->options->quiet && !job->options->json)
            (void)printf("%s for %s (%s)\n", kernel.program, kernel.arch, kernel.defines);
    }
    dllm__compiler_destroy(compiler);
    json_decref(cached.names);
}

/* ---- the end ---- */

static int report(const prebuild *job)
{
    const bool dry = job->options->dry_run;
    const int fresh = dry ? job->count - job->cached : job->compiled;
    if (job->interrupted)
        (void)tune_fail(TUNE_INTERRUPTED, "interrupted with %d kernels left; the others are kept",
                        job->count - job->done_count);
    if (job->options->json)
        return tune_print_json(json_pack("{si si si sO sb sb}", "kernels", job->count,
                                         dry ? "to_compile" : "compiled", fresh, "cached",
                                         job->cached, "failures", job->failures, "interrupted",
                                         job->interrupted, "dry_run", dry));
    (void)printf("%d kernels, %d %s, %d already cached\n", job->count, fresh,
                 dry ? "to compile" : "compiled", job->cached);
    return TUNE_DONE;
}

static int end_code(const prebuild *job)
{
    if (job->interrupted) return TUNE_INTERRUPTED;
    if (job->no_compiler) return TUNE_NO_COMPILER;
    if (job->not_stored) return TUNE_NO_CACHE;
    return job->failed ? TUNE_SOME_FAILED : TUNE_DONE;
}

/* Makes room for what is noted, and looks at the folder and the pack's place: none ends the run before
   the first compile; a folder that cannot be written may hold all kernels already, so that is said and
   tried. */
static int prepare(prebuild *job, dllm_cache_dir *dir)
{
    job->done = calloc((size_t)job->count + 1, sizeof *job->done);
    job->failures = json_array();
    if (!job->done || !job->failures) return tune_fail(TUNE_SOME_FAILED, "out of memory");
    int status = tune_store_find(dir);
    if (status != TUNE_DONE || job->options->dry_run) return status;
    if (job->options->output) status = tune_pack_look(job->options);
    if (status != TUNE_DONE) return status;
    dllm__cache_dir_probe(dir);
    job->writable = dir->writable;
    if (!dir->writable)
        (void)tune_fail(TUNE_NO_CACHE, "cache folder %s (from %s) cannot be written: %s", dir->path,
                        dir->variable, dir->why);
    return TUNE_DONE;
}

int tune_prebuild(const tune_options *options)
{
    prebuild job = {.options = options};
    dllm_cache_dir dir;
    int status = tune_targets_collect(&job.specs, &job.count, options);
    if (status == TUNE_DONE) status = prepare(&job, &dir);
    if (status == TUNE_DONE && options->dry_run) {
        rehearse(&job, &dir);
    } else if (status == TUNE_DONE) {
        compile_all(&job);
    }
    if (status == TUNE_DONE) {
        const int printed = report(&job);
        status = end_code(&job);
        if (status == TUNE_DONE) status = printed;
        if (status == TUNE_DONE && options->output && !options->dry_run)
            status = tune_pack_kernels(job.specs, job.count, &dir, options);
    }
    json_decref(job.failures);
    free(job.specs);
    free(job.done);
    return status;
}
