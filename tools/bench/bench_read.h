/*
 * bench_read.h - a plain read of device memory: the roof of everything that reads the same bytes
 *
 * The kernel is compiled by NVRTC, opened at run time as the library opens it.
 */
#ifndef BENCH_READ_H
#define BENCH_READ_H

#include "dllm.h"

#include <stdbool.h>

typedef struct bench_read {
    void *module;
    void *function;
    unsigned blocks; /* of a large read */
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  dllm_stream stream, void **arguments, void **extra);
    int (*unload)(void *module);
    char message[512];
} bench_read;

/** For the CUDA context that is current; false with a message. */
bool bench_read_open(bench_read *out, const dllm_context *context);

/** Enqueues a read of the whole 16-byte packets of `bytes` on the default stream; false with a
 * message. The address is rounded down to 16 bytes. */
bool bench_read_run(bench_read *read, const void *from, int64_t bytes, void *scratch);

void bench_read_close(bench_read *read);

#endif
