/*
 * kernel_check.c - compiles kernels with NVRTC alone and prints what the assembler says of them
 *
 *     kernel_check ARCH FILE [-DNAME=VALUE ...]     one kernel; a path makes its folder the source
 *     kernel_check --all ARCH [FILE]                every kernel of an architecture (of FILE):
 *                                                   shipped ones and those the tuner may choose
 *
 * Registers, spills and warnings are in the output. Exit: 0 all compiled and none takes local memory,
 * 1 a kernel failed or the call is wrong, 4 no compiler.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "cubin_frame.h"
#include "kernel_sources.h"
#include "nvrtc.h"
#include "shipped.h"
#include "status.h"

enum { EXIT_NO_COMPILER = 4 };

static const char usage_text[] =
    "usage: kernel_check ARCH FILE [-DNAME=VALUE ...]\n"
    "       kernel_check --all ARCH [FILE]\n"
    "\n"
    "Compiles one kernel, or every one (of FILE) that is shipped or that the tuner may choose for "
    "a\n"
    "head or its logits, without a GPU and prints what the compiler says: registers, shared "
    "memory,\n"
    "spills, warnings.\n"
    "\n"
    "exit status: 0 all compiled and none takes local memory, 1 usage or some failed, 4 no "
    "compiler\n";

static int usage(void)
{
    (void)fputs(usage_text, stderr);
    return EXIT_FAILURE;
}

/** Splits -DNAME=VALUE in place; false if it is not that. */
static bool add_define(dllm_kernel_spec *spec, char *argument)
{
    char *equals = strchr(argument, '=');
    if (strncmp(argument, "-D", 2) != 0 || !equals || spec->define_count == DLLM_DEFINES_MAX)
        return false;
    char *end = NULL;
    errno = 0;
    const int64_t value = strtoll(equals + 1, &end, 0);
    if (errno || end == equals + 1 || *end) return false;
    *equals = '\0';
    dllm__kernel_define(spec, argument + 2, value);
    return true;
}

/** Takes a path apart: its folder becomes where kernel files are read. */
static const char *choose_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash) return path;
    *slash = '\0';
    return setenv("DLLM_KERNEL_DIR", *path ? path : "/", 1) == 0 ? slash + 1 : NULL;
}

static void print_title(const dllm_kernel_spec *spec)
{
    (void)printf("%s %s", spec->arch, spec->file);
    for (int i = 0; i < spec->define_count; i++)
        (void)printf(" -D%s=%" PRId64, spec->defines[i].name, spec->defines[i].value);
    (void)printf("\n");
}

/* Local memory costs traffic that no counter of the kernel's own bytes shows: none is shipped. */
static bool check_cubin(const dllm_compile_answer *answer)
{
    const int64_t frame = cubin_frame_bytes(answer->cubin, answer->cubin_bytes);
    (void)printf("cubin of %zu bytes, %" PRId64 " bytes of local memory a thread\n",
                 answer->cubin_bytes, frame);
    if (frame < 0) (void)printf("refused: the cubin does not tell its local memory\n");
    if (frame > 0) (void)printf("refused: local memory\n");
    return frame == 0;
}

static bool check(const dllm_nvrtc *nvrtc, const dllm_kernel_spec *spec)
{
    dllm_source_set sources;
    dllm_compile_request request;
    dllm_compile_answer answer;
    print_title(spec);
    if (dllm__sources_collect(&sources, spec->file) != DLLM_OK) {
        (void)printf("%s\n", dllm_last_error());
        return false;
    }
    dllm__request_fill(&request, spec, &sources);
    (void)snprintf(request.options.text[request.options.count++], DLLM_KERNEL_OPTION_BYTES,
                   "--ptxas-options=-v");
    dllm__nvrtc_compile(&answer, nvrtc, &request);
    (void)printf("%s", answer.log ? answer.log : "");
    const bool good = answer.outcome == DLLM_COMPILED && check_cubin(&answer);
    if (answer.outcome != DLLM_COMPILED) (void)printf("not compiled: %s\n", answer.reason);
    dllm__answer_release(&answer);
    dllm__sources_release(&sources);
    return good;
}

static void append(dllm_kernel_list *list, const dllm_kernel_spec *spec)
{
    for (int i = 0; i < list->count; i++)
        if (dllm__kernel_spec_equal(&list->specs[i], spec)) return;
    if (list->count < DLLM_SHIPPED_MAX) list->specs[list->count++] = *spec;
}

/** The kernels of every choice that the tuner would measure for a problem. */
static void append_candidates(dllm_kernel_list *list, const dllm_device *device,
                              const dllm_problem *problem)
{
    static dllm_candidate candidates[DLLM_CANDIDATES_MAX];
    int count = 0;
    if (dllm__candidates(candidates, &count, problem, device) != DLLM_OK) return;
    for (int i = 0; i < count; i++) {
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        const int kernels =
            candidates[i].choice.family->kernels(problem, &candidates[i].choice, specs);
        for (int k = 0; k < kernels; k++) {
            memcpy(specs[k].arch, device->arch, sizeof specs[k].arch);
            append(list, &specs[k]);
        }
    }
}

/** Likewise for a head of so many rows, and for its logits. */
static void append_problems(dllm_kernel_list *list, const dllm_device *device, int64_t rows,
                            dllm_type type)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_problem problem;
    options.vocab = 126464;
    options.depth = 4096;
    options.rows_max = rows;
    options.hidden_type = options.weight_type = type;
    options.outputs = DLLM_OUT_ARGMAX;
    if (dllm__head_problem(&problem, &options) != DLLM_OK) return;
    append_candidates(list, device, &problem);
    problem.operation = DLLM_OPERATION_SAMPLER;
    problem.depth = 0;
    append_candidates(list, device, &problem);
}

static void collect(dllm_kernel_list *list, const char *arch)
{
    dllm_device device;
    dllm__shipped_kernels(list, arch);
    if (dllm__device_typical(&device, arch) != DLLM_OK) return;
    for (int64_t rows = 1; rows <= 4096; rows *= 8)
        for (int type = DLLM_BF16; type <= DLLM_FP32; type++)
            append_problems(list, &device, rows, (dllm_type)type);
}

/** A list that fills its room may have been cut: that is a failure too. */
static int check_all(const dllm_nvrtc *nvrtc, const char *arch, const char *file)
{
    static dllm_kernel_list all;
    int checked = 0;
    int failed = 0;
    collect(&all, arch);
    for (int i = 0; i < all.count; i++) {
        if (file && strcmp(all.specs[i].file, file) != 0) continue;
        checked++;
        failed += !check(nvrtc, &all.specs[i]);
    }
    (void)printf("%d kernels of %s for %s checked, %d failed\n", checked, file ? file : "all files",
                 arch, failed);
    return checked == 0 || failed || all.count >= DLLM_SHIPPED_MAX ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check_one(const dllm_nvrtc *nvrtc, const char *arch, int count, char **arguments)
{
    dllm_kernel_spec spec = {.entry = ""};
    if (snprintf(spec.arch, sizeof spec.arch, "%s", arch) >= (int)sizeof spec.arch) return usage();
    spec.file = choose_folder(arguments[0]);
    if (!spec.file) return usage();
    for (int i = 1; i < count; i++)
        if (!add_define(&spec, arguments[i])) return usage();
    return check(nvrtc, &spec) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    static dllm_nvrtc nvrtc;
    if (asks_for_help(argc, argv))
        return fputs(usage_text, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (argc < 3) return usage();
    const bool all = strcmp(argv[1], "--all") == 0;
    if (all && argc > 4) return usage();
    if (dllm__nvrtc_open(&nvrtc) != DLLM_OK) {
        (void)printf("no compiler: %s\n", dllm_last_error());
        return EXIT_NO_COMPILER;
    }
    (void)printf("NVRTC %d.%d, %s\n", nvrtc.major, nvrtc.minor, nvrtc.path);
    return all ? check_all(&nvrtc, argv[2], argc > 3 ? argv[3] : NULL)
               : check_one(&nvrtc, argv[1], argc - 2, argv + 2);
}
