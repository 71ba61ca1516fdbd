/* fake_driver.c - every entry point of the table, on host memory */
#include "fake_driver_parts.h"

#include "sm90_params.h"
#include "status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    INVALID_VALUE = 1,
    INVALID_DEVICE = 101,
    ATTRIBUTES = 256,
    STACK_DEPTH = 16,
    FUNCTIONS_OF_MODULE = 4,
    FUNCTION_ATTRIBUTES = 16,
    NAME_BYTES = 64
};

struct CUfunc_st {
    char entry[NAME_BYTES];
    int attributes[FUNCTION_ATTRIBUTES];
};

struct CUmod_st {
    struct CUmod_st *next;
    struct CUfunc_st functions[FUNCTIONS_OF_MODULE];
};

/* In front of the memory that is handed out. */
typedef struct allocation {
    struct allocation *next;
    _Alignas(256) unsigned char memory[];
} allocation;

struct CUctx_st {
    int retained;
};

static const char *const symbols[] = {
#define CALL_SYMBOL(name, symbol, parameters) #symbol,
    DLLM_DRIVER_CALLS(CALL_SYMBOL)
#undef CALL_SYMBOL
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bool hidden;
    int calls;
    int calls_of[FAKE_CALL_COUNT];
    int fail_at; /* value of `calls` at which to fail */
    dllm_cu_result fail_code;
    int attributes[ATTRIBUTES];
    struct CUctx_st primary;
    struct CUmod_st *modules;
    allocation *allocations;
    fake_image_hook image_hook;
    void *image_user;
    fake_launch_hook launch_hook;
    void *launch_user;
    int launches;
    fake_launch_record last_launch;
} fake;

/* Current contexts are the thread's, as in the driver. */
static _Thread_local dllm_cu_context stack[STACK_DEPTH];
static _Thread_local int depth;

static dllm_cu_context current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

dllm_cu_result fake_enter(fake_call call)
{
    (void)pthread_mutex_lock(&lock);
    fake.calls++;
    fake.calls_of[call]++;
    return fake.calls == fake.fail_at ? fake.fail_code : DLLM_CU_SUCCESS;
}

dllm_cu_result fake_leave(dllm_cu_result result)
{
    (void)pthread_mutex_unlock(&lock);
    return result;
}

dllm_cu_result fake_enter_with_context(fake_call call)
{
    const dllm_cu_result result = fake_enter(call);
    return result == DLLM_CU_SUCCESS && !current() ? DLLM_CU_INVALID_CONTEXT : result;
}

/* ---- entry points, in the order of the table */

static dllm_cu_result fake_init(unsigned flags)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_init);
    return fake_leave(flags ? INVALID_VALUE : result);
}

static dllm_cu_result fake_driver_version(int *version)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_driver_version);
    if (result == DLLM_CU_SUCCESS) *version = 13000;
    return fake_leave(result);
}

static dllm_cu_result fake_error_name(dllm_cu_result result, const char **name)
{
    static const struct {
        dllm_cu_result code;
        const char *name;
    } names[] = {{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {DLLM_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {DLLM_CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
                 {DLLM_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {DLLM_CU_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                 {DLLM_CU_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
                 {DLLM_CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {DLLM_CU_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
                 {DLLM_CU_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code != result) continue;
        *name = names[i].name;
        return DLLM_CU_SUCCESS;
    }
    *name = NULL;
    return INVALID_VALUE;
}

static dllm_cu_result fake_device_count(int *count)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_count);
    if (result == DLLM_CU_SUCCESS) *count = 1;
    return fake_leave(result);
}

static dllm_cu_result fake_device_get(dllm_cu_device *device, int ordinal)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_get);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (ordinal != 0) return fake_leave(INVALID_DEVICE);
    *device = 0;
    return fake_leave(result);
}

static dllm_cu_result fake_device_name(char *name, int bytes, dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_name);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (device != 0 || bytes < NAME_BYTES) return fake_leave(INVALID_VALUE);
    memcpy(name, "Fake GPU", sizeof "Fake GPU");
    return fake_leave(result);
}

static dllm_cu_result fake_device_memory(size_t *bytes, dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_memory);
    if (result == DLLM_CU_SUCCESS) *bytes = (size_t)80 << 30;
    return fake_leave(device ? INVALID_DEVICE : result);
}

static dllm_cu_result fake_device_uuid(dllm_cu_uuid *uuid, dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_uuid);
    if (result == DLLM_CU_SUCCESS) memset(uuid, 0x5a, sizeof *uuid);
    return fake_leave(device ? INVALID_DEVICE : result);
}

static dllm_cu_result fake_device_attribute(int *value, int attribute, dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_device_attribute);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (device != 0 || attribute < 0 || attribute >= ATTRIBUTES) return fake_leave(INVALID_VALUE);
    *value = fake.attributes[attribute];
    return fake_leave(result);
}

static dllm_cu_result fake_primary_retain(dllm_cu_context *context, dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_primary_retain);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (device != 0) return fake_leave(INVALID_DEVICE);
    fake.primary.retained++;
    *context = &fake.primary;
    return fake_leave(result);
}

static dllm_cu_result fake_primary_release(dllm_cu_device device)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_primary_release);
    if (device != 0 || fake.primary.retained == 0) return fake_leave(INVALID_DEVICE);
    fake.primary.retained--;
    return fake_leave(result);
}

static dllm_cu_result fake_context_current(dllm_cu_context *context)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_context_current);
    if (result == DLLM_CU_SUCCESS) *context = current();
    return fake_leave(result);
}

static dllm_cu_result fake_context_device(dllm_cu_device *device)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_context_device);
    if (result == DLLM_CU_SUCCESS) *device = 0;
    return fake_leave(result);
}

static dllm_cu_result fake_context_push(dllm_cu_context context)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_context_push);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (context != &fake.primary || depth == STACK_DEPTH)
        return fake_leave(DLLM_CU_INVALID_CONTEXT);
    stack[depth++] = context;
    return fake_leave(result);
}

static dllm_cu_result fake_context_pop(dllm_cu_context *context)
{
    const dllm_cu_result result = fake_enter(FAKE_CALL_context_pop);
    if (depth == 0) return fake_leave(DLLM_CU_INVALID_CONTEXT);
    depth--;
    if (context) *context = stack[depth];
    return fake_leave(result);
}

static dllm_cu_result fake_module_load(dllm_cu_module *module, const void *image)
{
    dllm_cu_result result = fake_enter_with_context(FAKE_CALL_module_load);
    if (result == DLLM_CU_SUCCESS && fake.image_hook)
        result = fake.image_hook(fake.image_user, image);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    struct CUmod_st *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return fake_leave(DLLM_CU_OUT_OF_MEMORY);
    loaded->next = fake.modules;
    fake.modules = loaded;
    *module = loaded;
    return fake_leave(result);
}

static dllm_cu_result fake_module_unload(dllm_cu_module module)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_module_unload);
    struct CUmod_st **at = &fake.modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (!*at) return fake_leave(INVALID_VALUE);
    *at = module->next;
    free(module);
    return fake_leave(result);
}

static dllm_cu_result fake_module_function(dllm_cu_function *function, dllm_cu_module module,
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

static dllm_cu_result fake_function_attribute(int *value, int attribute, dllm_cu_function function)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_function_attribute);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (attribute < 0 || attribute >= FUNCTION_ATTRIBUTES) return fake_leave(INVALID_VALUE);
    *value = function->attributes[attribute];
    return fake_leave(result);
}

static dllm_cu_result fake_function_set_attribute(dllm_cu_function function, int attribute,
                                                  int value)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_function_set_attribute);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (attribute != DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES || value < 0 ||
        value > fake.attributes[DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN])
        return fake_leave(INVALID_VALUE);
    function->attributes[attribute] = value;
    return fake_leave(result);
}

static dllm_cu_result fake_memory_allocate(dllm_cu_pointer *pointer, size_t bytes)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_allocate);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    if (bytes == 0) return fake_leave(INVALID_VALUE);
    const size_t whole = (sizeof(allocation) + bytes + 255) / 256 * 256;
    allocation *made = bytes < whole ? aligned_alloc(256, whole) : NULL;
    if (!made) return fake_leave(DLLM_CU_OUT_OF_MEMORY);
    made->next = fake.allocations;
    fake.allocations = made;
    *pointer = (dllm_cu_pointer)(uintptr_t)made->memory;
    return fake_leave(result);
}

static dllm_cu_result fake_memory_free(dllm_cu_pointer pointer)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_memory_free);
    allocation **at = &fake.allocations;
    while (*at && (dllm_cu_pointer)(uintptr_t)(*at)->memory != pointer)
        at = &(*at)->next;
    if (!*at) return fake_leave(INVALID_VALUE);
    allocation *found = *at;
    *at = found->next;
    free(found);
    return fake_leave(result);
}

static bool is_sized(const dllm_cu_launch_config *config)
{
    return config->grid_x && config->grid_y && config->grid_z && config->grid_y <= 65535 &&
           config->grid_z <= 65535 && config->block_x && config->block_y && config->block_z &&
           config->block_x * config->block_y * config->block_z <= 1024;
}

static dllm_cu_result fake_launch(const dllm_cu_launch_config *config, dllm_cu_function function,
                                  void **parameters, void **extra)
{
    const dllm_cu_result result = fake_enter_with_context(FAKE_CALL_launch);
    if (result != DLLM_CU_SUCCESS) return fake_leave(result);
    const int limit = function->attributes[DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES];
    if (!is_sized(config) || extra ||
        config->shared_bytes > (unsigned)(limit > 48 << 10 ? limit : 48 << 10))
        return fake_leave(INVALID_VALUE);
    fake.last_launch =
        (fake_launch_record){.entry = function->entry,
                             .grid = {config->grid_x, config->grid_y, config->grid_z},
                             .block = {config->block_x, config->block_y, config->block_z},
                             .shared_bytes = config->shared_bytes,
                             .stream = config->stream,
                             .dependent = config->attribute_count == 1,
                             .parameters = parameters};
    fake.launches++;
    /* a captured launch does nothing yet */
    if (!fake_timeline_launch(&fake.last_launch) && fake.launch_hook)
        fake.launch_hook(fake.launch_user, &fake.last_launch);
    fake.last_launch.parameters = NULL;
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
static dllm_cu_result fake_tensor_map(dllm_tensor_map *map, int type, uint32_t rank, void *base,
                                      const uint64_t *extents, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *element_strides,
                                      int interleave, int swizzle, int promotion, int fill)
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

static void fill_table(dllm_driver *out)
{
    out->library = &fake;
#define FILL_SLOT(name, symbol, parameters) out->name = fake_##name;
    DLLM_DRIVER_CALLS(FILL_SLOT)
#undef FILL_SLOT
}

/* ---- what tests call */

void fake_driver_start(dllm_driver *out)
{
    (void)pthread_mutex_lock(&lock);
    while (fake.modules) {
        struct CUmod_st *next = fake.modules->next;
        free(fake.modules);
        fake.modules = next;
    }
    while (fake.allocations) {
        allocation *next = fake.allocations->next;
        free(fake.allocations);
        fake.allocations = next;
    }
    fake_timeline_start();
    memset(&fake, 0, sizeof fake);
    depth = 0;
    fake.attributes[DLLM_CU_ATTRIBUTE_MAJOR] = 9;
    fake.attributes[DLLM_CU_ATTRIBUTE_MINOR] = 0;
    fake.attributes[DLLM_CU_ATTRIBUTE_MULTIPROCESSORS] = 132;
    fake.attributes[DLLM_CU_ATTRIBUTE_L2_BYTES] = 50 << 20;
    fake.attributes[DLLM_CU_ATTRIBUTE_CLOCK_KHZ] = 1980000;
    fake.attributes[DLLM_CU_ATTRIBUTE_MEMORY_CLOCK_KHZ] = 3201000;
    fake.attributes[DLLM_CU_ATTRIBUTE_MEMORY_BUS_BITS] = 6144;
    fake.attributes[DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN] = 227 << 10;
    (void)pthread_mutex_unlock(&lock);
    fill_table(out);
}

void fake_driver_fail_call(int n, dllm_cu_result code)
{
    (void)pthread_mutex_lock(&lock);
    fake.fail_at = n > 0 ? fake.calls + n : 0;
    fake.fail_code = code;
    (void)pthread_mutex_unlock(&lock);
}

int fake_driver_calls(void)
{
    (void)pthread_mutex_lock(&lock);
    const int calls = fake.calls;
    (void)pthread_mutex_unlock(&lock);
    return calls;
}

int fake_driver_calls_of(const char *symbol)
{
    int calls = -1; /* no such entry point */
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < FAKE_CALL_COUNT; i++)
        if (strcmp(symbols[i], symbol) == 0) calls = fake.calls_of[i];
    (void)pthread_mutex_unlock(&lock);
    return calls;
}

int fake_driver_live(void)
{
    (void)pthread_mutex_lock(&lock);
    int live = fake.primary.retained;
    for (const struct CUmod_st *m = fake.modules; m; m = m->next)
        live++;
    for (const allocation *a = fake.allocations; a; a = a->next)
        live++;
    live += fake_timeline_live();
    (void)pthread_mutex_unlock(&lock);
    return live;
}

void fake_driver_enter(void)
{
    if (depth < STACK_DEPTH) stack[depth++] = &fake.primary;
}

void fake_driver_leave(void)
{
    if (depth > 0) depth--;
}

void fake_driver_set_attribute(int attribute, int value)
{
    if (attribute >= 0 && attribute < ATTRIBUTES) fake.attributes[attribute] = value;
}

void fake_driver_on_image(fake_image_hook hook, void *user)
{
    fake.image_hook = hook;
    fake.image_user = user;
}

void fake_driver_on_launch(fake_launch_hook hook, void *user)
{
    fake.launch_hook = hook;
    fake.launch_user = user;
}

int fake_driver_launches(void)
{
    return fake.launches;
}

fake_launch_record fake_driver_last_launch(void)
{
    return fake.last_launch;
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

dllm_status __wrap_dllm__driver_open(dllm_driver *out)
{
    if (fake.hidden)
        return dllm__fail(DLLM_LIBRARY_MISSING, "the CUDA driver cannot be opened: it is hidden");
    fill_table(out);
    return dllm__driver_check(out, out->init(0), "cuInit");
}

void fake_driver_hide(void)
{
    fake.hidden = true;
}
