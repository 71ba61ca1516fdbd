/* driver.c - libcuda opened once and for good, and its result codes in words */
#include "driver.h"

#include "status.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const char library_name[] = "libcuda.so.1";

/* What a user may meet and can act on. */
static const struct {
    dllm_cu_result code;
    const char *words;
} code_words[] = {
    {DLLM_CU_NO_DEVICE, "no GPU is visible to this process"},
    {DLLM_CU_INVALID_IMAGE, "the driver cannot read this kernel's binary"},
    {DLLM_CU_NO_BINARY_FOR_GPU, "the kernel was compiled for another architecture"},
    {DLLM_CU_INVALID_PTX, "the driver cannot compile this kernel's assembly"},
    {DLLM_CU_NO_JIT_COMPILER, "the driver's own compiler library is missing"},
    {DLLM_CU_UNSUPPORTED_PTX, "the kernel's compiler is newer than the driver: update the driver"},
    {DLLM_CU_INVALID_SOURCE, "the driver takes the kernel for no device code"},
    {DLLM_CU_NOT_PERMITTED, "refused, most likely by a stream capture in progress"},
    {DLLM_CU_DRIVER_MISMATCH, "the driver's library and kernel module differ in version: reboot"},
    {DLLM_CU_COMPAT_UNSUPPORTED, "forward compatibility is not supported on this GPU"},
    {DLLM_CU_CAPTURE_UNSUPPORTED, "not possible while a stream is being captured"},
};

static const char *words_of(dllm_cu_result result)
{
    for (size_t i = 0; i < sizeof code_words / sizeof code_words[0]; i++)
        if (code_words[i].code == result) return code_words[i].words;
    return NULL;
}

static dllm_status status_of(dllm_cu_result result)
{
    switch (result) {
    case DLLM_CU_OUT_OF_MEMORY:
        return DLLM_OUT_OF_MEMORY;
    case DLLM_CU_NOT_PERMITTED:
    case DLLM_CU_CAPTURE_UNSUPPORTED:
        return DLLM_CAPTURING;
    default:
        return DLLM_DRIVER_FAILED;
    }
}

static const struct {
    const char *symbol;
    size_t slot; /* where its pointer goes */
} entry_points[] = {
#define ENTRY_POINT(name, symbol, parameters) {#symbol, offsetof(dllm_driver, name)},
    DLLM_DRIVER_CALLS(ENTRY_POINT)
#undef ENTRY_POINT
};

/* The slots are pointers to functions and dlsym returns a pointer to an object; ISO C converts the
   one to the other through their bytes alone. */
static dllm_status fill_table(dllm_driver *driver)
{
    for (size_t i = 0; i < sizeof entry_points / sizeof entry_points[0]; i++) {
        void *address = dlsym(driver->library, entry_points[i].symbol);
        if (!address)
            return dllm__fail(DLLM_LIBRARY_MISSING,
                              "%s has no entry point %s: the driver is too old", library_name,
                              entry_points[i].symbol);
        memcpy((char *)driver + entry_points[i].slot, &address, sizeof address);
    }
    return DLLM_OK;
}

dllm_status dllm__driver_open(dllm_driver *out)
{
    dllm_driver driver = {0};
    /* never closed: the driver keeps threads and thread-local data that do not survive an unload */
    driver.library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!driver.library)
        return dllm__fail(DLLM_LIBRARY_MISSING, "the CUDA driver cannot be opened: %s", dlerror());
    DLLM_TRY(fill_table(&driver));
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): fill_table has set every slot */
    DLLM_TRY(dllm__driver_check(&driver, driver.init(0), "cuInit"));
    *out = driver;
    return DLLM_OK;
}

dllm_status dllm__driver_check(const dllm_driver *driver, dllm_cu_result result, const char *call)
{
    if (result == DLLM_CU_SUCCESS) return DLLM_OK;
    const char *name = NULL;
    if (driver->error_name(result, &name) != DLLM_CU_SUCCESS || !name) name = "unknown error";
    const char *words = words_of(result);
    return dllm__fail(status_of(result), "%s failed with %d %s%s%s", call, result, name,
                      words ? ": " : "", words ? words : "");
}
