/*
 * bench_read.c - compiles bench_read.cu, loads and launches it
 */
#include "bench_read.h"

#include "bench_read_source.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 512, BLOCKS_AN_SM = 4, PACKET_BYTES = 16 };

typedef struct compiler {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*size)(void *, size_t *);
    int (*cubin)(void *, char *);
    int (*destroy)(void **);
} compiler;

static bool find(bench_read *read, void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);
    if (!found) (void)snprintf(read->message, sizeof read->message, "there is no %s", symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool open_compiler(compiler *out, bench_read *read)
{
    void *library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        (void)snprintf(read->message, sizeof read->message,
                       "neither libnvrtc.so.13 nor libnvrtc.so.12 can be opened");
        return false;
    }
    return find(read, library, "nvrtcCreateProgram", &out->create) &&
           find(read, library, "nvrtcCompileProgram", &out->compile) &&
           find(read, library, "nvrtcGetCUBINSize", &out->size) &&
           find(read, library, "nvrtcGetCUBIN", &out->cubin) &&
           find(read, library, "nvrtcDestroyProgram", &out->destroy);
}

/* The kernel for an architecture; NULL with a message. */
static char *compile(bench_read *read, const char *arch)
{
    compiler nvrtc;
    char option[32];
    const char *const options[] = {option};
    void *program = NULL;
    char *cubin = NULL;
    size_t bytes = 0;
    if (!open_compiler(&nvrtc, read)) return NULL;
    (void)snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    int result = nvrtc.create(&program, bench_read_source, "bench_read.cu", 0, NULL, NULL);
    if (result == 0) result = nvrtc.compile(program, 1, options);
    if (result == 0) result = nvrtc.size(program, &bytes);
    if (result == 0 && bytes > 0) cubin = malloc(bytes);
    if (cubin) result = nvrtc.cubin(program, cubin);
    if (!cubin || result != 0)
        (void)snprintf(read->message, sizeof read->message,
                       "NVRTC made no kernel for %s: it answered %d", arch, result);
    if (program) (void)nvrtc.destroy(&program);
    return cubin;
}

static bool load(bench_read *read, const char *cubin)
{
    int (*load_data)(void **, const void *) = NULL;
    int (*get_function)(void **, void *, const char *) = NULL;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda || !find(read, cuda, "cuModuleLoadData", &load_data) ||
        !find(read, cuda, "cuModuleGetFunction", &get_function) ||
        !find(read, cuda, "cuModuleUnload", &read->unload) ||
        !find(read, cuda, "cuLaunchKernel", &read->launch))
        return false;
    int result = load_data(&read->module, cubin);
    if (result == 0) result = get_function(&read->function, read->module, "bench_read");
    if (result != 0)
        (void)snprintf(read->message, sizeof read->message,
                       "the driver answered %d to bench_read's kernel", result);
    return result == 0;
}

bool bench_read_open(bench_read *out, const dllm_context *context)
{
    dllm_device_info info = DLLM_DEVICE_INFO_INIT;
    *out = (bench_read){0};
    if (dllm_context_device(context, &info) != DLLM_OK) {
        (void)snprintf(out->message, sizeof out->message, "%s", dllm_last_error());
        return false;
    }
    out->blocks = (unsigned)info.multiprocessors * BLOCKS_AN_SM;
    char *cubin = compile(out, info.arch);
    const bool loaded = cubin && load(out, cubin);
    free(cubin);
    if (!loaded) bench_read_close(out);
    return loaded;
}

bool bench_read_run(bench_read *read, const void *from, int64_t bytes, void *scratch)
{
    const char *aligned = (const char *)from - (uintptr_t)from % PACKET_BYTES;
    unsigned long long packets = (unsigned long long)bytes / PACKET_BYTES;
    void *arguments[] = {&aligned, &packets, &scratch};
    const unsigned long long useful = (packets + THREADS - 1) / THREADS;
    const unsigned blocks = useful < read->blocks ? (unsigned)useful : read->blocks;
    const int result = read->launch(read->function, blocks ? blocks : 1, 1, 1, THREADS, 1, 1, 0,
                                    NULL, arguments, NULL);
    if (result != 0)
        (void)snprintf(read->message, sizeof read->message,
                       "the driver answered %d to a launch of bench_read", result);
    return result == 0;
}

void bench_read_close(bench_read *read)
{
    if (read->module) (void)read->unload(read->module);
    read->module = NULL;
}
