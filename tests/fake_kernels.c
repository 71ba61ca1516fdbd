/* fake_kernels.c - modules, functions, launches and tensor maps of the fake driver */
#include "fake_driver_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, FUNCTIONS_OF_MODULE = 4, FUNCTION_ATTRIBUTES = 16, NAME_BYTES = 64 };

struct CUfunc_st {
    char entry[NAME_BYTES];
    int attributes[FUNCTION_ATTRIBUTES];
};

struct CUmod_st {
    struct CUmod_st *next;
    struct CUfunc_st functions[FUNCTIONS_OF_MODULE];
};

static struct {
    struct CUmod_st *modules;
    fake_image_hook image_hook;
    void *image_user;
    fake_launch_hook launch_hook;
    void *launch_user;
    int launches;
    fake_launch_record last_launch;
} kernels;

void fake_kernels_start(void)
{
    while (kernels.modules) {
        struct CUmod_st *next = kernels.modules->next;
        free(kernels.modules);
        kernels.modules = next;
    }
    memset(&kernels, 0, sizeof kernels);
}

int fake_kernels_live(void)
{
    int live = 0;
    for (const struct CUmod_st *m = kernels.modules; m; m = m->next)
        live++;
    return live;
}

/* ---- entry points */

dllm_cu_result fake_module_load(dllm_cu_module *module, const void *image)
{
    dllm_cu_result result = fake_enter_with_context(FAKE_CALL_module_load);
    if (result == DLLM_CU_SUCCESS && kernels.image_hook)
        result = kernels.image_hook(kernels.image_user, image);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    struct CUmod_st *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return fake_leave(DLLM_CU_OUT_OF_MEMORY);
    loaded->next = kernels.modules;
    kernels.modules = loaded;
    *module = loaded;
    return fake_leave(result);
}

dllm_cu_result fake_module_unload(dllm_cu_module module)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_module_unload);
    struct CUmod_st **at = &kernels.modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (!*at) return fake_leave(INVALID_VALUE);
    *at = module->next;
    free(module);
    return fake_leave(result);
}

dllm_cu_result fake_module_function(dllm_cu_function *function, dllm_cu_module module,
                                    const char *entry)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_module_function);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (strlen(entry) >= NAME_BYTES) return fake_leave(DLLM_CU_NOT_FOUND);
    for (int i = 0; i < FUNCTIONS_OF_MODULE; i++) {
        struct CUfunc_st *slot = &module->functions[i];
        if (slot->entry[0] && strcmp(slot->entry, entry) != 0) continue;
        memcpy(slot->entry, entry, strlen(entry) + 1);
        *function = slot;
        return fake_leave(result);
    }
    return fake_leave(DLLM_CU_NOT_FOUND);
}

dllm_cu_result fake_function_attribute(int *value, int attribute, dllm_cu_function function)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_function_attribute);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (attribute < 0 || attribute >= FUNCTION_ATTRIBUTES) return fake_leave(INVALID_VALUE);
    *value = function->attributes[attribute];
    return fake_leave(result);
}

dllm_cu_result fake_function_set_attribute(dllm_cu_function function, int attribute, int value)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_function_set_attribute);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (attribute != DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES || value < 0 ||
        value > fake_attribute(DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN))
        return fake_leave(INVALID_VALUE);
    function->attributes[attribute] = value;
    return fake_leave(result);
}

static bool is_sized(const dllm_cu_launch_config *config)
{
    return config->grid_x && config->grid_y && config->grid_z && config->grid_y <= 65535 &&
           config->grid_z <= 65535 && config->block_x && config->block_y && config->block_z &&
           config->block_x * config->block_y * config->block_z <= 1024;
}

/* Value of a launch attribute, 0 where it is not set. */
static unsigned launch_attribute(const dllm_cu_launch_config *config, int id)
{
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const dllm_cu_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id != id) continue;
        return id == DLLM_CU_LAUNCH_CLUSTER_DIMENSION ? attribute->value.cluster.x
                                                      : (unsigned)attribute->value.on;
    }
    return 0;
}

dllm_cu_result fake_launch(const dllm_cu_launch_config *config, dllm_cu_function function,
                           void **parameters, void **extra)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_launch);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    const int limit = function->attributes[DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES];
    const unsigned cluster = launch_attribute(config, DLLM_CU_LAUNCH_CLUSTER_DIMENSION);
    if (!is_sized(config) || extra || cluster > 8 || (cluster && config->grid_x % cluster) ||
        config->shared_bytes > (unsigned)(limit > 48 << 10 ? limit : 48 << 10))
        return fake_leave(INVALID_VALUE);
    kernels.last_launch = (fake_launch_record){
        .entry = function->entry,
        .grid = {config->grid_x, config->grid_y, config->grid_z},
        .block = {config->block_x, config->block_y, config->block_z},
        .shared_bytes = config->shared_bytes,
        .stream = config->stream,
        .dependent = launch_attribute(config, DLLM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION),
        .cluster = cluster,
        .parameters = parameters};
    kernels.launches++;
    /* a captured launch does nothing yet */
    if (!fake_timeline_launch(&kernels.last_launch) && kernels.launch_hook)
        kernels.launch_hook(kernels.launch_user, &kernels.last_launch);
    kernels.last_launch.parameters = NULL;
    return fake_leave(result);
}

/* The rules of cuTensorMapEncodeTiled for a matrix of 16-bit elements under the 128-byte swizzle. */
static bool is_encodable(const fake_tensor *tensor)
{
    return tensor->base % 16 == 0 && tensor->stride_bytes % 16 == 0 &&
           tensor->stride_bytes < (uint64_t)1 << 40 && tensor->columns > 0 && tensor->rows > 0 &&
           tensor->columns <= (uint64_t)1 << 32 && tensor->rows <= (uint64_t)1 << 32 &&
           tensor->box_columns > 0 && tensor->box_columns <= 64 && tensor->box_rows > 0 &&
           tensor->box_rows <= 256;
}

/* NOLINTNEXTLINE(readability-function-size): the driver's own twelve parameters */
dllm_cu_result fake_tensor_map(dllm_tensor_map *map, int type, uint32_t rank, void *base,
                               const uint64_t *extents, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *element_strides, int interleave,
                               int swizzle, int promotion, int fill)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_tensor_map);
    const fake_tensor tensor = {.base = (uint64_t)(uintptr_t)base,
                                .columns = extents[0],
                                .rows = extents[1],
                                .stride_bytes = strides[0],
                                .box_columns = box[0],
                                .box_rows = box[1],
                                .type = type,
                                .swizzle = swizzle,
                                .promotion = promotion};
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (rank != 2 || element_strides[0] != 1 || element_strides[1] != 1 || interleave || fill ||
        swizzle != DLLM_CU_TENSOR_SWIZZLE_128 || !is_encodable(&tensor))
        return fake_leave(INVALID_VALUE);
    memcpy(map, &tensor, sizeof tensor);
    return fake_leave(result);
}

/* ---- what tests call */

void fake_driver_on_image(fake_image_hook hook, void *user)
{
    kernels.image_hook = hook;
    kernels.image_user = user;
}

void fake_driver_on_launch(fake_launch_hook hook, void *user)
{
    kernels.launch_hook = hook;
    kernels.launch_user = user;
}

int fake_driver_launches(void)
{
    return kernels.launches;
}

fake_launch_record fake_driver_last_launch(void)
{
    return kernels.last_launch;
}

fake_tensor fake_driver_tensor(const dllm_tensor_map *map)
{
    fake_tensor tensor;
    memcpy(&tensor, map, sizeof tensor);
    return tensor;
}

int fake_driver_shared_limit(dllm_cu_function function)
{
    return function->attributes[DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES];
}
