/*
 * bench_clock.h - the GPU's clock and power draw while it works, by NVML where there is one
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdbool.h>

typedef struct bench_clock {
    void *library;
    void *device;
    int (*clock_info)(void *device, int kind, unsigned *mhz);
    int (*power_usage)(void *device, unsigned *milliwatts);
    int (*shutdown)(void);
} bench_clock;

/** 0 where it is not known. */
typedef struct bench_clock_state {
    double sm_mhz;
    double watts;
} bench_clock_state;

/** For a CUDA device; false where NVML is not there or does not know it. */
bool bench_clock_open(bench_clock *out, int device);
void bench_clock_close(bench_clock *clock);

/** Takes NULL and one that could not be opened: nothing is known then. */
bench_clock_state bench_clock_read(const bench_clock *clock);

#endif
