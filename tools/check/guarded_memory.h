/*
 * guarded_memory.h - device memory of one call: inputs that end exactly, outputs between guard bytes
 *
 * Everything lies no better aligned than it must. A call that fails leaves its reason in `message`.
 */
#ifndef GUARDED_MEMORY_H
#define GUARDED_MEMORY_H

#include "device_memory.h"
#include "message.h"

enum { GUARDED_BLOCKS_MAX = 32 };

typedef struct guarded_block {
    char *base;
    char *data;
    size_t bytes;
    size_t tail_bytes; /* guards behind the data; 0 for an input */
    const void *host;  /* what an input was copied from */
} guarded_block;

typedef struct guarded_memory {
    device_memory *device;
    dllm_message *message;
    bool no_memory; /* an allocation failed */
    int count;
    guarded_block blocks[GUARDED_BLOCKS_MAX];
} guarded_memory;

/** Memory for an input that the caller fills: at a multiple of alignment, of 256 at most, and of
    nothing larger. NULL if there is none. */
guarded_block *guarded_reserve(guarded_memory *memory, size_t bytes, size_t alignment);

/** Copies an input to the device; with host NULL it leaves *out alone. host must stay as it is. */
bool guarded_input(guarded_memory *memory, const void **out, const void *host, size_t bytes,
                   size_t alignment);

/** Memory between guards, itself not cleared. */
bool guarded_output(guarded_memory *memory, guarded_block **out, size_t bytes, size_t alignment);

/** True if nothing was written beside the block; name is for the message. */
bool guarded_holds(guarded_memory *memory, const guarded_block *block, const char *name);

/** True if every input is still what its host copy is. */
bool guarded_inputs_unchanged(guarded_memory *memory);

void guarded_release(guarded_memory *memory);

#endif
