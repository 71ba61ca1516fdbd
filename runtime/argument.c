/* argument.c - versioned structs and ranges */
#include "argument.h"

#include "status.h"

#include <string.h>

static size_t size_of(const void *versioned)
{
    size_t bytes;
    memcpy(&bytes, versioned, sizeof bytes);
    return bytes;
}

dllm_status dllm__take_struct(void *out, size_t size, const void *given, const char *name)
{
    if (!given) return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", name);
    const size_t bytes = size_of(given);
    if (bytes < size)
        return dllm__fail(
            DLLM_INVALID_ARGUMENT,
            "%s.struct_size %zu is below %zu: it is sizeof, as a DLLM_..._INIT macro sets it", name,
            bytes, size);
    for (size_t i = size; i < bytes; i++)
        if (((const unsigned char *)given)[i])
            return dllm__fail(DLLM_UNSUPPORTED,
                              "%s.struct_size %zu: byte %zu is set, and this version knows %zu",
                              name, bytes, i, size);
    memcpy(out, given, size);
    return DLLM_OK;
}

dllm_status dllm__give_struct(void *given, const void *value, size_t size)
{
    if (!given) return dllm__fail(DLLM_INVALID_ARGUMENT, "out is NULL");
    const size_t room = size_of(given);
    if (room < sizeof room)
        return dllm__fail(
            DLLM_INVALID_ARGUMENT,
            "out->struct_size %zu is below %zu: it is sizeof, as a DLLM_..._INIT macro sets it",
            room, sizeof room);
    memset(given, 0, room);
    memcpy(given, value, room < size ? room : size);
    memcpy(given, &room, sizeof room);
    return DLLM_OK;
}

dllm_status dllm__check_range(const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value >= low && value <= high) return DLLM_OK;
    return dllm__fail(DLLM_INVALID_ARGUMENT, "%s %lld is outside %lld .. %lld", name,
                      (long long)value, (long long)low, (long long)high);
}
