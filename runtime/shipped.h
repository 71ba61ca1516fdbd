/*
 * shipped.h - the kernels that prepare would ask for, listed without a GPU
 */
#ifndef DLLM_SHIPPED_H
#define DLLM_SHIPPED_H

#include "device.h"
#include "kernel_spec.h"

/**
 * Appends the kernels that a head's problems need on a device, for every family that can do them
 * and every row bucket from 1 to 16,384: head, sampler on logits of either type, combine in each id
 * type with and without flags, gather. out      `count` entries are there already; none is written
 * twice Returns the new count. `capacity` is never exceeded: more kernels than that is a bug of the
 * caller.
 */
int dllm__head_kernels(dllm_kernel_spec *out, int count, int capacity, const dllm_device *device,
                       int64_t vocab, int64_t depth, dllm_type hidden_type, dllm_type weight_type);

/** Every kernel shipped for an architecture: all types, all alignments. Returns the number. */
int dllm__shipped_kernels(dllm_kernel_spec *out, int capacity, const char *arch);

enum { DLLM_SHIPPED_MAX = 512 };

#endif
