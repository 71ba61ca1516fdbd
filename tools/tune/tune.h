/*
 * tune.h - what the subcommands of dllm-tune share: their options and exit codes
 */
#ifndef TUNE_H
#define TUNE_H

#include <stdbool.h>

#include "log.h"

enum {
    TUNE_DONE = 0,
    TUNE_USAGE = 1,
    TUNE_SOME_FAILED = 2,
    TUNE_NO_DEVICE = 3,
    TUNE_NO_COMPILER = 4,
    TUNE_NO_CACHE = 5,
    TUNE_UNTUNED = 6,
    TUNE_INTERRUPTED = 130
};

enum { TUNE_NAMES_MAX = 64 };

/** Values of an option that may be given again. */
typedef struct tune_names {
    int count;
    const char *text[TUNE_NAMES_MAX];
} tune_names;

typedef struct tune_options {
    bool json;
    bool quiet;
    bool verbose;
    bool dry_run;
    bool repair;
    int jobs; /* 0: a worker a core */
    tune_names arches;
    tune_names sets;
    tune_names files;   /* packs, or a key */
    const char *output; /* a pack, NULL: none */
    const char *max;    /* a size, NULL: the limit that the library keeps */
    bool kernels;       /* clear these alone, like the next */
    bool tuning;
    /* of tune */
    tune_names rows;    /* row counts, none: every bucket */
    const char *shapes; /* files, NULL: none */
    const char *capture;
    const char *report;
    int device;
    int patience;              /* a dllm_patience */
    double time_limit_seconds; /* 0: none */
    bool resume;
} tune_options;

/** The subcommands; each returns an exit code. */
int tune_doctor(const tune_options *options);
int tune_prebuild(const tune_options *options);
int tune_search(const tune_options *options);
int tune_merge(const tune_options *options);
int tune_export(const tune_options *options);
int tune_import(const tune_options *options);
int tune_stat(const tune_options *options);
int tune_show(const tune_options *options);
int tune_trim(const tune_options *options);
int tune_clear(const tune_options *options);
int tune_list(const tune_options *options);
int tune_verify(const tune_options *options);

/** With -v lines of the library go to stderr, else where DLLM_LOG says. */
dllm_log tune_log(const tune_options *options);

/** Prints "dllm-tune: ..." on stderr and returns `code`. */
int tune_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
