/*
 * context.c - makes and releases a context
 */
#include "context.h"

#include "argument.h"
#include "status.h"
#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The processor's name as the kernel tells it, "cpu" where it does not. */
static void cpu_name(char *out, size_t size)
{
    static const char key[] = "model name";
    char line[256];
    (void)snprintf(out, size, "cpu");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, key, sizeof key - 1) != 0 || !value) continue;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(out, size, "%s", value + strspn(value, ": \t"));
        break;
    }
    (void)fclose(file);
}

static dllm_status open_cpu(dllm_context *context, int threads)
{
    DLLM_TRY(dllm__cpu_pool_create(&context->pool, threads));
    context->device = (dllm_device){
        .arch = "cpu", .is_cpu = true, .multiprocessors = dllm__cpu_pool_threads(context->pool)};
    cpu_name(context->device.name, sizeof context->device.name);
    return DLLM_OK;
}

/* Takes the device's primary context, or the one that is current. */
static dllm_status take_cuda_context(dllm_context *context, int device)
{
    const dllm_driver *driver = &context->driver;
    if (device == DLLM_DEVICE_CURRENT) {
        DLLM_TRY(
            dllm__driver_check(driver, driver->context_current(&context->cuda), "cuCtxGetCurrent"));
        if (!context->cuda)
            return dllm__fail(
                DLLM_INVALID_ARGUMENT,
                "device DLLM_DEVICE_CURRENT: no CUDA context is current in this thread");
        return dllm__driver_check(driver, driver->context_device(&context->ordinal),
                                  "cuCtxGetDevice");
    }
    int count = 0;
    DLLM_TRY(dllm__driver_check(driver, driver->device_count(&count), "cuDeviceGetCount"));
    if (device >= count)
        return dllm__fail(DLLM_DRIVER_FAILED, "device %d: the driver shows %d device%s", device,
                          count, count == 1 ? "" : "s");
    DLLM_TRY(
        dllm__driver_check(driver, driver->device_get(&context->ordinal, device), "cuDeviceGet"));
    DLLM_TRY(dllm__driver_check(driver, driver->primary_retain(&context->cuda, context->ordinal),
                                "cuDevicePrimaryCtxRetain"));
    context->retained = true;
    return DLLM_OK;
}

static dllm_status read_attributes(dllm_context *context)
{
    const dllm_driver *driver = &context->driver;
    dllm_device *device = &context->device;
    int major = 0, minor = 0, l2_bytes = 0, clock_khz = 0, memory_khz = 0, bus_bits = 0;
    const struct {
        int attribute;
        int *value;
    } facts[] = {
        {DLLM_CU_ATTRIBUTE_MAJOR, &major},
        {DLLM_CU_ATTRIBUTE_MINOR, &minor},
        {DLLM_CU_ATTRIBUTE_L2_BYTES, &l2_bytes},
        {DLLM_CU_ATTRIBUTE_CLOCK_KHZ, &clock_khz},
        {DLLM_CU_ATTRIBUTE_MEMORY_CLOCK_KHZ, &memory_khz},
        {DLLM_CU_ATTRIBUTE_MEMORY_BUS_BITS, &bus_bits},
        {DLLM_CU_ATTRIBUTE_MULTIPROCESSORS, &device->multiprocessors},
        {DLLM_CU_ATTRIBUTE_SHARED_BYTES_OPTIN, &device->shared_bytes_max},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        DLLM_TRY(dllm__driver_check(
            driver, driver->device_attribute(facts[i].value, facts[i].attribute, context->ordinal),
            "cuDeviceGetAttribute"));
    device->compute = 10 * major + minor;
    device->l2_bytes = l2_bytes;
    device->clock_mhz = clock_khz / 1000;
    device->memory_clock_mhz = memory_khz / 1000;
    /* two transfers a clock */
    device->memory_bytes_a_ns = (int)((int64_t)memory_khz * 2 * bus_bits / 8 / 1000000);
    device->products_a_clock = dllm__tensor_products(device->compute);
    return DLLM_OK;
}

/* Older drivers do not know the question. */
static dllm_status read_clusters(dllm_context *context)
{
    int clusters = 0;
    if (context->device.compute < 90) return DLLM_OK;
    DLLM_TRY(dllm__driver_check(&context->driver,
                                context->driver.device_attribute(
                                    &clusters, DLLM_CU_ATTRIBUTE_CLUSTER_LAUNCH, context->ordinal),
                                "cuDeviceGetAttribute"));
    context->device.clusters = clusters != 0;
    return DLLM_OK;
}

static dllm_status read_uuid(dllm_context *context)
{
    dllm_cu_uuid uuid;
    char *out = context->device.uuid;
    DLLM_TRY(dllm__driver_check(
        &context->driver, context->driver.device_uuid(&uuid, context->ordinal), "cuDeviceGetUuid"));
    for (size_t i = 0; i < sizeof uuid.bytes; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", (unsigned)(unsigned char)uuid.bytes[i]);
    return DLLM_OK;
}

static dllm_status read_device(dllm_context *context)
{
    const dllm_driver *driver = &context->driver;
    dllm_device *device = &context->device;
    size_t memory_bytes = 0;
    DLLM_TRY(read_attributes(context));
    DLLM_TRY(read_clusters(context));
    DLLM_TRY(read_uuid(context));
    DLLM_TRY(dllm__driver_check(driver, driver->device_memory(&memory_bytes, context->ordinal),
                                "cuDeviceTotalMem"));
    DLLM_TRY(dllm__driver_check(
        driver, driver->device_name(device->name, sizeof device->name, context->ordinal),
        "cuDeviceGetName"));
    DLLM_TRY(dllm__driver_check(driver, driver->driver_version(&device->driver_version),
                                "cuDriverGetVersion"));
    device->memory_bytes = (int64_t)memory_bytes;
    device->dependent_launch = device->compute >= 90 && device->driver_version >= 12030;
    dllm__arch_name(device->arch, device->compute);
    if (device->compute < 75)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "%s has compute capability %d.%d, at least 7.5 is needed", device->name,
                          device->compute / 10, device->compute % 10);
    return DLLM_OK;
}

static dllm_status open_cuda(dllm_context *context, int device)
{
    DLLM_TRY(dllm__driver_open(&context->driver));
    DLLM_TRY(take_cuda_context(context, device));
    DLLM_TRY(read_device(context));
    DLLM_TRY(dllm__tuned_list_create(&context->tuned));
    return dllm__kernel_cache_create(&context->kernels, &context->driver, &context->log);
}

dllm_status dllm_context_create(dllm_context **out, const dllm_context_options *options)
{
    static const dllm_context_options defaults = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_context_options taken;
    dllm__clear_error();
    if (!out) return dllm__fail(DLLM_INVALID_ARGUMENT, "out is NULL");
    DLLM_TRY(dllm__take_struct(&taken, sizeof taken, options ? options : &defaults, "options"));
    DLLM_TRY(dllm__check_range("device", taken.device, DLLM_DEVICE_CURRENT, INT32_MAX));
    DLLM_TRY(dllm__check_range("threads", taken.threads, 0, DLLM_CPU_THREADS_MAX));
    dllm_context *created = calloc(1, sizeof *created);
    if (!created) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a context");
    created->log = (dllm_log){taken.log, taken.log_user};
    dllm_status status = DLLM_OUT_OF_MEMORY;
    if (pthread_mutex_init(&created->cublas_lock, NULL) != 0) {
        free(created);
        return dllm__fail(status, "no memory for a lock");
    }
    status = taken.device == DLLM_DEVICE_CPU ? open_cpu(created, taken.threads)
                                             : open_cuda(created, taken.device);
    if (status == DLLM_OK)
        *out = created;
    else
        dllm_context_destroy(created);
    return status;
}

void dllm_context_destroy(dllm_context *context)
{
    if (!context) return;
    if (context->cuda && context->driver.context_push(context->cuda) == DLLM_CU_SUCCESS) {
        if (context->blas) (void)context->cublas.destroy(context->blas);
        dllm__kernel_cache_destroy(context->kernels);
        dllm__context_leave(context);
    }
    if (context->retained) (void)context->driver.primary_release(context->ordinal);
    dllm__tuned_list_destroy(context->tuned);
    dllm__cpu_pool_destroy(context->pool);
    (void)pthread_mutex_destroy(&context->cublas_lock);
    free(context);
}

dllm_status dllm__context_cublas(dllm_context *context)
{
    dllm_status status = DLLM_OK;
    (void)pthread_mutex_lock(&context->cublas_lock);
    if (!context->blas) {
        status = dllm__cublas_open(&context->cublas);
        if (status == DLLM_OK && context->cublas.create(&context->blas) != 0) {
            context->blas = NULL;
            status = dllm__fail(DLLM_DRIVER_FAILED, "cublasLtCreate failed");
        }
    }
    (void)pthread_mutex_unlock(&context->cublas_lock);
    return status;
}

dllm_status dllm__context_enter(const dllm_context *context)
{
    if (!context->cuda) return DLLM_OK;
    return dllm__driver_check(&context->driver, context->driver.context_push(context->cuda),
                              "cuCtxPushCurrent");
}

void dllm__context_leave(const dllm_context *context)
{
    dllm_cu_context popped;
    if (context->cuda) (void)context->driver.context_pop(&popped);
}

dllm_status dllm_context_statistics(const dllm_context *context, dllm_statistics *out)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    dllm__clear_error();
    if (!context) return dllm__fail(DLLM_INVALID_ARGUMENT, "context is NULL");
    if (context->kernels) dllm__kernel_cache_statistics(context->kernels, &statistics);
    statistics.measurements = atomic_load(&context->measurements);
    return dllm__give_struct(out, &statistics, sizeof statistics);
}

dllm_status dllm_context_device(const dllm_context *context, dllm_device_info *out)
{
    dllm_device_info info = DLLM_DEVICE_INFO_INIT;
    dllm__clear_error();
    if (!context) return dllm__fail(DLLM_INVALID_ARGUMENT, "context is NULL");
    memcpy(info.name, context->device.name, sizeof info.name);
    memcpy(info.arch, context->device.arch, sizeof info.arch);
    info.multiprocessors = context->device.multiprocessors;
    info.driver_version = context->device.driver_version;
    info.memory_bytes = context->device.memory_bytes;
    return dllm__give_struct(out, &info, sizeof info);
}
