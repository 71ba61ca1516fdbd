/*
 * bench_contest.h - one operation at one number of rows: all who take part, timed side by side
 */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench_cublas.h"
#include "bench_cublaslt.h"
#include "bench_options.h"
#include "bench_read.h"
#include "bench_report.h"
#include "bench_work.h"

/** Everything a run of bench holds. */
typedef struct bench_session {
    bench_options options;
    device_memory memory;
    dllm_context *context;
    bench_cublas cublas;
    bench_cublaslt cublaslt;
    bench_read read;
    bench_clock clock;
    bool has_cublas;
    bool has_cublaslt;
    bool has_read;
    bench_report report;
    int failures;
} bench_session;

/**
 * Holds the contest by every method asked for and reports it.
 * logits   (rows, vocab) where the product alone writes; NULL without one
 * first    true at the operation's first number of rows: method H is measured there alone
 */
void bench_contest_hold(bench_session *bench, bench_work *work, const char *set, void *logits,
                        int64_t rows, bool first);

#endif
