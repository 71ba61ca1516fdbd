/*
 * device_memory.h - memory, copies and timers of a device, for programs that use dllm.h alone
 *
 * A small loader of libcuda for tools and tests. On DLLM_DEVICE_CPU the same calls are malloc,
 * memcpy and a clock, so that callers are written once. A call that fails leaves its reason in
 * `message`.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "dllm.h"

#include <stdbool.h>

typedef struct device_calls device_calls;

typedef struct device_memory {
    int device;          /* ordinal, or DLLM_DEVICE_CPU */
    device_calls *calls; /* entry points of libcuda; NULL on the CPU */
    char message[256];
} device_memory;

/** A point in a stream's work. */
typedef struct device_event {
    void *event; /* CUevent; NULL on the CPU */
    double ms;   /* CPU: when it was recorded */
} device_event;

/** Number of CUDA devices; -1 if the driver cannot be used, with the reason in message. */
int device_count(char message[256]);

/** Makes a device's primary context current in this thread; DLLM_DEVICE_CPU needs no driver. */
bool device_open(device_memory *out, int device);

/** Releases the context; takes a device that was not opened. */
void device_close(device_memory *memory);

/** Fresh memory at a 256-byte aligned address, not cleared; NULL if there is none. */
void *device_allocate(device_memory *memory, size_t bytes);

/** Takes NULL. */
void device_free(device_memory *memory, void *pointer);

/** Copies to the device, from the device; returns when it is done. */
bool device_write(device_memory *memory, void *device, const void *host, size_t bytes);
bool device_read(device_memory *memory, void *host, const void *device, size_t bytes);

/** Copies within the device; the two do not overlap. Later work sees it done. */
bool device_copy(device_memory *memory, void *to, const void *from, size_t bytes);

/** Sets every byte. */
bool device_fill(device_memory *memory, void *device, int byte, size_t bytes);

/** Waits for a stream (NULL: the default one); false if work in it failed. */
bool device_wait(device_memory *memory, dllm_stream stream);

bool device_stream_create(device_memory *memory, dllm_stream *out);
void device_stream_destroy(device_memory *memory, dllm_stream stream);

/** What is enqueued on a stream (not the default one) by this thread between the two becomes a graph. */
bool device_capture_begin(device_memory *memory, dllm_stream stream);
bool device_capture_end(device_memory *memory, dllm_stream stream, void **graph);
bool device_graph_launch(device_memory *memory, void *graph, dllm_stream stream);
/** Takes NULL. */
void device_graph_destroy(device_memory *memory, void *graph);

bool device_event_create(device_memory *memory, device_event *out);
bool device_event_record(device_memory *memory, device_event *event, dllm_stream stream);
void device_event_destroy(device_memory *memory, device_event *event);

/** Milliseconds between two recorded events, waiting for the later one; negative on failure. */
double device_elapsed_ms(device_memory *memory, const device_event *from, const device_event *to);

#endif
