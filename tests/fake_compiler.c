/* fake_compiler.c - compiles by printing */
#include "fake_compiler.h"

#include "kernel_sources.h"
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CUBIN_BYTES = 256 };

struct dllm_compiler {
    int unused;
};

fake_compiler_state fake_compiler;

void fake_compiler_start(void)
{
    fake_compiler.build = "13.0.88";
    fake_compiler.fails = false;
    fake_compiler.dies = false;
    fake_compiler.meet = 0;
    fake_compiler.wait_ms = 0;
    atomic_store(&fake_compiler.compiles, 0);
    atomic_store(&fake_compiler.builds_asked, 0);
    atomic_store(&fake_compiler.running, 0);
    atomic_store(&fake_compiler.met, 0);
}

void fake_compiler_cubin(char out[CUBIN_BYTES], const dllm_kernel_spec *spec)
{
    int used = snprintf(out, CUBIN_BYTES, "cubin of %s %s", spec->file, spec->entry);
    for (int i = 0; i < spec->define_count; i++)
        used += snprintf(out + used, CUBIN_BYTES - (size_t)used, " %lld",
                         (long long)spec->defines[i].value);
}

dllm_status dllm__compiler_create(dllm_compiler **out, const char *cache_folder,
                                  const dllm_log *log)
{
    (void)cache_folder;
    (void)log;
    *out = calloc(1, sizeof **out);
    return *out ? DLLM_OK : dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a fake compiler");
}

void dllm__compiler_destroy(dllm_compiler *compiler)
{
    free(compiler);
}

static dllm_status check_present(void)
{
    if (fake_compiler.build) return DLLM_OK;
    return dllm__fail(DLLM_LIBRARY_MISSING, "no compiler: looked for libfake.so.13, libfake.so.12");
}

dllm_status dllm__compiler_build(dllm_compiler *compiler, char out[32])
{
    (void)compiler;
    (void)atomic_fetch_add(&fake_compiler.builds_asked, 1);
    DLLM_TRY(check_present());
    (void)snprintf(out, 32, "%s", fake_compiler.build);
    return DLLM_OK;
}

/* Returns when `meet` compiles run at the same time, or after a while without. */
static void meet_others(void)
{
    const int running = atomic_fetch_add(&fake_compiler.running, 1) + 1;
    int most = atomic_load(&fake_compiler.met);
    while (most < running && !atomic_compare_exchange_weak(&fake_compiler.met, &most, running)) {
    }
    for (int ms = 0;
         ms < fake_compiler.wait_ms && atomic_load(&fake_compiler.met) < fake_compiler.meet; ms++)
        (void)usleep(1000);
    (void)atomic_fetch_sub(&fake_compiler.running, 1);
}

dllm_status dllm__compile(dllm_compiled *out, dllm_compiler *compiler, const dllm_kernel_spec *spec)
{
    (void)compiler;
    memset(out, 0, sizeof *out);
    DLLM_TRY(check_present());
    const int number = atomic_fetch_add(&fake_compiler.compiles, 1) + 1;
    meet_others();
    if (fake_compiler.dies) return dllm__fail(DLLM_COMPILE_FAILED, "%s: died", spec->file);
    out->rejected = fake_compiler.fails;
    if (fake_compiler.fails)
        return dllm__fail(DLLM_COMPILE_FAILED, "%s(7): error: failure %d", spec->file, number);
    out->cubin = calloc(1, CUBIN_BYTES);
    out->log = strdup("");
    if (!out->cubin || !out->log) {
        dllm__compiled_release(out);
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a fake cubin");
    }
    fake_compiler_cubin((char *)out->cubin, spec);
    out->cubin_bytes = CUBIN_BYTES;
    (void)snprintf(out->build, sizeof out->build, "%s", fake_compiler.build);
    return DLLM_OK;
}

void dllm__compiled_release(dllm_compiled *compiled)
{
    free(compiled->cubin);
    free(compiled->log);
    memset(compiled, 0, sizeof *compiled);
}

dllm_status dllm__sources_collect(dllm_source_set *out, const char *file)
{
    memset(out, 0, sizeof *out);
    out->count = 1;
    out->sources[0].name = file;
    return DLLM_OK;
}

void dllm__sources_release(dllm_source_set *set)
{
    memset(set, 0, sizeof *set);
}
