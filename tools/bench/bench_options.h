/*
 * bench_options.h - the command line of bench
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench_work.h"

enum { BENCH_ROWS_MAX = 32, BENCH_FAMILIES_MAX = 7, BENCH_SHAPES_MAX = 64, BENCH_WAYS_MAX = 3 };
enum { BENCH_NAME_BYTES = 24, BENCH_PRESETS_MAX = 12 };

/** What is measured beside the baseline and the families, as bits of beside. */
enum { BENCH_BESIDE_READ = 1, BENCH_BESIDE_LT = 2, BENCH_BESIDE_SAMPLER = 4 };

/** A head by its shape. */
typedef struct bench_head {
    const char *set; /* its name in the table of heads, "" for a shape of the command line's own */
    int64_t vocab;
    int64_t depth;
    dllm_type type;
} bench_head;

typedef struct bench_options {
    int device;  /* ordinal, or DLLM_DEVICE_CPU */
    int threads; /* CPU: 0 = all */
    bool head;
    bool sampler;
    bool step;
    int way_count; /* methods, one after the other */
    const bench_way *ways[BENCH_WAYS_MAX];
    int row_count; /* 0: the default list of the operation */
    int64_t rows[BENCH_ROWS_MAX];
    int family_count; /* 0: all that the device has */
    char families[BENCH_FAMILIES_MAX][BENCH_NAME_BYTES];
    unsigned beside;   /* BENCH_BESIDE_ bits */
    bool beside_named; /* they were asked for: they take part in every method */
    unsigned more;     /* BENCH_MORE_ bits: each family also takes part with such a bundle */
    int shape_count;
    bench_head shapes[BENCH_SHAPES_MAX];
    dllm_type type;   /* DLLM_TYPE_NONE: the head's own, and every type for the sampler */
    int preset_count; /* steps: decoders, and what they decode */
    char presets[BENCH_PRESETS_MAX][BENCH_NAME_BYTES];
    int64_t canvases;
    int64_t length; /* of a canvas, blocks of it and of prompt */
    int64_t block;
    int samples; /* 0: the method's own */
    double burst_ms;
    const char *csv_path; /* NULL: not written */
    const char *json_path;
} bench_options;

/** Reads the command line; prints and ends the process for --help and on a usage error. */
void bench_options_read(bench_options *out, int argc, char **argv);

#endif
