/*
 * generate_run.h - runs dllm-generate, and the golden runs of tests/data/austen with it
 */
#ifndef GENERATE_RUN_H
#define GENERATE_RUN_H

#include <stddef.h>

#define GENERATE_AUSTEN DLLM_SOURCE_DIR "/tests/data/austen"

enum { GENERATE_GOLDEN_RUNS = 15, GENERATE_ARGUMENTS_MAX = 24 };

/** How the program ended and what it wrote, cut at the sizes of the arrays. */
typedef struct generate_end {
    int code; /* of its exit, -1 if a signal ended it */
    char out[8192];
    char err[8192];
} generate_end;

/** Runs it with these arguments, the last of them followed by NULL; output goes to pipes. */
void generate_run(generate_end *out, const char *const *arguments);

/**
 * Runs one golden run with further arguments, NULL at the end; the test fails unless text and ids
 * are exactly those of golden.json.
 */
void generate_check_golden(int run, const char *const *further);

#endif
