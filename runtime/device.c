/* device.c - names of architectures and typical devices */
#include "device.h"

#include "status.h"

#include <stdio.h>
#include <string.h>

void dllm__arch_name(char out[16], int compute)
{
    (void)snprintf(out, 16, "sm_%d%s", compute, compute == 90 ? "a" : "");
}

dllm_status dllm__device_typical(dllm_device *out, const char *arch)
{
    static const struct {
        int compute, multiprocessors, shared_bytes_max;
        int64_t l2_bytes;
    } table[] = {
        {75, 40, 65536, 4 << 20},      /* T4 */
        {80, 108, 166912, 40 << 20},   /* A100 */
        {86, 84, 101376, 6 << 20},     /* RTX 3090, A10 */
        {89, 142, 101376, 96 << 20},   /* L40 */
        {90, 132, 232448, 50 << 20},   /* H100, H200 */
        {100, 148, 232448, 126 << 20}, /* B200 */
        {120, 170, 101376, 96 << 20},  /* RTX 5090 */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char name[16];
        dllm__arch_name(name, table[i].compute);
        if (strcmp(name, arch) != 0) continue;
        *out = (dllm_device){.compute = table[i].compute,
                             .multiprocessors = table[i].multiprocessors,
                             .shared_bytes_max = table[i].shared_bytes_max,
                             .l2_bytes = table[i].l2_bytes,
                             .has_cublas = true};
        memcpy(out->arch, name, sizeof name);
        (void)snprintf(out->name, sizeof out->name, "typical %s", name);
        return DLLM_OK;
    }
    return dllm__fail(DLLM_INVALID_ARGUMENT,
                      "arch %s is not sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100 or sm_120", arch);
}
