/*
 * device_memory.c - memory, copies and timers of a device, for programs that use dllm.h alone
 *
 * Types of the driver are plain integers and pointers here, so that no CUDA header is needed.
 */
#include "device_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGNMENT_BYTES = 256 };

typedef uint64_t device_address;

/* name in the table, symbol in libcuda, parameters */
#define DEVICE_CALLS(X)                                                                            \
    X(init, "cuInit", (unsigned))                                                                  \
    X(error_name, "cuGetErrorName", (int, const char **))                                          \
    X(count, "cuDeviceGetCount", (int *))                                                          \
    X(get, "cuDeviceGet", (int *, int))                                                            \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                          \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int))                                              \
    X(set_current, "cuCtxSetCurrent", (void *))                                                    \
    X(allocate, "cuMemAlloc_v2", (device_address *, size_t))                                       \
    X(free, "cuMemFree_v2", (device_address))                                                      \
    X(write, "cuMemcpyHtoD_v2", (device_address, const void *, size_t))                            \
    X(read, "cuMemcpyDtoH_v2", (void *, device_address, size_t))                                   \
    X(copy, "cuMemcpyDtoD_v2", (device_address, device_address, size_t))                           \
    X(fill, "cuMemsetD8_v2", (device_address, unsigned char, size_t))                              \
    X(stream_create, "cuStreamCreate", (dllm_stream *, unsigned))                                  \
    X(stream_destroy, "cuStreamDestroy_v2", (dllm_stream))                                         \
    X(stream_wait, "cuStreamSynchronize", (dllm_stream))                                           \
    X(capture_begin, "cuStreamBeginCapture_v2", (dllm_stream, int))                                \
    X(capture_end, "cuStreamEndCapture", (dllm_stream, void **))                                   \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long))     \
    X(graph_launch, "cuGraphLaunch", (void *, dllm_stream))                                        \
    X(graph_destroy, "cuGraphDestroy", (void *))                                                   \
    X(graph_release, "cuGraphExecDestroy", (void *))                                               \
    X(event_create, "cuEventCreate", (void **, unsigned))                                          \
    X(event_destroy, "cuEventDestroy_v2", (void *))                                                \
    X(event_record, "cuEventRecord", (void *, dllm_stream))                                        \
    X(event_wait, "cuEventSynchronize", (void *))                                                  \
    X(event_elapsed, "cuEventElapsedTime", (float *, void *, void *))

struct device_calls {
    void *library;
    int handle; /* CUdevice */
    bool retained;
#define DEVICE_SLOT(name, symbol, parameters) int(*name) parameters;
    DEVICE_CALLS(DEVICE_SLOT)
#undef DEVICE_SLOT
};

static bool load_calls(device_calls *out, char message[256])
{
    out->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!out->library) {
        (void)snprintf(message, 256, "the CUDA driver cannot be opened: %.200s", dlerror());
        return false;
    }
    struct {
        void *slot;
        const char *symbol;
    } table[] = {
#define DEVICE_ROW(name, symbol, parameters) {&out->name, symbol},
        DEVICE_CALLS(DEVICE_ROW)
#undef DEVICE_ROW
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *found = dlsym(out->library, table[i].symbol);
        if (!found) {
            (void)snprintf(message, 256, "libcuda.so.1 has no %s", table[i].symbol);
            return false;
        }
        memcpy(table[i].slot, &found, sizeof found);
    }
    return true;
}

/* True for success; else the message names the call and the driver's error. */
static bool succeeded(const device_calls *calls, int result, const char *call, char message[256])
{
    const char *name = NULL;
    if (result == 0) return true;
    if (calls->error_name(result, &name) != 0 || !name) name = "unknown error";
    (void)snprintf(message, 256, "%s failed: %s (%d)", call, name, result);
    return false;
}

#define CALL(memory, name, ...)                                                                    \
    succeeded((memory)->calls, (memory)->calls->name(__VA_ARGS__), #name, (memory)->message)

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int device_count(char message[256])
{
    device_calls calls = {0};
    int count = -1;
    if (!load_calls(&calls, message) || !succeeded(&calls, calls.init(0), "cuInit", message) ||
        !succeeded(&calls, calls.count(&count), "cuDeviceGetCount", message))
        return -1;
    return count;
}

bool device_open(device_memory *out, int device)
{
    void *context = NULL;
    int count = 0;
    bool opened = false;
    *out = (device_memory){.device = device};
    if (device == DLLM_DEVICE_CPU) return true;
    out->calls = calloc(1, sizeof *out->calls);
    if (!out->calls) {
        (void)snprintf(out->message, sizeof out->message, "out of memory");
        return false;
    }
    if (!load_calls(out->calls, out->message) || !CALL(out, init, 0) || !CALL(out, count, &count))
        goto done;
    if (device < 0 || device >= count) {
        (void)snprintf(out->message, sizeof out->message, "device %d is not below the count %d",
                       device, count);
        goto done;
    }
    if (!CALL(out, get, &out->calls->handle, device) ||
        !CALL(out, retain, &context, out->calls->handle))
        goto done;
    out->calls->retained = true;
    opened = CALL(out, set_current, context);
done:
    if (!opened) device_close(out);
    return opened;
}

void device_close(device_memory *memory)
{
    if (!memory->calls) return;
    if (memory->calls->retained) (void)memory->calls->release(memory->calls->handle);
    /* libcuda stays open: it does not survive being closed and opened again */
    free(memory->calls);
    memory->calls = NULL;
}

void *device_allocate(device_memory *memory, size_t bytes)
{
    device_address address = 0;
    void *pointer = NULL;
    if (bytes == 0) bytes = 1;
    if (!memory->calls) {
        if (posix_memalign(&pointer, ALIGNMENT_BYTES, bytes) == 0) return pointer;
        (void)snprintf(memory->message, sizeof memory->message, "%zu bytes are not free", bytes);
        return NULL;
    }
    if (!CALL(memory, allocate, &address, bytes)) return NULL;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

void device_free(device_memory *memory, void *pointer)
{
    if (!pointer) return;
    if (memory->calls)
        (void)memory->calls->free((device_address)(uintptr_t)pointer);
    else
        free(pointer);
}

bool device_write(device_memory *memory, void *device, const void *host, size_t bytes)
{
    if (bytes == 0) return true;
    if (memory->calls) return CALL(memory, write, (device_address)(uintptr_t)device, host, bytes);
    memcpy(device, host, bytes);
    return true;
}

bool device_read(device_memory *memory, void *host, const void *device, size_t bytes)
{
    if (bytes == 0) return true;
    if (memory->calls) return CALL(memory, read, host, (device_address)(uintptr_t)device, bytes);
    memcpy(host, device, bytes);
    return true;
}

bool device_copy(device_memory *memory, void *to, const void *from, size_t bytes)
{
    if (bytes == 0) return true;
    if (memory->calls)
        return CALL(memory, copy, (device_address)(uintptr_t)to, (device_address)(uintptr_t)from,
                    bytes);
    memcpy(to, from, bytes);
    return true;
}

bool device_fill(device_memory *memory, void *device, int byte, size_t bytes)
{
    if (bytes == 0) return true;
    if (memory->calls)
        return CALL(memory, fill, (device_address)(uintptr_t)device, (unsigned char)byte, bytes);
    memset(device, byte, bytes);
    return true;
}

bool device_wait(device_memory *memory, dllm_stream stream)
{
    return !memory->calls || CALL(memory, stream_wait, stream);
}

bool device_stream_create(device_memory *memory, dllm_stream *out)
{
    *out = NULL;
    return !memory->calls || CALL(memory, stream_create, out, 0);
}

void device_stream_destroy(device_memory *memory, dllm_stream stream)
{
    if (memory->calls && stream) (void)memory->calls->stream_destroy(stream);
}

bool device_capture_begin(device_memory *memory, dllm_stream stream)
{
    enum { THREAD_LOCAL = 1 }; /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */
    if (!memory->calls) {
        (void)snprintf(memory->message, sizeof memory->message, "the CPU captures nothing");
        return false;
    }
    return CALL(memory, capture_begin, stream, THREAD_LOCAL);
}

bool device_capture_end(device_memory *memory, dllm_stream stream, void **graph)
{
    void *captured = NULL;
    *graph = NULL;
    if (!CALL(memory, capture_end, stream, &captured)) return false;
    const bool made = CALL(memory, graph_instantiate, graph, captured, 0);
    (void)memory->calls->graph_destroy(captured);
    return made;
}

bool device_graph_launch(device_memory *memory, void *graph, dllm_stream stream)
{
    return CALL(memory, graph_launch, graph, stream);
}

void device_graph_destroy(device_memory *memory, void *graph)
{
    if (graph) (void)memory->calls->graph_release(graph);
}

bool device_event_create(device_memory *memory, device_event *out)
{
    *out = (device_event){0};
    return !memory->calls || CALL(memory, event_create, &out->event, 0);
}

bool device_event_record(device_memory *memory, device_event *event, dllm_stream stream)
{
    if (memory->calls) return CALL(memory, event_record, event->event, stream);
    event->ms = now_ms();
    return true;
}

void device_event_destroy(device_memory *memory, device_event *event)
{
    if (memory->calls && event->event) (void)memory->calls->event_destroy(event->event);
    event->event = NULL;
}

double device_elapsed_ms(device_memory *memory, const device_event *from, const device_event *to)
{
    float ms = -1;
    if (!memory->calls) return to->ms - from->ms;
    if (!CALL(memory, event_wait, to->event) ||
        !CALL(memory, event_elapsed, &ms, from->event, to->event))
        return -1;
    return (double)ms;
}
