/*
 * safetensors.h - reads the tensors of a .safetensors file, mapped and not copied
 *
 * The file is 8 bytes of header length (little endian), a JSON header, then the tensors' bytes.
 * Opening checks every type, shape and offset against the file, so that a tensor that is found can
 * be read without further thought.
 */
#ifndef DLLM_TOOL_SAFETENSORS_H
#define DLLM_TOOL_SAFETENSORS_H

#include "message.h"
#include "tensor_type.h"

#include <stddef.h>
#include <stdint.h>

#define DLLM_TENSOR_RANK_MAX 8

/** One tensor; name and data belong to the file it was found in. Row-major, element-aligned. */
typedef struct dllm_tensor {
    const char *name;
    dllm_tensor_type type;
    int rank;
    int64_t shape[DLLM_TENSOR_RANK_MAX];
    int64_t elements;
    const void *data;
    size_t size_bytes;
} dllm_tensor;

/** An open file, read only; any number of threads may read it. */
typedef struct dllm_tensor_file dllm_tensor_file;

/**
 * Opens and checks a file. False with a message: it cannot be read, its header is broken, a tensor
 * has a type that is not in the list above, or does not lie where its shape says.
 * Owner    release with dllm_tensor_file_close. The file must not shrink while it is open.
 */
bool dllm_tensor_file_open(dllm_tensor_file **out, const char *path, dllm_message *message);

/** Releases a file and its tensors; takes NULL. */
void dllm_tensor_file_close(dllm_tensor_file *file);

/** Number of tensors. */
size_t dllm_tensor_file_count(const dllm_tensor_file *file);

/** The tensor of that name, NULL if there is none. */
const dllm_tensor *dllm_tensor_file_find(const dllm_tensor_file *file, const char *name);

/**
 * As find, and it must have this rank and shape: false with a message that has the name, the shape
 * found and the shape wanted.
 */
bool dllm_tensor_file_require(const dllm_tensor **out, const dllm_tensor_file *file,
                              const char *name, int rank, const int64_t *shape,
                              dllm_message *message);

/**
 * Converts `count` elements from element `first` on to fp32: exactly from bf16, fp16 and fp32, to
 * nearest from fp64 and int64. The range must lie inside the tensor.
 */
void dllm_tensor_to_fp32(float *out, const dllm_tensor *tensor, int64_t first, int64_t count);

#endif
