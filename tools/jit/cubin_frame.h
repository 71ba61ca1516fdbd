/*
 * cubin_frame.h - how much local memory a compiled kernel's threads take
 */
#ifndef CUBIN_FRAME_H
#define CUBIN_FRAME_H

#include <stddef.h>
#include <stdint.h>

/**
 * The largest stack frame of a function in a cubin, in bytes: spilled registers and arrays that are
 * not in registers. -1 if the bytes are no cubin or do not tell.
 */
int64_t cubin_frame_bytes(const void *cubin, size_t bytes);

#endif
