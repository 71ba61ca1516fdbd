/*
 * tensor_type.c - see tensor_type.h
 */
#include "tensor_type.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define TYPE_ROW(name, text, bytes) {text, bytes},
static const struct {
    const char *name;
    size_t element_bytes;
} types[] = {DLLM_TENSOR_TYPE_LIST(TYPE_ROW)};
#undef TYPE_ROW

const char *dllm_tensor_type_name(dllm_tensor_type type)
{
    return types[type].name;
}

size_t dllm_tensor_type_bytes(dllm_tensor_type type)
{
    return types[type].element_bytes;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Shifts the fields into fp32's places and corrects the exponent's bias by an exact product. */
static float float_of_fp16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    if (magnitude >= 0x0f800000u) return float_of_bits(sign | magnitude | 0x7f800000u);
    return float_of_bits(sign | 0x3f800000u) * (float_of_bits(magnitude) * 0x1p112f);
}

void dllm_tensor_type_convert(float *out, dllm_tensor_type type, const void *elements,
                              int64_t first, int64_t count)
{
    switch (type) {
    case DLLM_TENSOR_BF16:
        for (int64_t i = 0; i < count; i++)
            out[i] = float_of_bits((uint32_t)((const uint16_t *)elements)[first + i] << 16);
        break;
    case DLLM_TENSOR_FP16:
        for (int64_t i = 0; i < count; i++)
            out[i] = float_of_fp16(((const uint16_t *)elements)[first + i]);
        break;
    case DLLM_TENSOR_FP32:
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const float *)elements)[first + i];
        break;
    case DLLM_TENSOR_FP64:
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)((const double *)elements)[first + i];
        break;
    case DLLM_TENSOR_INT64:
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)((const int64_t *)elements)[first + i];
        break;
    case DLLM_TENSOR_TYPES:
        assert(false);
        break;
    }
}
