/* kernel_spec.c - the sorted -D list of a kernel, and the options made from it */
#include "kernel_spec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What each keeps away: NVRTC by itself brings stray files of the working folder, a raised stack limit
   of the process, the compiler's own cache (which opens the driver). */
static const char *const fixed_options[] = {"--std=c++17", "-default-device",
                                            "-modify-stack-limit=false", "-no-cache",
                                            "-no-source-include"};

enum { FIXED_COUNT = sizeof fixed_options / sizeof fixed_options[0] };

_Static_assert(1 + FIXED_COUNT + DLLM_DEFINES_MAX <= DLLM_KERNEL_OPTIONS_MAX,
               "arch, fixed options and a full -D list must fit");

void dllm__kernel_define(dllm_kernel_spec *spec, const char *name, int64_t value)
{
    assert(spec->define_count < DLLM_DEFINES_MAX);
    int at = spec->define_count++;
    for (; at > 0 && strcmp(spec->defines[at - 1].name, name) > 0; at--)
        spec->defines[at] = spec->defines[at - 1];
    assert(at == 0 || strcmp(spec->defines[at - 1].name, name) != 0);
    spec->defines[at] = (dllm_define){name, value};
}

static char *next_option(dllm_kernel_options *out)
{
    assert(out->count < DLLM_KERNEL_OPTIONS_MAX);
    return out->text[out->count++];
}

void dllm__kernel_options(dllm_kernel_options *out, const dllm_kernel_spec *spec)
{
    out->count = 0;
    (void)snprintf(next_option(out), DLLM_KERNEL_OPTION_BYTES, "--gpu-architecture=%s", spec->arch);
    for (int i = 0; i < FIXED_COUNT; i++)
        (void)snprintf(next_option(out), DLLM_KERNEL_OPTION_BYTES, "%s", fixed_options[i]);
    for (int i = 0; i < spec->define_count; i++) {
        const int length = snprintf(next_option(out), DLLM_KERNEL_OPTION_BYTES, "-D%s=%" PRId64,
                                    spec->defines[i].name, spec->defines[i].value);
        assert(length < DLLM_KERNEL_OPTION_BYTES);
        (void)length;
    }
}

bool dllm__kernel_spec_equal(const dllm_kernel_spec *a, const dllm_kernel_spec *b)
{
    if (strcmp(a->file, b->file) != 0 || strcmp(a->entry, b->entry) != 0) return false;
    if (strcmp(a->arch, b->arch) != 0 || a->define_count != b->define_count) return false;
    for (int i = 0; i < a->define_count; i++)
        if (a->defines[i].value != b->defines[i].value ||
            strcmp(a->defines[i].name, b->defines[i].name) != 0)
            return false;
    return true;
}
