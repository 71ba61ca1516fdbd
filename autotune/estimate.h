/*
 * estimate.h - roughly how long a choice takes, from the facts of a device
 *
 * Good enough to order candidates and to leave out hopeless ones; times are measured.
 */
#ifndef DLLM_ESTIMATE_H
#define DLLM_ESTIMATE_H

#include "families.h"

/** Microseconds of a run of rows_max rows by a choice of a family with a space; never 0. */
double dllm__estimate_us(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice);

/**
 * Microseconds that no choice can be faster than: the weight (sampler: the logits) read once, or the
 * products done at the full rate of the tensor cores. 0 where the device does not tell its rates.
 */
double dllm__floor_us(const dllm_problem *problem, const dllm_device *device);

#endif
