/* nvrtc.c - NVRTC opened by name, its symbols looked up, one program compiled with it */
#include "nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_object.h"
#include "status.h"

enum {
    RESULT_SUCCESS = 0,
    RESULT_OUT_OF_MEMORY = 1,
    RESULT_INVALID_OPTION = 5,
    RESULT_BUILTIN_FAILURE = 7,
    STACK_BYTES = 8 << 20
};

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/* Unknown to the compilers of CUDA 12, which have no cache to switch off. */
static const char no_cache_option[] = "-no-cache";

bool dllm__nvrtc_builtins_path(char out[PATH_MAX], const dllm_nvrtc *nvrtc)
{
    const char *slash = strrchr(nvrtc->path, '/');
    return slash &&
           snprintf(out, PATH_MAX, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - nvrtc->path),
                    nvrtc->path, nvrtc->major, nvrtc->minor) < PATH_MAX;
}

/**
 * NVRTC opens its builtins by bare name, and not every build of it looks in its own folder. Once
 * they are open under that name it finds them; failure is left for the compile to report in full.
 */
static void open_builtins(const dllm_nvrtc *nvrtc)
{
    char file[PATH_MAX];
    if (dllm__nvrtc_builtins_path(file, nvrtc))
        (void)dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static dllm_status look_up(dllm_nvrtc *nvrtc, const char *file)
{
    void *address = NULL;
#define LOOK_UP(name, symbol, result, parameters)                                                  \
    address = dlsym(nvrtc->library, #symbol);                                                      \
    if (!address) return dllm__fail(DLLM_LIBRARY_MISSING, "%s has no function " #symbol, file);    \
    memcpy(&nvrtc->name, &address, sizeof address);
    DLLM_NVRTC_CALLS(LOOK_UP)
#undef LOOK_UP
    if (nvrtc->version(&nvrtc->major, &nvrtc->minor) != RESULT_SUCCESS)
        return dllm__fail(DLLM_LIBRARY_MISSING, "%s does not tell its version", file);
    if (!dllm__shared_object_path(nvrtc->path, nvrtc->library))
        return dllm__fail(DLLM_LIBRARY_MISSING, "the path of %s cannot be found out", file);
    return DLLM_OK;
}

dllm_status dllm__nvrtc_open_file(dllm_nvrtc *out, const char *file)
{
    dllm_nvrtc nvrtc = {.library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!nvrtc.library)
        return dllm__fail(DLLM_LIBRARY_MISSING, "NVRTC cannot be opened: %s", dlerror());
    DLLM_TRY(look_up(&nvrtc, file));
    open_builtins(&nvrtc);
    *out = nvrtc;
    return DLLM_OK;
}

dllm_status dllm__nvrtc_open(dllm_nvrtc *out)
{
    const char *asked = secure_getenv("DLLM_NVRTC");
    if (asked && *asked) return dllm__nvrtc_open_file(out, asked);
    char reasons[512] = "";
    for (size_t i = 0; i < sizeof library_names / sizeof library_names[0]; i++) {
        if (dllm__nvrtc_open_file(out, library_names[i]) == DLLM_OK) {
            dllm__clear_error(); /* of a name tried before */
            return DLLM_OK;
        }
        const size_t used = strlen(reasons);
        (void)snprintf(reasons + used, sizeof reasons - used, "%s%s", i ? "; " : "",
                       dllm_last_error());
    }
    return dllm__fail(DLLM_LIBRARY_MISSING, "%s", reasons);
}

/** Options as the call wants them; without -no-cache where it is not known. */
static dllm_nvrtc_result compile_with(const dllm_nvrtc *nvrtc, dllm_nvrtc_program program,
                                      const dllm_kernel_options *options, bool no_cache)
{
    const char *list[DLLM_KERNEL_OPTIONS_MAX];
    int count = 0;
    for (int i = 0; i < options->count; i++)
        if (no_cache || strcmp(options->text[i], no_cache_option) != 0)
            list[count++] = options->text[i];
    return nvrtc->program_compile(program, count, list);
}

/** Empty if there is none; NULL when out of memory. */
static char *copy_log(const dllm_nvrtc *nvrtc, dllm_nvrtc_program program)
{
    size_t size = 0;
    const bool has_log = nvrtc->log_size(program, &size) == RESULT_SUCCESS;
    char *log = calloc(1, size + 1);
    if (log && has_log && nvrtc->log(program, log) != RESULT_SUCCESS) log[0] = '\0';
    return log;
}

/** Takes the cubin, or says why there is none. */
static void take_cubin(dllm_compile_answer *out, const dllm_nvrtc *nvrtc,
                       dllm_nvrtc_program program)
{
    size_t size = 0;
    const bool has_cubin = nvrtc->cubin_size(program, &size) == RESULT_SUCCESS && size > 0;
    out->cubin = has_cubin ? malloc(size) : NULL;
    if (has_cubin && !out->cubin) {
        dllm__answer_no_memory(out, "the cubin");
        return;
    }
    if (has_cubin && nvrtc->cubin(program, (char *)out->cubin) == RESULT_SUCCESS) {
        out->cubin_bytes = size;
        return;
    }
    free(out->cubin);
    out->cubin = NULL;
    out->outcome = DLLM_REJECTED;
    (void)snprintf(out->reason, sizeof out->reason, "NVRTC %d.%d made no cubin", nvrtc->major,
                   nvrtc->minor);
}

static void set_outcome(dllm_compile_answer *out, const dllm_nvrtc *nvrtc, dllm_nvrtc_result result)
{
    out->outcome = result == RESULT_OUT_OF_MEMORY     ? DLLM_COMPILE_NO_MEMORY
                   : result == RESULT_BUILTIN_FAILURE ? DLLM_CANNOT_COMPILE
                                                      : DLLM_REJECTED;
    (void)snprintf(out->reason, sizeof out->reason, "NVRTC %d.%d answered %d (%s)", nvrtc->major,
                   nvrtc->minor, result, nvrtc->result_text(result));
}

static void compile_here(dllm_compile_answer *out, const dllm_nvrtc *nvrtc,
                         const dllm_compile_request *request)
{
    dllm_nvrtc_program program = NULL;
    dllm_nvrtc_result result =
        nvrtc->program_create(&program, request->texts[0], request->names[0],
                              request->source_count - 1, request->texts + 1, request->names + 1);
    if (result != RESULT_SUCCESS) {
        set_outcome(out, nvrtc, result);
        return;
    }
    result = compile_with(nvrtc, program, &request->options, true);
    out->log = copy_log(nvrtc, program);
    if (result == RESULT_INVALID_OPTION && out->log && strstr(out->log, no_cache_option)) {
        free(out->log);
        result = compile_with(nvrtc, program, &request->options, false);
        out->log = copy_log(nvrtc, program);
    }
    if (!out->log)
        dllm__answer_no_memory(out, "the compiler's log");
    else if (result != RESULT_SUCCESS)
        set_outcome(out, nvrtc, result);
    else
        take_cubin(out, nvrtc, program);
    (void)nvrtc->program_destroy(&program);
}

typedef struct compile_job {
    dllm_compile_answer *out;
    const dllm_nvrtc *nvrtc;
    const dllm_compile_request *request;
} compile_job;

static void *run_job(void *argument)
{
    const compile_job *job = argument;
    compile_here(job->out, job->nvrtc, job->request);
    return NULL;
}

/** Starts a thread that takes no signal of the process; 0 or an errno. */
static int start_thread(pthread_t *thread, compile_job *job)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) return error;
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!error) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, &attributes, run_job, job);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
    return error;
}

void dllm__nvrtc_compile(dllm_compile_answer *out, const dllm_nvrtc *nvrtc,
                         const dllm_compile_request *request)
{
    memset(out, 0, sizeof *out);
    compile_job job = {out, nvrtc, request};
    pthread_t thread;
    if (start_thread(&thread, &job) != 0) {
        out->outcome = DLLM_COMPILE_NO_MEMORY;
        (void)snprintf(out->reason, sizeof out->reason,
                       "no thread with a stack of %d bytes could be started", STACK_BYTES);
        return;
    }
    (void)pthread_join(thread, NULL);
}
