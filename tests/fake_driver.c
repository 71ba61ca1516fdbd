/* fake_driver.c - the table of the fake driver, and of its entry points devices, contexts and memory */
#include "fake_driver_parts.h"

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
    NAME_BYTES = 64
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
    allocation *allocations;
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

int fake_attribute(int attribute)
{
    return fake.attributes[attribute];
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
    while (fake.allocations) {
        allocation *next = fake.allocations->next;
        free(fake.allocations);
        fake.allocations = next;
    }
    fake_kernels_start();
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
    fake.attributes[DLLM_CU_ATTRIBUTE_CLUSTER_LAUNCH] = 1;
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
    for (const allocation *a = fake.allocations; a; a = a->next)
        live++;
    live += fake_kernels_live() + fake_timeline_live();
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
