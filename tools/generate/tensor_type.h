/*
 * tensor_type.h - element types of tensors in a file, and their values as fp32
 */
#ifndef DLLM_TOOL_TENSOR_TYPE_H
#define DLLM_TOOL_TENSOR_TYPE_H

#include <stddef.h>
#include <stdint.h>

/* enumerator, name in the header, bytes of an element */
#define DLLM_TENSOR_TYPE_LIST(X)                                                                   \
    X(DLLM_TENSOR_BF16, "BF16", 2)                                                                 \
    X(DLLM_TENSOR_FP16, "F16", 2)                                                                  \
    X(DLLM_TENSOR_FP32, "F32", 4)                                                                  \
    X(DLLM_TENSOR_FP64, "F64", 8)                                                                  \
    X(DLLM_TENSOR_INT64, "I64", 8)

#define DLLM_TENSOR_ENUMERATOR(name, text, bytes) name,
typedef enum dllm_tensor_type {
    DLLM_TENSOR_TYPE_LIST(DLLM_TENSOR_ENUMERATOR) DLLM_TENSOR_TYPES
} dllm_tensor_type;
#undef DLLM_TENSOR_ENUMERATOR

/** The type's name in a header, "BF16" for one. */
const char *dllm_tensor_type_name(dllm_tensor_type type);

/** Bytes of one element. */
size_t dllm_tensor_type_bytes(dllm_tensor_type type);

/**
 * Converts `count` elements of an array, from element `first` on: exactly from bf16, fp16 and fp32,
 * to nearest from fp64 and int64.
 */
void dllm_tensor_type_convert(float *out, dllm_tensor_type type, const void *elements,
                              int64_t first, int64_t count);

#endif
