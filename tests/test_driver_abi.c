/* test_driver_abi.c - driver.h says what cuda.h says, where there is a cuda.h */
#include "driver.h"
#include "sm90_params.h"

#if defined(__has_include)
#if __has_include(<cuda.h>)
#define HAVE_CUDA_H
#endif
#endif

#ifndef HAVE_CUDA_H

int main(void)
{
    return 77;
}

#else

#include "check_suite.h"

#include <cuda.h>
#include <stddef.h>

/* Ours are integers of the same size where theirs are enumerations or an integer of another name. */
_Static_assert(sizeof(dllm_cu_result) == sizeof(CUresult), "CUresult");
_Static_assert(sizeof(dllm_cu_device) == sizeof(CUdevice), "CUdevice");
_Static_assert(sizeof(dllm_cu_pointer) == sizeof(CUdeviceptr), "CUdeviceptr");
_Static_assert(sizeof(dllm_cu_attribute) == sizeof(CUdevice_attribute), "CUdevice_attribute");
_Static_assert(sizeof(dllm_cu_function_attribute) == sizeof(CUfunction_attribute),
               "CUfunction_attribute");

_Static_assert(sizeof(dllm_cu_tensor_type) == sizeof(CUtensorMapDataType), "CUtensorMapDataType");
_Static_assert(sizeof(dllm_tensor_map) == sizeof(CUtensorMap), "CUtensorMap");
_Static_assert(_Alignof(dllm_tensor_map) >= 64, "what cuTensorMapEncodeTiled asks for");

#define SAME_PLACE(ours, theirs, our_field, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #their_field)
_Static_assert(sizeof(dllm_cu_launch_attribute) == sizeof(CUlaunchAttribute), "CUlaunchAttribute");
SAME_PLACE(dllm_cu_launch_attribute, CUlaunchAttribute, value.on,
           value.programmaticStreamSerializationAllowed);
SAME_PLACE(dllm_cu_launch_attribute, CUlaunchAttribute, value.cluster.z, value.clusterDim.z);
_Static_assert(sizeof(dllm_cu_launch_config) == sizeof(CUlaunchConfig), "CUlaunchConfig");
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, grid_z, gridDimZ);
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, block_z, blockDimZ);
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, shared_bytes, sharedMemBytes);
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, stream, hStream);
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, attributes, attrs);
SAME_PLACE(dllm_cu_launch_config, CUlaunchConfig, attribute_count, numAttrs);

#define IS_SAME(ours, theirs) _Static_assert(__builtin_types_compatible_p(ours, theirs), #theirs)
IS_SAME(dllm_cu_context, CUcontext);
IS_SAME(dllm_cu_module, CUmodule);
IS_SAME(dllm_cu_function, CUfunction);
IS_SAME(dllm_stream, CUstream);
IS_SAME(dllm_cu_event, CUevent);
IS_SAME(dllm_cu_graph, CUgraph);
IS_SAME(dllm_cu_graph_exec, CUgraphExec);
_Static_assert(sizeof(dllm_cu_uuid) == sizeof(CUuuid), "CUuuid");
_Static_assert(sizeof(dllm_cu_capture_mode) == sizeof(CUstreamCaptureMode), "CUstreamCaptureMode");

/* With these names exchanged, our prototypes must be theirs to the letter. */
#define dllm_cu_result CUresult
#define dllm_cu_device CUdevice
#define dllm_cu_pointer CUdeviceptr
#define dllm_cu_launch_config CUlaunchConfig
#define dllm_cu_attribute CUdevice_attribute
#define dllm_cu_uuid CUuuid
#define dllm_cu_capture_mode CUstreamCaptureMode
#define dllm_cu_function_attribute CUfunction_attribute
#define dllm_tensor_map CUtensorMap
#define dllm_cu_tensor_type CUtensorMapDataType
#define dllm_cu_tensor_interleave CUtensorMapInterleave
#define dllm_cu_tensor_swizzle CUtensorMapSwizzle
#define dllm_cu_tensor_promotion CUtensorMapL2promotion
#define dllm_cu_tensor_fill CUtensorMapFloatOOBfill
#define SAME_PROTOTYPE(name, symbol, parameters) IS_SAME(CUresult parameters, __typeof__(symbol));
DLLM_DRIVER_CALLS(SAME_PROTOTYPE)

static const struct {
    const char *name;
    int ours;
    int theirs;
} constants[] = {
    {"success", DLLM_CU_SUCCESS, CUDA_SUCCESS},
    {"out of memory", DLLM_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY},
    {"programmatic serialization", DLLM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION,
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
    {"thread-local capture", DLLM_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    {"no device", DLLM_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE},
    {"invalid image", DLLM_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE},
    {"invalid context", DLLM_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT},
    {"no binary", DLLM_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU},
    {"invalid ptx", DLLM_CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX},
    {"no jit compiler", DLLM_CU_NO_JIT_COMPILER, CUDA_ERROR_JIT_COMPILER_NOT_FOUND},
    {"unsupported ptx", DLLM_CU_UNSUPPORTED_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
    {"invalid source", DLLM_CU_INVALID_SOURCE, CUDA_ERROR_INVALID_SOURCE},
    {"not found", DLLM_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND},
    {"not permitted", DLLM_CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED},
    {"driver mismatch", DLLM_CU_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
    {"compat unsupported", DLLM_CU_COMPAT_UNSUPPORTED, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE},
    {"capture", DLLM_CU_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"clock", DLLM_CU_ATTRIBUTE_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {"memory clock", DLLM_CU_ATTRIBUTE_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {"memory bus", DLLM_CU_ATTRIBUTE_MEMORY_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {"multiprocessors", DLLM_CU_ATTRIBUTE_MULTIPROCESSORS,
     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"l2 bytes", DLLM_CU_ATTRIBUTE_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"major", DLLM_CU_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {"minor", DLLM_CU_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {"shared bytes", DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {"local bytes", DLLM_CU_FUNCTION_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
    {"dynamic shared bytes", DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
    {"fp16 tensor", DLLM_CU_TENSOR_FP16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
    {"bf16 tensor", DLLM_CU_TENSOR_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
    {"interleave", DLLM_CU_TENSOR_NOT_INTERLEAVED, CU_TENSOR_MAP_INTERLEAVE_NONE},
    {"swizzle", DLLM_CU_TENSOR_SWIZZLE_128, CU_TENSOR_MAP_SWIZZLE_128B},
    {"promotion_128", DLLM_CU_TENSOR_PROMOTION_128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
    {"promotion_256", DLLM_CU_TENSOR_PROMOTION_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
    {"fill", DLLM_CU_TENSOR_FILL_ZEROS, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE},
};

START_TEST(constant_is_the_toolkits)
{
    ck_assert_msg(constants[_i].ours == constants[_i].theirs, "%s is %d, not %d",
                  constants[_i].name, constants[_i].ours, constants[_i].theirs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("driver_abi");
    TCase *values = tcase_create("constants");
    tcase_add_loop_test(values, constant_is_the_toolkits, 0,
                        (int)(sizeof constants / sizeof constants[0]));
    suite_add_tcase(suite, values);
    return check_suite_run(suite);
}

#endif
