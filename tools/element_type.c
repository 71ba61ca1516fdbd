/* element_type.c - reads and writes single elements of the library's types on the host */
#include "element_type.h"

#include <math.h>
#include <string.h>

static const struct {
    dllm_type type;
    size_t bytes;
    const char *name;
} types[] = {{DLLM_BF16, 2, "bf16"}, {DLLM_FP16, 2, "fp16"}, {DLLM_FP32, 4, "fp32"}};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t bf16_of(float value)
{
    const uint32_t bits = bits_of(value);
    if (isnan(value)) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static uint16_t fp16_of(float value)
{
    const uint32_t sign = (bits_of(value) >> 16) & 0x8000;
    const uint32_t magnitude = bits_of(value) & 0x7fffffff;
    uint32_t rounded;
    if (isnan(value)) return 0x7e00;
    if (magnitude >= 0x477ff000) { /* 65,520 and more round to infinity */
        rounded = 0x7c00;
    } else if (magnitude < 0x38800000) { /* below 2^-14: a multiple of 2^-24 */
        rounded = (uint32_t)lrintf(float_of(magnitude) * 0x1p24f);
    } else {
        const uint32_t rebased = magnitude - (112u << 23);
        rounded = (rebased + 0xfff + ((rebased >> 13) & 1)) >> 13;
    }
    return (uint16_t)(sign | rounded);
}

static double fp16_value(uint16_t half)
{
    const int exponent = (half >> 10) & 31;
    const int fraction = half & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

const char *element_name(dllm_type type)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i].type == type) return types[i].name;
    return "none";
}

dllm_type element_type_of(const char *name)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0) return types[i].type;
    return DLLM_TYPE_NONE;
}

size_t element_bytes(dllm_type type)
{
    return type == DLLM_FP32 ? 4 : 2;
}

void element_store(dllm_type type, void *base, int64_t index, double value)
{
    const float single = (float)value;
    char *place = (char *)base + (size_t)index * element_bytes(type);
    if (type == DLLM_FP32) {
        memcpy(place, &single, sizeof single);
    } else {
        const uint16_t half = type == DLLM_BF16 ? bf16_of(single) : fp16_of(single);
        memcpy(place, &half, sizeof half);
    }
}

double element_load(dllm_type type, const void *base, int64_t index)
{
    const char *place = (const char *)base + (size_t)index * element_bytes(type);
    uint16_t half;
    if (type == DLLM_FP32) {
        float single;
        memcpy(&single, place, sizeof single);
        return (double)single;
    }
    memcpy(&half, place, sizeof half);
    return type == DLLM_BF16 ? (double)float_of((uint32_t)half << 16) : fp16_value(half);
}

double element_round(dllm_type type, double value)
{
    float storage;
    element_store(type, &storage, 0, value);
    return element_load(type, &storage, 0);
}
