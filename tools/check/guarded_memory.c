/* guarded_memory.c - device memory of one call: inputs that end exactly, outputs between guard bytes */
#include "guarded_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 256, GUARD = 0xc3 };

static guarded_block *add_block(guarded_memory *memory, size_t bytes, size_t lead_bytes,
                                size_t tail_bytes)
{
    assert(memory->count < GUARDED_BLOCKS_MAX);
    guarded_block *added = &memory->blocks[memory->count];
    added->base = device_allocate(memory->device, lead_bytes + bytes + tail_bytes);
    if (!added->base) {
        memory->no_memory = true;
        dllm_message_set(memory->message, "%zu bytes for a buffer: %s", bytes,
                         memory->device->message);
        return NULL;
    }
    memory->count++;
    added->data = added->base + lead_bytes;
    added->bytes = bytes;
    added->tail_bytes = tail_bytes;
    return added;
}

guarded_block *guarded_reserve(guarded_memory *memory, size_t bytes, size_t alignment)
{
    return add_block(memory, bytes, alignment, 0);
}

bool guarded_input(guarded_memory *memory, const void **out, const void *host, size_t bytes,
                   size_t alignment)
{
    if (!host) return true;
    guarded_block *added = add_block(memory, bytes, alignment, 0);
    if (!added) return false;
    added->host = host;
    *out = added->data;
    return device_write(memory->device, added->data, host, bytes) ||
           DLLM_REFUSE(memory->message, "%s", memory->device->message);
}

bool guarded_output(guarded_memory *memory, guarded_block **out, size_t bytes, size_t alignment)
{
    const size_t lead_bytes = GUARD_BYTES + alignment;
    *out = add_block(memory, bytes, lead_bytes, GUARD_BYTES);
    if (!*out) return false;
    return device_fill(memory->device, (*out)->base, GUARD, lead_bytes + bytes + GUARD_BYTES) ||
           DLLM_REFUSE(memory->message, "%s", memory->device->message);
}

static bool is_guard(guarded_memory *memory, const char *from, size_t bytes, const char *where,
                     const char *name)
{
    unsigned char read[2 * GUARD_BYTES];
    if (!device_read(memory->device, read, from, bytes))
        return DLLM_REFUSE(memory->message, "%s", memory->device->message);
    for (size_t i = 0; i < bytes; i++)
        if (read[i] != GUARD)
            return DLLM_REFUSE(memory->message, "byte %zu %s %s was written", i, where, name);
    return true;
}

bool guarded_holds(guarded_memory *memory, const guarded_block *block, const char *name)
{
    return is_guard(memory, block->base, (size_t)(block->data - block->base), "of the guard before",
                    name) &&
           is_guard(memory, block->data + block->bytes, block->tail_bytes, "past the end of", name);
}

bool guarded_inputs_unchanged(guarded_memory *memory)
{
    for (int i = 0; i < memory->count; i++) {
        const guarded_block *input = &memory->blocks[i];
        if (!input->host) continue;
        void *now = malloc(input->bytes + 1);
        const bool is_read = now && device_read(memory->device, now, input->data, input->bytes);
        const bool same = is_read && memcmp(now, input->host, input->bytes) == 0;
        free(now);
        if (!is_read) return DLLM_REFUSE(memory->message, "an input cannot be read back");
        if (!same) return DLLM_REFUSE(memory->message, "an input was changed by the call");
    }
    return true;
}

void guarded_release(guarded_memory *memory)
{
    for (int i = 0; i < memory->count; i++)
        device_free(memory->device, memory->blocks[i].base);
    memory->count = 0;
}
