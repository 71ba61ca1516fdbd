/*
 * fake_nvrtc.c - a library with NVRTC's symbols whose compiles do what the program's text asks for
 *
 * Its cubin is a report of what it was given and of the process it ran in. FAKE_MAJOR, FAKE_MINOR and
 * FAKE_BUILD are its version; FAKE_NO_BUILTINS makes every compile fail as an NVRTC without its
 * builtins library does; FAKE_LEAVES_PROCESS makes every compile leave a process that holds the
 * descriptors of its own for half a minute. Before version 13 it does not know -no-cache, as the real one.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "nvrtc.h"

#define DECLARE(name, symbol, result, parameters)                                                  \
    __attribute__((visibility("default"))) result symbol parameters;
DLLM_NVRTC_CALLS(DECLARE)
#undef DECLARE

enum { INVALID_OPTION = 5, COMPILATION = 6, BUILTIN_FAILURE = 7, ROOM = 1 << 16 };

struct dllm_nvrtc_program_state {
    char text[ROOM];
    char given[ROOM]; /* names and texts, as they came */
    char log[512];
    char cubin[3 * ROOM];
    size_t cubin_bytes;
};

static void append(char *to, const char *name, const char *value)
{
    const size_t used = strlen(to);
    (void)snprintf(to + used, ROOM - used, "%s %s\n", name, value);
}

static void append_number(char *to, const char *name, long value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%ld", value);
    append(to, name, text);
}

dllm_nvrtc_result nvrtcVersion(int *major, int *minor)
{
    *major = FAKE_MAJOR;
    *minor = FAKE_MINOR;
    return 0;
}

const char *nvrtcGetErrorString(dllm_nvrtc_result result)
{
    return result == BUILTIN_FAILURE ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "NVRTC_ERROR";
}

dllm_nvrtc_result nvrtcCreateProgram(dllm_nvrtc_program *out, const char *text, const char *name,
                                     int headers, const char *const *texts,
                                     const char *const *names)
{
    struct dllm_nvrtc_program_state *made = calloc(1, sizeof *made);
    if (!made) return 1;
    (void)snprintf(made->text, sizeof made->text, "%s", text);
    append(made->given, "program", name);
    for (int i = 0; i < headers; i++) {
        append(made->given, "header", names[i]);
        append(made->given, "text", texts[i]);
    }
    *out = made;
    return 0;
}

dllm_nvrtc_result nvrtcDestroyProgram(dllm_nvrtc_program *program)
{
    free(*program);
    *program = NULL;
    return 0;
}

static long open_descriptors(void)
{
    long count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

static void report_process(char *to)
{
    struct rlimit core = {0, 0};
    sigset_t blocked;
    struct sigaction interrupt;
    (void)getrlimit(RLIMIT_CORE, &core);
    (void)sigprocmask(SIG_SETMASK, NULL, &blocked);
    (void)sigaction(SIGINT, NULL, &interrupt);
    append_number(to, "process", getpid());
    append_number(to, "descriptors", open_descriptors());
    append_number(to, "core", (long)core.rlim_cur);
    append_number(to, "dumpable", prctl(PR_GET_DUMPABLE));
    append_number(to, "interrupt_default", interrupt.sa_handler == SIG_DFL);
    for (char **variable = environ; variable && *variable; variable++)
        append(to, "variable", *variable);
}

/** What the text asks for beside compiling. */
static void misbehave(const char *text)
{
    const struct timespec moment = {0, 300000000};
#ifdef FAKE_LEAVES_PROCESS
    if (fork() == 0) {
        (void)sleep(30);
        _exit(0);
    }
#endif
    if (strstr(text, "FAKE_ABORT")) abort();
    while (strstr(text, "FAKE_HANG"))
        (void)pause();
    if (!strstr(text, "FAKE_TAKES_SIGNALS")) return;
    void (*before)(int) = signal(SIGTERM, SIG_IGN);
    (void)nanosleep(&moment, NULL);
    (void)signal(SIGTERM, before);
}

static dllm_nvrtc_result refuse(dllm_nvrtc_program program, dllm_nvrtc_result result,
                                const char *log)
{
    (void)snprintf(program->log, sizeof program->log, "%s", log);
    return result;
}

dllm_nvrtc_result nvrtcCompileProgram(dllm_nvrtc_program program, int count,
                                      const char *const *options)
{
    static const char error[] = "head.cuh(1): warning #1: no error yet\n"
                                "program.cu(3): error: identifier \"zz\" is undefined\n"
                                "program.cu(4): error: another\n"
                                "ptxas fatal   : aborted\n";
#ifdef FAKE_NO_BUILTINS
    return refuse(program, BUILTIN_FAILURE, "nvrtc: error: failed to open libnvrtc-builtins.so\n");
#endif
    for (int i = 0; i < count; i++)
        if (FAKE_MAJOR < 13 && strcmp(options[i], "-no-cache") == 0)
            return refuse(program, INVALID_OPTION,
                          "nvrtc: error: unrecognized option -no-cache found\n");
    misbehave(program->text);
    if (strstr(program->text, "FAKE_ERROR")) return refuse(program, COMPILATION, error);
    if (strstr(program->text, "FAKE_EMPTY")) return 0;
    char *cubin = program->cubin;
    if (strstr(program->text, "dllm_build_"))
        (void)snprintf(cubin, ROOM, "dllm_build_%d_%d_%d_\n", FAKE_MAJOR, FAKE_MINOR, FAKE_BUILD);
    for (int i = 0; i < count; i++)
        append(cubin, "option", options[i]);
    append(cubin, "given", program->given);
    if (strstr(program->text, "FAKE_REPORT")) report_process(cubin);
    program->cubin_bytes = strlen(cubin) + 1; /* so that a test can read it as text */
    return 0;
}

dllm_nvrtc_result nvrtcGetProgramLogSize(dllm_nvrtc_program program, size_t *size)
{
    *size = strlen(program->log) + 1;
    return 0;
}

dllm_nvrtc_result nvrtcGetProgramLog(dllm_nvrtc_program program, char *log)
{
    memcpy(log, program->log, strlen(program->log) + 1);
    return 0;
}

dllm_nvrtc_result nvrtcGetCUBINSize(dllm_nvrtc_program program, size_t *size)
{
    *size = program->cubin_bytes;
    return 0;
}

dllm_nvrtc_result nvrtcGetCUBIN(dllm_nvrtc_program program, char *cubin)
{
    memcpy(cubin, program->cubin, program->cubin_bytes);
    return 0;
}
