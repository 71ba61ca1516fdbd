/*
 * row_suite.h - the suite of one operation on one device: the same tests for the CPU and for a GPU
 */
#ifndef ROW_SUITE_H
#define ROW_SUITE_H

#include "device_memory.h"

#include <check.h>

enum { ROW_SUITE_SHAPES = 64 }; /* random shapes a family */

typedef struct row_suite_setup {
    int device; /* ordinal, or DLLM_DEVICE_CPU */
    bool is_head;
    const char *const *families; /* NULL ends the list */
    int steady_families; /* so many, from the first on, give equal bits at every row count */
    int64_t draws;       /* of the test of the draw's distribution */
} row_suite_setup;

/** What the tests run on: opened once, without forking, since a child could not use CUDA. */
typedef struct row_suite_device {
    device_memory memory;
    dllm_context *context;
} row_suite_device;

/** Opens a device, failing the running test if it cannot be used. */
void row_suite_open(row_suite_device *out, int device);

void row_suite_close(row_suite_device *device);

/** True if a CUDA device is there; else says why not on stderr, for an exit with 77. */
bool row_suite_has_device(void);

/** Adds a case whose tests run on the device of the suite, for as long as they take. */
TCase *row_suite_case(Suite *suite, const char *name);

/** Adds the tests of an operation to a suite. */
void row_suite_add(Suite *suite, const row_suite_setup *setup);

/** Adds the test of the draw's distribution alone. */
void row_suite_add_draws(Suite *suite, const row_suite_setup *setup);

/** Runs a suite in this process; 0 if every test passed. */
int row_suite_run(Suite *suite);

#endif
