/*
 * driver.h - the part of the CUDA driver that the library calls, opened at run time
 *
 * The types and prototypes are declared here, not taken from cuda.h, so that the library builds
 * where no toolkit is; tests/test_driver_abi.c holds them against cuda.h where that exists.
 */
#ifndef DLLM_DRIVER_H
#define DLLM_DRIVER_H

#include "dllm.h"

typedef int dllm_cu_result;
typedef int dllm_cu_device;
typedef int dllm_cu_attribute;          /* CUdevice_attribute */
typedef int dllm_cu_function_attribute; /* CUfunction_attribute */
typedef uint64_t dllm_cu_pointer;
typedef struct CUctx_st *dllm_cu_context;
typedef struct CUmod_st *dllm_cu_module;
typedef struct CUfunc_st *dllm_cu_function;
typedef struct CUevent_st *dllm_cu_event;
typedef struct CUgraph_st *dllm_cu_graph;
typedef struct CUgraphExec_st *dllm_cu_graph_exec;
typedef int dllm_cu_capture_mode; /* CUstreamCaptureMode */

/* CUuuid */
typedef struct dllm_cu_uuid {
    char bytes[16];
} dllm_cu_uuid;

enum {
    DLLM_CU_SUCCESS = 0,
    DLLM_CU_OUT_OF_MEMORY = 2,
    DLLM_CU_NO_DEVICE = 100,
    DLLM_CU_INVALID_IMAGE = 200,
    DLLM_CU_INVALID_CONTEXT = 201,
    DLLM_CU_NO_BINARY_FOR_GPU = 209,
    DLLM_CU_INVALID_PTX = 218,
    DLLM_CU_NO_JIT_COMPILER = 221,
    DLLM_CU_UNSUPPORTED_PTX = 222,
    DLLM_CU_INVALID_SOURCE = 300,
    DLLM_CU_NOT_FOUND = 500,
    DLLM_CU_NOT_READY = 600,
    DLLM_CU_NOT_PERMITTED = 800,
    DLLM_CU_DRIVER_MISMATCH = 803,
    DLLM_CU_COMPAT_UNSUPPORTED = 804,
    DLLM_CU_CAPTURE_UNSUPPORTED = 900
};

/* CUdevice_attribute and CUfunction_attribute numbers */
enum {
    DLLM_CU_ATTRIBUTE_CLOCK_KHZ = 13,
    DLLM_CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    DLLM_CU_ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    DLLM_CU_ATTRIBUTE_MEMORY_BUS_BITS = 37,
    DLLM_CU_ATTRIBUTE_L2_BYTES = 38,
    DLLM_CU_ATTRIBUTE_MAJOR = 75,
    DLLM_CU_ATTRIBUTE_MINOR = 76,
    DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN = 97,
    DLLM_CU_ATTRIBUTE_CLUSTER_LAUNCH = 120, /* known to drivers of devices from 9.0 on */
    DLLM_CU_FUNCTION_LOCAL_BYTES = 3,
    DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8
};

/* CUstreamCaptureMode: what other threads do meanwhile is their affair */
enum { DLLM_CU_CAPTURE_THREAD_LOCAL = 1 };

/* CUlaunchAttribute and CUlaunchConfig, with the attributes that are used */
enum { DLLM_CU_LAUNCH_CLUSTER_DIMENSION = 4, DLLM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };

typedef struct dllm_cu_launch_attribute {
    int id;
    char padding[4];
    union {
        int on;
        struct {
            unsigned x, y, z;
        } cluster;
        char bytes[64];
    } value;
} dllm_cu_launch_attribute;

typedef struct dllm_cu_launch_config {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    dllm_stream stream;
    dllm_cu_launch_attribute *attributes;
    unsigned attribute_count;
} dllm_cu_launch_config;

/* CUtensorMap, opaque here; sm90_params.h has its bytes */
typedef struct dllm_tensor_map dllm_tensor_map;

typedef int dllm_cu_tensor_type; /* CUtensorMapDataType and the other enumerations of the call */
typedef int dllm_cu_tensor_interleave;
typedef int dllm_cu_tensor_swizzle;
typedef int dllm_cu_tensor_promotion;
typedef int dllm_cu_tensor_fill;

enum {
    DLLM_CU_TENSOR_FP16 = 6,
    DLLM_CU_TENSOR_BF16 = 9,
    DLLM_CU_TENSOR_NOT_INTERLEAVED = 0,
    DLLM_CU_TENSOR_SWIZZLE_128 = 3,
    DLLM_CU_TENSOR_PROMOTION_128 = 2,
    DLLM_CU_TENSOR_PROMOTION_256 = 3,
    DLLM_CU_TENSOR_FILL_ZEROS = 0
};

/* name in the table, symbol in the library, parameters */
#define DLLM_DRIVER_CALLS(X)                                                                       \
    X(init, cuInit, (unsigned))                                                                    \
    X(driver_version, cuDriverGetVersion, (int *))                                                 \
    X(error_name, cuGetErrorName, (dllm_cu_result, const char **))                                 \
    X(device_count, cuDeviceGetCount, (int *))                                                     \
    X(device_get, cuDeviceGet, (dllm_cu_device *, int))                                            \
    X(device_name, cuDeviceGetName, (char *, int, dllm_cu_device))                                 \
    X(device_memory, cuDeviceTotalMem_v2, (size_t *, dllm_cu_device))                              \
    X(device_uuid, cuDeviceGetUuid_v2, (dllm_cu_uuid *, dllm_cu_device))                           \
    X(device_attribute, cuDeviceGetAttribute, (int *, dllm_cu_attribute, dllm_cu_device))          \
    X(primary_retain, cuDevicePrimaryCtxRetain, (dllm_cu_context *, dllm_cu_device))               \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, (dllm_cu_device))                             \
    X(context_current, cuCtxGetCurrent, (dllm_cu_context *))                                       \
    X(context_device, cuCtxGetDevice, (dllm_cu_device *))                                          \
    X(context_push, cuCtxPushCurrent_v2, (dllm_cu_context))                                        \
    X(context_pop, cuCtxPopCurrent_v2, (dllm_cu_context *))                                        \
    X(module_load, cuModuleLoadData, (dllm_cu_module *, const void *))                             \
    X(module_unload, cuModuleUnload, (dllm_cu_module))                                             \
    X(module_function, cuModuleGetFunction, (dllm_cu_function *, dllm_cu_module, const char *))    \
    X(function_attribute, cuFuncGetAttribute,                                                      \
      (int *, dllm_cu_function_attribute, dllm_cu_function))                                       \
    X(function_set_attribute, cuFuncSetAttribute,                                                  \
      (dllm_cu_function, dllm_cu_function_attribute, int))                                         \
    X(memory_allocate, cuMemAlloc_v2, (dllm_cu_pointer *, size_t))                                 \
    X(memory_free, cuMemFree_v2, (dllm_cu_pointer))                                                \
    X(memory_write, cuMemcpyHtoD_v2, (dllm_cu_pointer, const void *, size_t))                      \
    X(memory_read, cuMemcpyDtoH_v2, (void *, dllm_cu_pointer, size_t))                             \
    X(memory_copy, cuMemcpyDtoD_v2, (dllm_cu_pointer, dllm_cu_pointer, size_t))                    \
    X(memory_fill, cuMemsetD8_v2, (dllm_cu_pointer, unsigned char, size_t))                        \
    X(memory_send, cuMemcpyHtoDAsync_v2, (dllm_cu_pointer, const void *, size_t, dllm_stream))     \
    X(memory_fetch, cuMemcpyDtoHAsync_v2, (void *, dllm_cu_pointer, size_t, dllm_stream))          \
    X(host_allocate, cuMemHostAlloc, (void **, size_t, unsigned))                                  \
    X(host_free, cuMemFreeHost, (void *))                                                          \
    X(stream_create, cuStreamCreate, (dllm_stream *, unsigned))                                    \
    X(stream_destroy, cuStreamDestroy_v2, (dllm_stream))                                           \
    X(stream_synchronize, cuStreamSynchronize, (dllm_stream))                                      \
    X(event_create, cuEventCreate, (dllm_cu_event *, unsigned))                                    \
    X(event_destroy, cuEventDestroy_v2, (dllm_cu_event))                                           \
    X(event_record, cuEventRecord, (dllm_cu_event, dllm_stream))                                   \
    X(event_query, cuEventQuery, (dllm_cu_event))                                                  \
    X(event_elapsed, cuEventElapsedTime, (float *, dllm_cu_event, dllm_cu_event))                  \
    X(capture_begin, cuStreamBeginCapture_v2, (dllm_stream, dllm_cu_capture_mode))                 \
    X(capture_end, cuStreamEndCapture, (dllm_stream, dllm_cu_graph *))                             \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (dllm_cu_graph_exec *, dllm_cu_graph, unsigned long long))                                   \
    X(graph_launch, cuGraphLaunch, (dllm_cu_graph_exec, dllm_stream))                              \
    X(graph_destroy, cuGraphDestroy, (dllm_cu_graph))                                              \
    X(graph_release, cuGraphExecDestroy, (dllm_cu_graph_exec))                                     \
    X(launch, cuLaunchKernelEx,                                                                    \
      (const dllm_cu_launch_config *, dllm_cu_function, void **, void **))                         \
    X(tensor_map, cuTensorMapEncodeTiled,                                                          \
      (dllm_tensor_map *, dllm_cu_tensor_type, uint32_t, void *, const uint64_t *,                 \
       const uint64_t *, const uint32_t *, const uint32_t *, dllm_cu_tensor_interleave,            \
       dllm_cu_tensor_swizzle, dllm_cu_tensor_promotion, dllm_cu_tensor_fill))

/** Entry points of libcuda; filled whole or not at all. Tests fill one with fakes. */
typedef struct dllm_driver {
    void *library;
#define DLLM_DRIVER_SLOT(name, symbol, parameters) dllm_cu_result(*name) parameters;
    DLLM_DRIVER_CALLS(DLLM_DRIVER_SLOT)
#undef DLLM_DRIVER_SLOT
} dllm_driver;

/**
 * Opens libcuda.so.1 (a process keeps it open) and calls cuInit.
 * Status   DLLM_LIBRARY_MISSING  not found, or an entry point is missing: the message names it
 *          DLLM_DRIVER_FAILED    cuInit failed, for instance no device
 */
dllm_status dllm__driver_open(dllm_driver *out);

/** DLLM_OK, or DLLM_DRIVER_FAILED (OUT_OF_MEMORY, CAPTURING) with call and the error's name. */
dllm_status dllm__driver_check(const dllm_driver *driver, dllm_cu_result result, const char *call);

#endif
