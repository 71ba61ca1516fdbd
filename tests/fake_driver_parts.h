/*
 * fake_driver_parts.h - what the files of the fake driver share
 *
 * fake_driver.c has the table, devices, contexts and memory; fake_kernels.c has modules, functions,
 * launches and tensor maps; fake_timeline.c has streams, copies, events and graphs, on a clock that
 * only launches move.
 */
#ifndef FAKE_DRIVER_PARTS_H
#define FAKE_DRIVER_PARTS_H

#include "fake_driver.h"

typedef enum fake_call {
#define FAKE_CALL_NUMBER(name, symbol, parameters) FAKE_CALL_##name,
    DLLM_DRIVER_CALLS(FAKE_CALL_NUMBER)
#undef FAKE_CALL_NUMBER
        FAKE_CALL_COUNT
} fake_call;

/* Takes the lock and counts; every entry point ends with fake_leave. */
dllm_cu_result fake_enter(fake_call call);
dllm_cu_result fake_enter_with_context(fake_call call);
dllm_cu_result fake_leave(dllm_cu_result result);

/* With the lock held: an attribute of the device. */
int fake_attribute(int attribute);

/* The entry points of fake_kernels.c. */
dllm_cu_result fake_module_load(dllm_cu_module *module, const void *image);
dllm_cu_result fake_module_unload(dllm_cu_module module);
dllm_cu_result fake_module_function(dllm_cu_function *function, dllm_cu_module module,
                                    const char *entry);
dllm_cu_result fake_function_attribute(int *value, int attribute, dllm_cu_function function);
dllm_cu_result fake_function_set_attribute(dllm_cu_function function, int attribute, int value);
dllm_cu_result fake_launch(const dllm_cu_launch_config *config, dllm_cu_function function,
                           void **parameters, void **extra);
dllm_cu_result fake_tensor_map(dllm_tensor_map *map, int type, uint32_t rank, void *base,
                               const uint64_t *extents, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *element_strides, int interleave,
                               int swizzle, int promotion, int fill);

/* The entry points of fake_timeline.c. */
dllm_cu_result fake_memory_write(dllm_cu_pointer to, const void *from, size_t bytes);
dllm_cu_result fake_memory_read(void *to, dllm_cu_pointer from, size_t bytes);
dllm_cu_result fake_memory_copy(dllm_cu_pointer to, dllm_cu_pointer from, size_t bytes);
dllm_cu_result fake_memory_fill(dllm_cu_pointer to, unsigned char byte, size_t bytes);
dllm_cu_result fake_memory_send(dllm_cu_pointer to, const void *from, size_t bytes,
                                dllm_stream stream);
dllm_cu_result fake_memory_fetch(void *to, dllm_cu_pointer from, size_t bytes, dllm_stream stream);
dllm_cu_result fake_host_allocate(void **out, size_t bytes, unsigned flags);
dllm_cu_result fake_host_free(void *pointer);
dllm_cu_result fake_stream_create(dllm_stream *out, unsigned flags);
dllm_cu_result fake_stream_destroy(dllm_stream stream);
dllm_cu_result fake_stream_synchronize(dllm_stream stream);
dllm_cu_result fake_event_create(dllm_cu_event *out, unsigned flags);
dllm_cu_result fake_event_destroy(dllm_cu_event event);
dllm_cu_result fake_event_record(dllm_cu_event event, dllm_stream stream);
dllm_cu_result fake_event_query(dllm_cu_event event);
dllm_cu_result fake_event_elapsed(float *ms, dllm_cu_event from, dllm_cu_event to);
dllm_cu_result fake_capture_begin(dllm_stream stream, dllm_cu_capture_mode mode);
dllm_cu_result fake_capture_end(dllm_stream stream, dllm_cu_graph *out);
dllm_cu_result fake_graph_instantiate(dllm_cu_graph_exec *out, dllm_cu_graph graph,
                                      unsigned long long flags);
dllm_cu_result fake_graph_launch(dllm_cu_graph_exec exec, dllm_stream stream);
dllm_cu_result fake_graph_destroy(dllm_cu_graph graph);
dllm_cu_result fake_graph_release(dllm_cu_graph_exec exec);

/* With the lock held: forgets and frees all; counts what is live. */
void fake_kernels_start(void);
int fake_kernels_live(void);
void fake_timeline_start(void);
int fake_timeline_live(void);

/* A launch: into the graph that its stream captures (true), or onto the clock. */
bool fake_timeline_launch(const fake_launch_record *launch);

#endif
