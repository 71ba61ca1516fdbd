/*
 * measure.h - how long a choice takes: batches of runs in a captured graph, between two events
 *
 * A graph, because a decode loop runs in one, and because launches then cost what they cost there.
 */
#ifndef DLLM_MEASURE_H
#define DLLM_MEASURE_H

#include "operands.h"

/** What all choices of one problem are measured on. */
typedef struct dllm_measure {
    dllm_operands operands;
    dllm_stream stream;
    dllm_cu_event begin, end;
} dllm_measure;

/** One choice, ready to be timed; zeroed before it is opened. */
typedef struct dllm_trial {
    dllm_plan *plan;
    dllm_cu_graph_exec graph;
    int batch;         /* runs in the graph */
    bool warms_itself; /* a sample is long enough to need no run in front of it */
} dllm_trial;

/** As dllm__operands_create; the context is current in all of these. */
dllm_status dllm__measure_create(dllm_measure *out, dllm_context *context,
                                 const dllm_problem *problem, size_t workspace_bytes);
void dllm__measure_release(dllm_measure *measure);

/** Makes a plan of a choice, checks its answers, captures its batch. */
dllm_status dllm__trial_open(dllm_trial *trial, dllm_measure *measure, const dllm_choice *choice);

/** Microseconds of one run, the mean of a batch. */
dllm_status dllm__trial_sample(const dllm_trial *trial, const dllm_measure *measure, double *us);

/** Takes one that was not opened, zeroed. */
void dllm__trial_release(dllm_trial *trial, const dllm_measure *measure);

#endif
