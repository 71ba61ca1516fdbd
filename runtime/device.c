/* device.c - names of architectures and typical devices */
#include "device.h"

#include "status.h"

#include <stdio.h>
#include <string.h>

void dllm__arch_name(char out[16], int compute)
{
    (void)snprintf(out, 16, "sm_%d%s", compute, compute == 90 ? "a" : "");
}

int dllm__tensor_products(int compute)
{
    static const struct {
        int compute, products;
    } table[] = {{75, 512}, {80, 1024}, {86, 512},   {87, 512},  {88, 512},
                 {89, 512}, {90, 2048}, {100, 4096}, {103, 4096}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].compute == compute) return table[i].products;
    return 512; /* what a desktop card has */
}

dllm_status dllm__device_typical(dllm_device *out, const char *arch)
{
    static const struct {
        int compute, multiprocessors, shared_bytes_max;
        int64_t l2_bytes;
        int clock_mhz, memory_bytes_a_ns;
    } table[] = {
        {75, 40, 65536, 4 << 20, 1590, 320},       /* T4 */
        {80, 108, 166912, 40 << 20, 1410, 1555},   /* A100 */
        {86, 84, 101376, 6 << 20, 1695, 936},      /* RTX 3090, A10 */
        {89, 142, 101376, 96 << 20, 2490, 864},    /* L40 */
        {90, 132, 232448, 50 << 20, 1980, 4800},   /* H100, H200 */
        {100, 148, 232448, 126 << 20, 1965, 8000}, /* B200 */
        {120, 170, 101376, 96 << 20, 2407, 1792},  /* RTX 5090 */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char name[16];
        dllm__arch_name(name, table[i].compute);
        if (strcmp(name, arch) != 0) continue;
        *out = (dllm_device){.compute = table[i].compute,
                             .multiprocessors = table[i].multiprocessors,
                             .shared_bytes_max = table[i].shared_bytes_max,
                             .l2_bytes = table[i].l2_bytes,
                             .clock_mhz = table[i].clock_mhz,
                             .memory_bytes_a_ns = table[i].memory_bytes_a_ns,
                             .products_a_clock = dllm__tensor_products(table[i].compute),
                             .has_cublas = true,
                             .clusters = table[i].compute >= 90};
        memcpy(out->arch, name, sizeof name);
        (void)snprintf(out->name, sizeof out->name, "typical %s", name);
        return DLLM_OK;
    }
    return dllm__fail(DLLM_INVALID_ARGUMENT,
                      "arch %s is not sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100 or sm_120", arch);
}
