/*
 * argument.h - checks that more than one public call needs: versioned structs and ranges
 */
#ifndef DLLM_ARGUMENT_H
#define DLLM_ARGUMENT_H

#include "dllm.h"

/**
 * Copies a struct that begins with its struct_size. A shorter one is refused; a longer one, from a
 * newer header, is accepted if what this version does not know is zero.
 * name     for the message, "options".
 */
dllm_status dllm__take_struct(void *out, size_t size, const void *given, const char *name);

/** Copies `size` bytes of `value` into the caller's versioned struct, as much as it has room for.
 */
dllm_status dllm__give_struct(void *given, const void *value, size_t size);

/** DLLM_OK if low <= value <= high. */
dllm_status dllm__check_range(const char *name, int64_t value, int64_t low, int64_t high);

#endif
