/*
 * bench_report.h - results as a table while they come, and as CSV and JSON at the end
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "dllm.h"

#include <stdbool.h>

typedef struct bench_result {
    const char *op;  /* "head", "sampler", "step" */
    const char *set; /* name of the head's shape, "" for one without */
    char what[40];   /* "cublas": the product alone; "read", "cublaslt", "cublas+sampler"; "dllm":
                         the library's choice; else the family. Of a step its preset, with
                         " head" the head alone, with " own" what is beside it */
    char method;     /* 'L', 'B' or 'H': bench_measure.h */
    int64_t vocab;
    int64_t depth; /* sampler: 0 */
    int64_t rows;
    dllm_type type;
    double ms; /* median */
    double min_ms;
    double ratio;  /* to the baseline, of a step to the head alone, paired; 0 = there was none */
    double share;  /* of the plain read's rate, paired; 0 = nothing was read */
    double sm_mhz; /* while it ran; 0 = not known */
    double watts;
    int samples;
    size_t workspace_bytes;
} bench_result;

/** What was measured on; the same for all results of a run. */
typedef struct bench_place {
    char device[128];
    char arch[16];
    char driver[64]; /* of the GPU, and its clocks, as nvidia-smi says; "" if it does not */
    char clocks[128];
    char date[32];      /* UTC */
    char cublas[32];    /* version, "" without it */
    char baseline[320]; /* what the head's ratios are to, or why there are none */
    char command[256];
} bench_place;

typedef struct bench_report {
    bench_place place;
    int count;
    int capacity;
    bench_result *results;
} bench_report;

/** Keeps the command line; options are taken apart later. */
void bench_report_begin(bench_report *out, int argc, char **argv);

/** Fills in the device, its driver and clocks, and the date. */
void bench_report_place(bench_report *report, const dllm_context *context, int device);

/** Prints the header of the run and of the table. */
void bench_report_header(const bench_report *report);

/** Prints a row of the table and keeps it. */
void bench_report_add(bench_report *report, const bench_result *result);

/** Prints a row that says why there is no result. */
void bench_report_skip(const bench_result *result, const char *why);

/** Writes the files asked for (NULL: none); false if one could not be written, with a message
 * printed. */
bool bench_report_write(const bench_report *report, const char *csv_path, const char *json_path);

void bench_report_release(bench_report *report);

#endif
