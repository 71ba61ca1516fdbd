/*
 * timed_device.h - the fake driver as a device for tuners: a time for each head, one answer for all
 *
 * For tests linked with -Wl,--wrap=dllm__driver_open,--wrap=dllm__cublas_open: there is no cuBLAS.
 */
#ifndef TIMED_DEVICE_H
#define TIMED_DEVICE_H

#include "cublas.h"

#include <stdbool.h>

/** What a test says; all zero but the two times, 100 us, after timed_device_reset. */
typedef struct timed_device_state {
    double mma_us, other_us; /* of the head kernels */
    double noise;            /* share by which every second millisecond is slower */
    bool mma_is_wrong;       /* its answers are */
    bool mma_writes_too_far; /* behind the argmax of the last row */
    int signal_at;           /* launch at which SIGINT comes, 0 = never */
    int launches;
} timed_device_state;

extern timed_device_state timed_device;

void timed_device_reset(void);

/** Starts the fake driver with a small L2 and these answers and times: a process begins. */
void timed_device_start(void);

/* NOLINTNEXTLINE(readability-identifier-naming): the linker's name */
dllm_status __wrap_dllm__cublas_open(dllm_cublas *out);

#endif
