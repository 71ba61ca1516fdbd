/*
 * tune_targets.h - the kernels that prebuild is asked for
 */
#ifndef TUNE_TARGETS_H
#define TUNE_TARGETS_H

#include "kernel_spec.h"
#include "tune.h"

/**
 * Lists the kernels of the wanted sets on the wanted architectures, none twice.
 * Returns  TUNE_DONE, or another exit code with the reason, and the valid names, on stderr.
 * Owner    *specs is the caller's to free, whatever is returned.
 */
int tune_targets_collect(dllm_kernel_spec **specs, int *count, const tune_options *options);

/** Says which sets there are; returns TUNE_USAGE. */
int tune_fail_unknown_set(const char *name);

#endif
