/* cublas.c - opens cublasLt and fills its table */
#include "cublas.h"

#include "status.h"

#include <dlfcn.h>
#include <string.h>

/* Fills one slot of a table of function pointers; ISO C has no cast from dlsym's result. */
static dllm_status fill(void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);
    if (!found)
        return dllm__fail(DLLM_LIBRARY_MISSING, "libcublasLt lacks the entry point %s", symbol);
    memcpy(slot, &found, sizeof found);
    return DLLM_OK;
}

dllm_status dllm__cublas_open(dllm_cublas *out)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    dllm_cublas table = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !table.library; i++)
        table.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!table.library)
        return dllm__fail(DLLM_LIBRARY_MISSING,
                          "cuBLAS is missing: looked for libcublasLt.so.13 and libcublasLt.so.12");
    DLLM_TRY(fill(table.library, "cublasLtGetVersion", &table.version));
#define FILL(name, symbol, parameters) DLLM_TRY(fill(table.library, #symbol, &table.name));
    DLLM_CUBLAS_CALLS(FILL)
#undef FILL
    *out = table;
    return DLLM_OK;
}
