/*
 * tuning.h - measures the choices of a problem on this device and says which is best
 *
 * Candidates, their kernels compiled side by side, their answers checked, then a search by paired
 * samples. One problem of one row bucket at a time.
 */
#ifndef DLLM_TUNING_H
#define DLLM_TUNING_H

#include "candidates.h"
#include "search.h"
#include "tuned.h"

typedef enum dllm_patience {
    DLLM_PATIENCE_MEASURE,   /* the most promising candidates */
    DLLM_PATIENCE_PATIENT,   /* several times as many */
    DLLM_PATIENCE_EXHAUSTIVE /* all, none dropped on a few samples: to judge the others by */
} dllm_patience;

typedef struct dllm_tune_step {
    const char *phase; /* "compile" or "measure" */
    int done;
    int total; /* 0: not known */
} dllm_tune_step;

typedef struct dllm_tune_options {
    dllm_patience patience;
    double time_limit_ms; /* 0 = none */
    void *user;
    void (*step)(void *user, const dllm_tune_step *step); /* NULL: nobody wants to know */
    bool (*stopped)(void *user);                          /* NULL: never */
} dllm_tune_options;

/** What became of one problem. */
typedef struct dllm_tuning {
    dllm_problem problem; /* the plain one that was measured */
    int count;
    dllm_candidate *candidates; /* number 0 is the rule of thumb's */
    dllm_contender *contenders; /* of the same numbers */
    dllm_verdict verdict;
    int winner;
    int runner_up; /* -1 = none */
    double gain;   /* share of the default's time */
    bool stored;   /* published on disk */
    double floor_us;
    double seconds;
} dllm_tuning;

/**
 * Tunes the plain problem of `asked` (tuned.h) and keeps its result in the context, unless the
 * verdict is that nothing can be said.
 * Status   DLLM_OK whatever the verdict; else what stood in the way of measuring at all
 * Owner    release with dllm__tuning_release, also after a failure
 */
dllm_status dllm__tune(dllm_tuning *out, dllm_context *context, const dllm_problem *asked,
                       const dllm_tune_options *options);
void dllm__tuning_release(dllm_tuning *tuning);

/** "won", "default", "noisy", "time limit", "stopped" or "impossible". */
const char *dllm__verdict_name(dllm_verdict verdict);

/**
 * Tunes those row buckets of a problem whose tuned choice is not known, as its prepare bits and time
 * limit say. Never fails a call: what cannot be tuned is logged and left to the rule of thumb.
 */
void dllm__tune_missing(dllm_context *context, const dllm_problem *problem);

#endif
