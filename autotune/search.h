/*
 * search.h - which of several choices is fastest, decided from paired samples
 *
 * Number 0 is the default. Rounds take one sample of everyone who is still in, interleaved, so that
 * a drift of the clock hits all alike. The field is cut round by round; the last few meet the default
 * again, and only a gain above noise replaces it. Times come through calls, so that tests can give
 * any.
 */
#ifndef DLLM_SEARCH_H
#define DLLM_SEARCH_H

#include "dllm.h"

#include <stdbool.h>

enum { DLLM_SAMPLES_MAX = 64, DLLM_SEARCH_WHY_BYTES = 192 };

/** One choice in a search, and what became of it. */
typedef struct dllm_contender {
    bool failed; /* it gave wrong answers or could not run: it counts as infinitely slow */
    bool dropped;
    int sample_count;
    double samples_us[DLLM_SAMPLES_MAX];
    double median_us;                /* 0 without samples */
    double spread_us;                /* median absolute deviation of its samples */
    double ratio;                    /* median of its times by the default's in the same rounds, 0
                                        without: those who left early met another clock */
    char why[DLLM_SEARCH_WHY_BYTES]; /* of a failure, else "" */
} dllm_contender;

typedef enum dllm_verdict {
    DLLM_VERDICT_WON,       /* another choice than the default is faster, beyond noise */
    DLLM_VERDICT_DEFAULT,   /* the default stays */
    DLLM_VERDICT_NOISY,     /* the device is not quiet enough to say: the default stays */
    DLLM_VERDICT_TIME,      /* time ran out: the best so far, not to be kept for ever */
    DLLM_VERDICT_STOPPED,   /* the caller wanted to stop: the default stays */
    DLLM_VERDICT_IMPOSSIBLE /* nothing gave the right answer */
} dllm_verdict;

typedef enum dllm_search_stop { DLLM_GO_ON, DLLM_TIME_IS_UP, DLLM_STOP_NOW } dllm_search_stop;

typedef struct dllm_search_calls {
    void *user;
    /* Makes a contender ready and checks its answers; false with `why`. */
    bool (*open)(void *user, int contender, char why[DLLM_SEARCH_WHY_BYTES]);
    /* One sample in microseconds; false with `why` when it cannot run. */
    bool (*sample)(void *user, int contender, double *us, char why[DLLM_SEARCH_WHY_BYTES]);
    dllm_search_stop (*stop)(void *user); /* asked before each of the two above */
    void (*step)(void *user);             /* after each; NULL: nobody wants to know */
} dllm_search_calls;

typedef struct dllm_search {
    dllm_contender *contenders;
    int count;
    bool exhaustive; /* nobody is dropped on a few samples: to judge other searches by */
    dllm_search_calls calls;
    /* results */
    dllm_verdict verdict;
    int winner;    /* 0 unless somebody won */
    int runner_up; /* the fastest of the others, -1 if there is none */
    double gain;   /* share of the default's time that the winner saves */
} dllm_search;

/** Runs a search to its verdict; contenders are zeroed by the caller. */
void dllm__search(dllm_search *search);

#endif
