/*
 * shipped.h - the kernels that prepare would ask for, listed without a GPU
 */
#ifndef DLLM_SHIPPED_H
#define DLLM_SHIPPED_H

#include "device.h"
#include "kernel_spec.h"

enum { DLLM_SHIPPED_MAX = 1024 };

/** Kernels, none of them twice. More than DLLM_SHIPPED_MAX are left out; a test says none are. */
typedef struct dllm_kernel_list {
    int count;
    dllm_kernel_spec specs[DLLM_SHIPPED_MAX];
} dllm_kernel_list;

/** A head whose kernels are wanted. */
typedef struct dllm_head_shape {
    int64_t vocab;
    int64_t depth;
    dllm_type hidden_type;
    dllm_type weight_type;
    float scale; /* 0 = none, and so with the next; with either the head's own kernels differ */
    float softcap;
} dllm_head_shape;

/**
 * Appends what a head needs on a device, for every family that can do it and every row bucket up to
 * 16,384: head, gather, sampler on its logits in the hidden type and in fp32, and combine for every
 * set of plain outputs in each id type; and of a head of one 16-bit type what the usual requests for
 * more statistics need. With a scale or softcap all of that with it and, for whoever leaves it out,
 * without.
 */
void dllm__head_kernels(dllm_kernel_list *list, const dllm_device *device,
                        const dllm_head_shape *shape);

/** Fills the list with every kernel shipped for an architecture: all types, all alignments, and of bf16
 * with a softcap. */
void dllm__shipped_kernels(dllm_kernel_list *list, const char *arch);

#endif
