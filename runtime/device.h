/*
 * device.h - the facts of a device that choices depend on
 */
#ifndef DLLM_DEVICE_H
#define DLLM_DEVICE_H

#include "dllm.h"

#include <stdbool.h>

typedef struct dllm_device {
    char name[128];
    char uuid[33]; /* in hexadecimal digits: which card of its kind; "" of a typical device */
    char arch[16]; /* "sm_90a", "sm_80", ..., "cpu" */
    bool is_cpu;
    bool has_cublas;       /* cublasLt could be opened */
    bool dependent_launch; /* a kernel may start before the one in front has ended, in graphs too */
    bool clusters;         /* blocks of a grid may reach each other's shared memory */
    int compute;           /* 10 * major + minor: 90 */
    int multiprocessors;   /* CPU: worker threads */
    int shared_bytes_max;  /* dynamic shared memory a block may opt in to */
    int driver_version;
    int clock_mhz;         /* of the multiprocessors, at most */
    int memory_clock_mhz;  /* tells memory of two speeds apart; 0 of a typical device */
    int memory_bytes_a_ns; /* what memory delivers at best: GB/s */
    int products_a_clock;  /* bf16 multiply-adds of a multiprocessor's tensor cores */
    int64_t l2_bytes;
    int64_t memory_bytes;
} dllm_device;

/** The name under which kernels are compiled: 90 -> "sm_90a", every other one plain. */
void dllm__arch_name(char out[16], int compute);

/** bf16 multiply-adds that the tensor cores of a multiprocessor do in a clock, by architecture. */
int dllm__tensor_products(int compute);

/**
 * A typical device of an architecture, for compiling ahead where no GPU is: "sm_75", "sm_80",
 * "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120". DLLM_INVALID_ARGUMENT for any other name.
 */
dllm_status dllm__device_typical(dllm_device *out, const char *arch);

#endif
