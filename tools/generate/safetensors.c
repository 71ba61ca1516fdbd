/*
 * safetensors.c - see safetensors.h
 *
 * What comes from the file is believed only after a check: lengths against the file's size, the
 * product of a shape against overflow, the tensors' ranges against each other (they must follow one
 * another without gap or overlap to the end of the file, as the format says).
 */
#include "safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH_BYTES 8u
#define HEADER_BYTES_MAX (100u << 20) /* the format's own limit */

struct dllm_tensor_file {
    unsigned char *map; /* read only */
    size_t map_bytes;
    size_t data_offset; /* of the first tensor's bytes in the file */
    json_t *header;     /* owns the names */
    size_t count;
    dllm_tensor *tensors; /* in the order of their bytes */
};

/** Maps the file and finds where header and data lie. */
static bool map_file(dllm_tensor_file *file, const char *path, dllm_message *message)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return DLLM_REFUSE(message, "%s cannot be opened: %s", path, strerror(errno));
    struct stat facts;
    const bool regular = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
    void *map = MAP_FAILED;
    if (regular && (uintmax_t)facts.st_size > LENGTH_BYTES)
        map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int reason = errno;
    if (map != MAP_FAILED) {
        file->map = map;
        file->map_bytes = (size_t)facts.st_size;
    }
    if (close(descriptor) != 0 || !regular)
        return DLLM_REFUSE(message, "%s is not a regular file", path);
    if ((uintmax_t)facts.st_size <= LENGTH_BYTES)
        return DLLM_REFUSE(message, "%s has %jd bytes, too few for a safetensors file", path,
                           (intmax_t)facts.st_size);
    if (!file->map) return DLLM_REFUSE(message, "%s cannot be mapped: %s", path, strerror(reason));
    return true;
}

static bool read_header(dllm_tensor_file *file, const char *path, dllm_message *message)
{
    uint64_t header_bytes = 0;
    for (unsigned byte = 0; byte < LENGTH_BYTES; byte++)
        header_bytes |= (uint64_t)file->map[byte] << (8u * byte);
    if (header_bytes > HEADER_BYTES_MAX || header_bytes > file->map_bytes - LENGTH_BYTES)
        return DLLM_REFUSE(message,
                           "%s: header length %ju passes the end of the file (%zu bytes) or "
                           "the limit of %u bytes",
                           path, (uintmax_t)header_bytes, file->map_bytes, HEADER_BYTES_MAX);
    file->data_offset = LENGTH_BYTES + (size_t)header_bytes;
    json_error_t error;
    file->header = json_loadb((const char *)file->map + LENGTH_BYTES, (size_t)header_bytes,
                              JSON_REJECT_DUPLICATES, &error);
    if (!file->header) return DLLM_REFUSE(message, "%s: header is not JSON: %s", path, error.text);
    if (!json_is_object(file->header))
        return DLLM_REFUSE(message, "%s: header is not a JSON object", path);
    return true;
}

static bool read_type(dllm_tensor *tensor, const json_t *entry, dllm_message *message)
{
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    if (!name) return DLLM_REFUSE(message, "tensor %s has no dtype", tensor->name);
    for (int type = 0; type < DLLM_TENSOR_TYPES; type++) {
        if (strcmp(name, dllm_tensor_type_name((dllm_tensor_type)type)) != 0) continue;
        tensor->type = (dllm_tensor_type)type;
        return true;
    }
    return DLLM_REFUSE(message, "tensor %s has dtype %s, read are BF16, F16, F32, F64, I64",
                       tensor->name, name);
}

static bool read_shape(dllm_tensor *tensor, const json_t *entry, dllm_message *message)
{
    const json_t *shape = json_object_get(entry, "shape");
    const size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > DLLM_TENSOR_RANK_MAX)
        return DLLM_REFUSE(message, "tensor %s has no shape of at most %d numbers", tensor->name,
                           DLLM_TENSOR_RANK_MAX);
    tensor->rank = (int)rank;
    tensor->elements = 1;
    for (size_t axis = 0; axis < rank; axis++) {
        const json_t *extent = json_array_get(shape, axis);
        const int64_t value = json_is_integer(extent) ? json_integer_value(extent) : -1;
        if (value < 0)
            return DLLM_REFUSE(message,
                               "tensor %s: extent %zu of its shape is not a number "
                               "from 0 on",
                               tensor->name, axis);
        if (__builtin_mul_overflow(tensor->elements, value, &tensor->elements))
            return DLLM_REFUSE(message, "tensor %s has more than 2^63 elements", tensor->name);
        tensor->shape[axis] = value;
    }
    return true;
}

/** Finds the tensor's bytes; type and shape are known by now. */
static bool read_range(dllm_tensor *tensor, const dllm_tensor_file *file, const json_t *entry,
                       dllm_message *message)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *from = json_array_get(offsets, 0);
    const json_t *to = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to))
        return DLLM_REFUSE(message, "tensor %s has no two data_offsets", tensor->name);
    const int64_t begin = json_integer_value(from);
    const int64_t end = json_integer_value(to);
    const int64_t data_bytes = (int64_t)(file->map_bytes - file->data_offset);
    if (begin < 0 || end < begin || end > data_bytes)
        return DLLM_REFUSE(message,
                           "tensor %s: data_offsets %jd, %jd lie outside the %jd bytes of data",
                           tensor->name, (intmax_t)begin, (intmax_t)end, (intmax_t)data_bytes);
    const int64_t element_bytes = (int64_t)dllm_tensor_type_bytes(tensor->type);
    int64_t size_bytes;
    if (__builtin_mul_overflow(tensor->elements, element_bytes, &size_bytes) ||
        size_bytes != end - begin)
        return DLLM_REFUSE(message,
                           "tensor %s: data_offsets span %jd bytes, its shape has %jd elements "
                           "of %jd bytes",
                           tensor->name, (intmax_t)(end - begin), (intmax_t)tensor->elements,
                           (intmax_t)element_bytes);
    const size_t position = file->data_offset + (size_t)begin;
    if (position % (size_t)element_bytes != 0)
        return DLLM_REFUSE(message,
                           "tensor %s begins at byte %zu of the file, not at a multiple of its "
                           "element's %jd bytes",
                           tensor->name, position, (intmax_t)element_bytes);
    tensor->data = file->map + position;
    tensor->size_bytes = (size_t)size_bytes;
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const dllm_tensor *a = left;
    const dllm_tensor *b = right;
    if (a->data != b->data) return (uintptr_t)a->data < (uintptr_t)b->data ? -1 : 1;
    return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

/** The tensors must cover the data without gap or overlap: what is left over is a damaged file. */
static bool check_cover(const dllm_tensor_file *file, const char *path, dllm_message *message)
{
    const unsigned char *next = file->map + file->data_offset;
    for (size_t i = 0; i < file->count; i++) {
        const dllm_tensor *tensor = &file->tensors[i];
        if (tensor->data != next)
            return DLLM_REFUSE(message, "tensor %s does not begin where the one before it ends",
                               tensor->name);
        next += tensor->size_bytes;
    }
    const size_t left = (size_t)(file->map + file->map_bytes - next);
    if (left > 0)
        return DLLM_REFUSE(message, "%s: its last %zu bytes belong to no tensor", path, left);
    return true;
}

static bool read_tensors(dllm_tensor_file *file, const char *path, dllm_message *message)
{
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors) return DLLM_REFUSE(message, "out of memory");
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        dllm_tensor *tensor = &file->tensors[file->count];
        tensor->name = name;
        if (!read_type(tensor, entry, message) || !read_shape(tensor, entry, message) ||
            !read_range(tensor, file, entry, message))
            return false;
        file->count++;
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    return check_cover(file, path, message);
}

bool dllm_tensor_file_open(dllm_tensor_file **out, const char *path, dllm_message *message)
{
    dllm_tensor_file *file = calloc(1, sizeof *file);
    if (!file) return DLLM_REFUSE(message, "out of memory");
    if (!map_file(file, path, message) || !read_header(file, path, message) ||
        !read_tensors(file, path, message)) {
        dllm_tensor_file_close(file);
        return false;
    }
    *out = file;
    return true;
}

void dllm_tensor_file_close(dllm_tensor_file *file)
{
    if (!file) return;
    free(file->tensors);
    json_decref(file->header);
    if (file->map) {
        const int unmapped = munmap(file->map, file->map_bytes);
        assert(unmapped == 0);
        (void)unmapped;
    }
    free(file);
}

size_t dllm_tensor_file_count(const dllm_tensor_file *file)
{
    return file->count;
}

const dllm_tensor *dllm_tensor_file_find(const dllm_tensor_file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

/** "[4096, 256]"; a text that is cut still says enough. */
static void write_shape(char *out, size_t out_bytes, int rank, const int64_t *shape)
{
    size_t used = 0;
    for (int axis = 0; axis < rank && used < out_bytes; axis++) {
        const int written = snprintf(out + used, out_bytes - used, "%s%jd", axis ? ", " : "[",
                                     (intmax_t)shape[axis]);
        used += written > 0 ? (size_t)written : 0;
    }
    if (used >= out_bytes) return;
    if (snprintf(out + used, out_bytes - used, "%s", rank ? "]" : "[]") < 0) out[used] = '\0';
}

bool dllm_tensor_file_require(const dllm_tensor **out, const dllm_tensor_file *file,
                              const char *name, int rank, const int64_t *shape,
                              dllm_message *message)
{
    char wanted[96];
    write_shape(wanted, sizeof wanted, rank, shape);
    const dllm_tensor *tensor = dllm_tensor_file_find(file, name);
    if (!tensor)
        return DLLM_REFUSE(message, "tensor %s is missing, wanted with shape %s", name, wanted);
    const size_t shape_bytes = (size_t)rank * sizeof *shape;
    if (tensor->rank != rank || memcmp(tensor->shape, shape, shape_bytes) != 0) {
        char found[96];
        write_shape(found, sizeof found, tensor->rank, tensor->shape);
        return DLLM_REFUSE(message, "tensor %s has shape %s, wanted %s", name, found, wanted);
    }
    *out = tensor;
    return true;
}

void dllm_tensor_to_fp32(float *out, const dllm_tensor *tensor, int64_t first, int64_t count)
{
    assert(first >= 0);
    assert(count <= tensor->elements - first);
    dllm_tensor_type_convert(out, tensor->type, tensor->data, first, count);
}
