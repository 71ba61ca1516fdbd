/*
 * compiler.c - finds the compiler once, then compiles: helper, else this process; words for
 * failures
 */
#include "compiler.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "compiler_build.h"
#include "helper_path.h"
#include "helper_process.h"
#include "kernel_sources.h"
#include "nvrtc.h"
#include "status.h"

/* Far above any kernel of this library on a busy machine; a hang must end some day. */
enum { TIMEOUT_MS = 120000 };

typedef enum jit_mode { JIT_HELPER, JIT_HERE, JIT_OFF } jit_mode;

static const char *const mode_names[] = {"helper", "inproc", "off"};

struct dllm_compiler {
    dllm_log log;
    jit_mode mode;
    int cancel_fd;
    int timeout_ms;
    char *cache_folder;
    char helper[PATH_MAX]; /* "" = none */
    char helper_reason[512];
    /* under the mutex until `resolved`, constant from then on */
    pthread_mutex_t mutex;
    bool resolved;
    bool remembered;
    bool unsaved; /* the build is to be remembered and is not yet */
    dllm_status status;
    char reason[512];
    char unsaved_why[DLLM_WHY_BYTES];
    char build[DLLM_COMPILER_BUILD_BYTES];
    dllm_nvrtc nvrtc;
};

static jit_mode mode_asked(const dllm_log *log)
{
    const char *asked = secure_getenv("DLLM_JIT");
    if (!asked || !*asked) return JIT_HELPER;
    for (size_t i = 0; i < sizeof mode_names / sizeof mode_names[0]; i++)
        if (strcmp(asked, mode_names[i]) == 0) return (jit_mode)i;
    dllm__log(log, "DLLM_JIT is \"%s\", not helper, inproc or off: taken as helper", asked);
    return JIT_HELPER;
}

dllm_status dllm__compiler_create(dllm_compiler **out, const char *cache_folder,
                                  const dllm_log *log)
{
    dllm_status status = DLLM_OUT_OF_MEMORY;
    dllm_compiler *created = calloc(1, sizeof *created);
    if (!created) return dllm__fail(status, "no memory for a compiler");
    created->log = *log;
    created->mode = mode_asked(log);
    created->timeout_ms = TIMEOUT_MS;
    created->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (created->cancel_fd < 0 || pthread_mutex_init(&created->mutex, NULL) != 0) {
        if (created->cancel_fd >= 0) (void)close(created->cancel_fd);
        free(created);
        return dllm__fail(status, "no file descriptor or mutex for a compiler");
    }
    if (cache_folder) created->cache_folder = strdup(cache_folder);
    if (cache_folder && !created->cache_folder) {
        status = dllm__fail(status, "no memory for a compiler");
        goto done;
    }
    if (created->mode == JIT_HELPER)
        (void)dllm__helper_find(created->helper, created->helper_reason,
                                sizeof created->helper_reason);
    *out = created;
    created = NULL;
    status = DLLM_OK;
done:
    dllm__compiler_destroy(created);
    return status;
}

/**
 * Remembers the build. The folder is made by the first kernel that is stored, which may be still to
 * come; so a failure here is for the second try, when the compiler goes, to report.
 */
static void save_build(dllm_compiler *compiler)
{
    if (compiler->unsaved)
        compiler->unsaved = !dllm__build_remember(compiler->unsaved_why, compiler->build,
                                                  &compiler->nvrtc, compiler->cache_folder);
}

void dllm__compiler_destroy(dllm_compiler *compiler)
{
    if (!compiler) return;
    save_build(compiler);
    if (compiler->unsaved)
        dllm__log(&compiler->log, "the compiler's build %s is not remembered: %s", compiler->build,
                  compiler->unsaved_why);
    (void)close(compiler->cancel_fd);
    (void)pthread_mutex_destroy(&compiler->mutex);
    free(compiler->cache_folder);
    free(compiler);
}

dllm_status dllm__compiler_use_helper(dllm_compiler *compiler, const char *path, int timeout_ms)
{
    if (!path) path = "";
    if (strlen(path) >= sizeof compiler->helper)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "helper path is longer than %zu bytes",
                          sizeof compiler->helper - 1);
    memcpy(compiler->helper, path, strlen(path) + 1);
    compiler->timeout_ms = timeout_ms;
    return DLLM_OK;
}

void dllm__compiler_cancel(dllm_compiler *compiler)
{
    const uint64_t one = 1;
    const ssize_t written = write(compiler->cancel_fd, &one, sizeof one);
    (void)written; /* can fail only because the counter is up already */
}

/* ---- running one request */

static void log_lines(const dllm_compiler *compiler, const char *text)
{
    while (text && *text) {
        const size_t length = strcspn(text, "\n");
        if (length) dllm__log(&compiler->log, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/** The first line of a log that is an error, else its first line; "" if there is none. */
static const char *first_error(char *line, size_t room, const char *log)
{
    static const char *const marks[] = {": error", ": catastrophic error", "ptxas error",
                                        "ptxas fatal"};
    const char *found = NULL;
    for (size_t i = 0; log && i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(log, marks[i]);
        if (at && (!found || at < found)) found = at;
    }
    while (found && found > log && found[-1] != '\n')
        found--;
    if (!found) found = log ? log : "";
    (void)snprintf(line, room, "%.*s", (int)strcspn(found, "\n"), found);
    return line;
}

/** Status and message for an answer without a cubin. */
static dllm_status fail_answer(const dllm_compile_answer *answer,
                               const dllm_compile_request *request)
{
    static const dllm_status statuses[] = {
        [DLLM_COMPILED] = DLLM_OK,
        [DLLM_REJECTED] = DLLM_COMPILE_FAILED,
        [DLLM_CANNOT_COMPILE] = DLLM_LIBRARY_MISSING,
        [DLLM_COMPILE_NO_MEMORY] = DLLM_OUT_OF_MEMORY,
    };
    char line[600];
    (void)first_error(line, sizeof line, answer->log);
    if (answer->outcome == DLLM_REJECTED && line[0])
        return dllm__fail(DLLM_COMPILE_FAILED, "%s (compiling %s with %s)", line, request->names[0],
                          request->options.text[0]);
    return dllm__fail(statuses[answer->outcome], "%s: %s%s%s", request->names[0], answer->reason,
                      line[0] ? ": " : "", line);
}

/** A helper that died may have done so by no fault of the request: one more is tried. */
static dllm_helper_end run_helper(dllm_compile_answer *out, const dllm_compiler *compiler,
                                  const dllm_compile_request *request)
{
    const dllm_helper helper = {compiler->helper, compiler->timeout_ms, compiler->cancel_fd};
    dllm_helper_end end = dllm__helper_compile(out, &helper, request);
    if (end != DLLM_HELPER_DIED) return end;
    dllm__log(&compiler->log, "%s; trying once more", out->reason);
    end = dllm__helper_compile(out, &helper, request);
    /* what may have killed a helper is not let into this process */
    return end == DLLM_HELPER_NOT_STARTED ? DLLM_HELPER_DIED : end;
}

/** By helper, or here where there is none. DLLM_OK: the answer holds a cubin. Release it in any
 * case. */
static dllm_status run_request(dllm_compile_answer *out, const dllm_compiler *compiler,
                               dllm_compile_request *request)
{
    dllm_helper_end end = DLLM_HELPER_NOT_STARTED;
    if (compiler->helper[0]) {
        request->library = compiler->nvrtc.path;
        end = run_helper(out, compiler, request);
        if (end == DLLM_HELPER_NOT_STARTED)
            dllm__log(&compiler->log, "%s; compiling in this process", out->reason);
    }
    if (end == DLLM_HELPER_NOT_STARTED) {
        dllm__answer_release(out);
        dllm__nvrtc_compile(out, &compiler->nvrtc, request);
    }
    log_lines(compiler, out->log);
    if (end == DLLM_HELPER_DIED || end == DLLM_HELPER_STOPPED)
        return dllm__fail(DLLM_COMPILE_FAILED, "%s: %s", request->names[0], out->reason);
    return out->outcome == DLLM_COMPILED ? DLLM_OK : fail_answer(out, request);
}

/* ---- which compiler */

static dllm_status probe(const dllm_compiler *compiler, char build[DLLM_COMPILER_BUILD_BYTES])
{
    dllm_compile_request request;
    dllm_compile_answer answer = {.outcome = DLLM_REJECTED};
    dllm__build_probe(&request);
    dllm_status status = run_request(&answer, compiler, &request);
    if (status == DLLM_OK && !dllm__build_of_probe(build, &answer))
        status = dllm__fail(DLLM_LIBRARY_MISSING, "%s makes binaries without their kernel's name",
                            compiler->nvrtc.path);
    dllm__answer_release(&answer);
    return status;
}

static dllm_status resolve_once(dllm_compiler *compiler)
{
    if (compiler->mode == JIT_OFF)
        return dllm__fail(DLLM_LIBRARY_MISSING, "compiling is switched off by DLLM_JIT=off");
    DLLM_TRY(dllm__nvrtc_open(&compiler->nvrtc));
    const char *folder = compiler->cache_folder;
    compiler->remembered = folder && dllm__build_recall(compiler->build, &compiler->nvrtc, folder);
    if (compiler->remembered) return DLLM_OK;
    DLLM_TRY(probe(compiler, compiler->build));
    compiler->unsaved = folder != NULL;
    save_build(compiler);
    return DLLM_OK;
}

/**
 * Opens the compiler and learns its build, once. A compiler that is missing stays so; a probe that
 * failed for another reason, a helper that was killed for instance, is made again by the next call.
 */
static dllm_status resolve(dllm_compiler *compiler)
{
    (void)pthread_mutex_lock(&compiler->mutex);
    if (!compiler->resolved) {
        compiler->status = resolve_once(compiler);
        compiler->resolved =
            compiler->status == DLLM_OK || compiler->status == DLLM_LIBRARY_MISSING;
        (void)snprintf(compiler->reason, sizeof compiler->reason, "%s",
                       compiler->status == DLLM_OK ? "" : dllm_last_error());
    }
    const dllm_status status = compiler->status == DLLM_OK
                                   ? DLLM_OK
                                   : dllm__fail(compiler->status, "%s", compiler->reason);
    (void)pthread_mutex_unlock(&compiler->mutex);
    return status;
}

dllm_status dllm__compiler_build(dllm_compiler *compiler, char out[32])
{
    DLLM_TRY(resolve(compiler));
    memcpy(out, compiler->build, sizeof compiler->build);
    return DLLM_OK;
}

dllm_status dllm__compiler_probe(dllm_compiler *compiler, char out[32])
{
    DLLM_TRY(resolve(compiler));
    return probe(compiler, out);
}

dllm_status dllm__compile(dllm_compiled *out, dllm_compiler *compiler, const dllm_kernel_spec *spec)
{
    dllm_source_set sources;
    dllm_compile_request request;
    dllm_compile_answer answer = {.outcome = DLLM_REJECTED};
    memset(out, 0, sizeof *out);
    DLLM_TRY(resolve(compiler));
    DLLM_TRY(dllm__sources_collect(&sources, spec->file));
    dllm__request_fill(&request, spec, &sources);
    dllm_status status = run_request(&answer, compiler, &request);
    out->rejected = answer.outcome == DLLM_REJECTED;
    if (status == DLLM_OK && !answer.log) answer.log = strdup("");
    if (status == DLLM_OK && !answer.log)
        status = dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the log of %s", spec->file);
    if (status == DLLM_OK) {
        out->cubin = answer.cubin;
        out->cubin_bytes = answer.cubin_bytes;
        out->log = answer.log;
        memcpy(out->build, compiler->build, sizeof out->build);
        memset(&answer, 0, sizeof answer);
    }
    dllm__answer_release(&answer);
    dllm__sources_release(&sources);
    return status;
}

void dllm__compiled_release(dllm_compiled *compiled)
{
    free(compiled->cubin);
    free(compiled->log);
    memset(compiled, 0, sizeof *compiled);
}

void dllm__compiler_describe(dllm_compiler_description *out, dllm_compiler *compiler)
{
    memset(out, 0, sizeof *out);
    out->mode = mode_names[compiler->mode];
    out->status = resolve(compiler);
    (void)snprintf(out->reason, sizeof out->reason, "%s",
                   out->status == DLLM_OK ? "" : dllm_last_error());
    dllm__clear_error();
    memcpy(out->build, compiler->build, sizeof out->build);
    memcpy(out->helper, compiler->helper, sizeof out->helper);
    memcpy(out->helper_reason, compiler->helper_reason, sizeof out->helper_reason);
    out->remembered = compiler->remembered;
    if (!compiler->nvrtc.library) return;
    memcpy(out->library, compiler->nvrtc.path, sizeof out->library);
    (void)snprintf(out->version, sizeof out->version, "%d.%d", compiler->nvrtc.major,
                   compiler->nvrtc.minor);
}
