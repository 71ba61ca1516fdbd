/*
 * bench_step.h - a decode step, the head alone at its rows, and what the step takes beyond it
 */
#ifndef BENCH_STEP_H
#define BENCH_STEP_H

#include "bench_contest.h"

/**
 * Measures steps of every preset asked for, with this head and with one of BENCH_STEP_VOCAB ids beside
 * which the step's own work is the larger part, and reports three rows of each: the preset's name, with
 * "head", with "own".
 */
void bench_step_measure(bench_session *bench, const bench_head *head, dllm_type type);

enum { BENCH_STEP_VOCAB = 256 };

#endif
