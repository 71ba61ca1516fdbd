/* cublas.c - opens cublasLt and fills its table */
#include "cublas.h"

#include "status.h"

#include <dlfcn.h>
#include <string.h>

/* Fills the slots; ISO C has no cast from dlsym's result, so it is copied. */
static dllm_status fill(dllm_cublas *table)
{
#define ROW(name, symbol, parameters) {#symbol, &table->name},
    const struct {
        const char *symbol;
        void *slot;
    } rows[] = {{"cublasLtGetVersion", &table->version}, DLLM_CUBLAS_CALLS(ROW)};
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *found = dlsym(table->library, rows[i].symbol);
        if (!found)
            return dllm__fail(DLLM_LIBRARY_MISSING, "libcublasLt lacks the entry point %s",
                              rows[i].symbol);
        memcpy(rows[i].slot, &found, sizeof found);
    }
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
    const dllm_status status = fill(&table);
    if (status == DLLM_OK)
        *out = table;
    else
        (void)dlclose(table.library);
    return status;
}
