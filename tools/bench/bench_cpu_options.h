/*
 * bench_cpu_options.h - the command line of bench-cpu
 */
#ifndef BENCH_CPU_OPTIONS_H
#define BENCH_CPU_OPTIONS_H

#include <stdint.h>

enum { BENCH_CPU_ROW_COUNTS_MAX = 16 };

typedef struct bench_cpu_options {
    int64_t vocab;
    int64_t depth;
    int64_t rows[BENCH_CPU_ROW_COUNTS_MAX];
    int row_count;
    int threads;
    int samples;
    const char *json_path;
} bench_cpu_options;

/** Reads the command line; prints and ends the process for --help and on a usage error. */
void bench_cpu_options_read(bench_cpu_options *out, int argc, char **argv);

#endif
