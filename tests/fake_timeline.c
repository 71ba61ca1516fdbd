/* fake_timeline.c - streams, copies, events and graphs of the fake driver, and its clock */
#include "fake_driver_parts.h"

#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, LAUNCHES_MAX = 4096 };

struct CUstream_st {
    struct CUgraph_st *capture; /* what it fills, NULL: it does not capture */
};

struct CUevent_st {
    double us;
    bool recorded;
};

struct CUgraph_st {
    int count;
    fake_launch_record launches[LAUNCHES_MAX];
};

static struct {
    int live;
    double us;
    fake_time_hook hook;
    void *user;
} timeline;

/* Objects are freed by who made them; a test that leaks sees them in fake_driver_live(). */
void fake_timeline_start(void)
{
    memset(&timeline, 0, sizeof timeline);
}

int fake_timeline_live(void)
{
    return timeline.live;
}

void fake_driver_on_time(fake_time_hook hook, void *user)
{
    timeline.hook = hook;
    timeline.user = user;
}

double fake_driver_clock_us(void)
{
    return timeline.us;
}

static void pass(const fake_launch_record *launch)
{
    timeline.us += timeline.hook ? timeline.hook(timeline.user, launch) : 1.0;
}

bool fake_timeline_launch(const fake_launch_record *launch)
{
    struct CUgraph_st *graph = launch->stream ? launch->stream->capture : NULL;
    if (!graph) {
        pass(launch);
        return false;
    }
    if (graph->count < LAUNCHES_MAX) {
        graph->launches[graph->count] = *launch;
        graph->launches[graph->count++].parameters = NULL;
    }
    return true;
}

static dllm_cu_result give(void **out, size_t bytes, dllm_cu_result result)
{
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    *out = calloc(1, bytes);
    if (!*out) return fake_leave(DLLM_CU_OUT_OF_MEMORY);
    timeline.live++;
    return fake_leave(DLLM_CU_SUCCESS);
}

static dllm_cu_result take(void *object, dllm_cu_result result)
{
    if (!object) return fake_leave(INVALID_HANDLE);
    free(object);
    timeline.live--;
    return fake_leave(result);
}

static void *host(dllm_cu_pointer pointer)
{
    return (void *)(uintptr_t)pointer; /* NOLINT(performance-no-int-to-ptr) the fake's memory */
}

dllm_cu_result fake_memory_write(dllm_cu_pointer to, const void *from, size_t bytes)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_write);
    if (result == DLLM_CU_SUCCESS) memcpy(host(to), from, bytes);
    return fake_leave(result);
}

dllm_cu_result fake_memory_read(void *to, dllm_cu_pointer from, size_t bytes)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_read);
    if (result == DLLM_CU_SUCCESS) memcpy(to, host(from), bytes);
    return fake_leave(result);
}

dllm_cu_result fake_memory_copy(dllm_cu_pointer to, dllm_cu_pointer from, size_t bytes)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_copy);
    if (result == DLLM_CU_SUCCESS) memcpy(host(to), host(from), bytes);
    return fake_leave(result);
}

dllm_cu_result fake_memory_fill(dllm_cu_pointer to, unsigned char byte, size_t bytes)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_fill);
    if (result == DLLM_CU_SUCCESS) memset(host(to), byte, bytes);
    return fake_leave(result);
}

dllm_cu_result fake_memory_send(dllm_cu_pointer to, const void *from, size_t bytes,
                                dllm_stream stream)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_send);
    (void)stream;
    if (result == DLLM_CU_SUCCESS) memcpy(host(to), from, bytes);
    return fake_leave(result);
}

dllm_cu_result fake_memory_fetch(void *to, dllm_cu_pointer from, size_t bytes, dllm_stream stream)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_fetch);
    (void)stream;
    if (result == DLLM_CU_SUCCESS) memcpy(to, host(from), bytes);
    return fake_leave(result);
}

dllm_cu_result fake_host_allocate(void **out, size_t bytes, unsigned flags)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_host_allocate);
    (void)flags;
    return give(out, bytes, result);
}

dllm_cu_result fake_host_free(void *pointer)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_host_free);
    return take(pointer, result);
}

dllm_cu_result fake_stream_create(dllm_stream *out, unsigned flags)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_stream_create);
    (void)flags;
    return give((void **)out, sizeof(struct CUstream_st), result);
}

dllm_cu_result fake_stream_destroy(dllm_stream stream)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_stream_destroy);
    return take(stream, result);
}

dllm_cu_result fake_stream_synchronize(dllm_stream stream)
{
    (void)stream;
    return fake_leave(fake_enter_with_context(FAKE_CALL_stream_synchronize));
}

dllm_cu_result fake_event_create(dllm_cu_event *out, unsigned flags)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_event_create);
    (void)flags;
    return give((void **)out, sizeof(struct CUevent_st), result);
}

dllm_cu_result fake_event_destroy(dllm_cu_event event)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_event_destroy);
    return take(event, result);
}

dllm_cu_result fake_event_record(dllm_cu_event event, dllm_stream stream)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_event_record);
    (void)stream;
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    *event = (struct CUevent_st){.us = timeline.us, .recorded = true};
    return fake_leave(result);
}

dllm_cu_result fake_event_query(dllm_cu_event event)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_event_query);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    return fake_leave(event->recorded ? result : DLLM_CU_NOT_READY);
}

dllm_cu_result fake_event_elapsed(float *ms, dllm_cu_event from, dllm_cu_event to)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_event_elapsed);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (!from->recorded || !to->recorded) return fake_leave(INVALID_HANDLE);
    *ms = (float)((to->us - from->us) / 1000.0);
    return fake_leave(result);
}

dllm_cu_result fake_capture_begin(dllm_stream stream, dllm_cu_capture_mode mode)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_capture_begin);
    (void)mode;
    if (result == DLLM_CU_SUCCESS && (!stream || stream->capture)) return fake_leave(INVALID_VALUE);
    return give((void **)&stream->capture, sizeof(struct CUgraph_st), result);
}

dllm_cu_result fake_capture_end(dllm_stream stream, dllm_cu_graph *out)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_capture_end);
    struct CUgraph_st *graph = stream->capture;
    stream->capture = NULL;
    if (result != DLLM_CU_SUCCESS) return take(graph, result);
    *out = graph;
    return fake_leave(graph ? result : INVALID_HANDLE);
}

dllm_cu_result fake_graph_instantiate(dllm_cu_graph_exec *out, dllm_cu_graph graph,
                                      unsigned long long flags)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_graph_instantiate);
    (void)flags;
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    struct CUgraph_st *copy = calloc(1, sizeof *copy);
    if (!copy) return fake_leave(DLLM_CU_OUT_OF_MEMORY);
    *copy = *graph;
    timeline.live++;
    *out = (void *)copy;
    return fake_leave(result);
}

dllm_cu_result fake_graph_launch(dllm_cu_graph_exec exec, dllm_stream stream)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_graph_launch);
    const struct CUgraph_st *graph = (const void *)exec;
    (void)stream;
    for (int i = 0; result == DLLM_CU_SUCCESS && i < graph->count; i++)
        pass(&graph->launches[i]);
    return fake_leave(result);
}

dllm_cu_result fake_graph_destroy(dllm_cu_graph graph)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_graph_destroy);
    return take(graph, result);
}

dllm_cu_result fake_graph_release(dllm_cu_graph_exec exec)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_graph_release);
    return take(exec, result);
}
