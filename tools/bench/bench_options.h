/*
 * bench_options.h - the command line of bench
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "dllm.h"

#include <stdbool.h>

enum { BENCH_ROWS_MAX = 32, BENCH_FAMILIES_MAX = 7 };

typedef struct bench_options {
    int device;  /* ordinal, or DLLM_DEVICE_CPU */
    int threads; /* CPU: 0 = all */
    bool head;
    bool sampler;
    int row_count; /* 0: the default list of the operation */
    int64_t rows[BENCH_ROWS_MAX];
    int family_count; /* 0: all that the device has */
    char families[BENCH_FAMILIES_MAX][24];
    int64_t vocab;
    int64_t depth;
    dllm_type type; /* DLLM_TYPE_NONE: bf16 for the head, every type for the sampler */
    int samples;
    const char *csv_path; /* NULL: not written */
    const char *json_path;
} bench_options;

/** Reads the command line; prints and ends the process for --help and on a usage error. */
void bench_options_read(bench_options *out, int argc, char **argv);

#endif
