/*
 * tune_doctor.c - what the library finds on this machine, section by section
 *
 * Every section is gathered as a JSON object; text is the same object printed line by line. What is
 * missing is a finding, never a failure.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache_layers.h"
#include "cache_trim.h"
#include "compiler.h"
#include "cublas.h"
#include "device.h"
#include "driver.h"
#include "shared_object.h"
#include "shipped.h"
#include "tune.h"
#include "tune_kernel.h"
#include "tune_store.h"

/* What later sections need of earlier ones. */
typedef struct findings {
    const tune_options *options;
    dllm_log log;
    dllm_cache_dir dir;
    char arch[16]; /* of the first device, "" without one */
    bool can_compile;
    json_t *tree;
} findings;

static void add_section(findings *found, const char *name, json_t *section)
{
    (void)json_object_set_new(found->tree, name, section);
}

static void add_text(json_t *section, const char *name, const char *text)
{
    (void)json_object_set_new(section, name, tune_json_text(text));
}

static void add_number(json_t *section, const char *name, int64_t value)
{
    (void)json_object_set_new(section, name, json_integer(value));
}

static void add_flag(json_t *section, const char *name, bool value)
{
    (void)json_object_set_new(section, name, json_boolean(value));
}

static void add_path(json_t *section, void *handle)
{
    char path[PATH_MAX];
    if (dllm__shared_object_path(path, handle)) add_text(section, "path", path);
}

static void look_at_library(findings *found)
{
    char path[PATH_MAX];
    json_t *section = json_object();
    add_text(section, "version", dllm_version());
    if (dllm__own_path(path)) add_text(section, "path", path);
    add_section(found, "library", section);
}

static void look_at_cpu(findings *found)
{
    dllm_context *context = NULL;
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_device_info info = DLLM_DEVICE_INFO_INIT;
    json_t *section = json_object();
    options.device = DLLM_DEVICE_CPU;
    if (dllm_context_create(&context, &options) == DLLM_OK &&
        dllm_context_device(context, &info) == DLLM_OK) {
        add_text(section, "name", info.name);
        add_number(section, "threads", info.multiprocessors);
    } else {
        add_text(section, "problem", dllm_last_error());
    }
    dllm_context_destroy(context);
    add_section(found, "cpu", section);
}

static void look_at_device(findings *found, const dllm_driver *driver, int ordinal)
{
    char name[128] = "";
    char title[32];
    size_t memory = 0;
    int major = 0;
    int minor = 0;
    int multiprocessors = 0;
    dllm_cu_device device = 0;
    json_t *section = json_object();
    if (driver->device_get(&device, ordinal) != DLLM_CU_SUCCESS ||
        driver->device_name(name, sizeof name, device) != DLLM_CU_SUCCESS ||
        driver->device_memory(&memory, device) != DLLM_CU_SUCCESS ||
        driver->device_attribute(&major, DLLM_CU_ATTRIBUTE_MAJOR, device) != DLLM_CU_SUCCESS ||
        driver->device_attribute(&minor, DLLM_CU_ATTRIBUTE_MINOR, device) != DLLM_CU_SUCCESS ||
        driver->device_attribute(&multiprocessors, DLLM_CU_ATTRIBUTE_MULTIPROCESSORS, device) !=
            DLLM_CU_SUCCESS) {
        add_text(section, "problem", "the driver does not describe it");
    } else {
        char arch[16];
        dllm__arch_name(arch, 10 * major + minor);
        if (!found->arch[0]) memcpy(found->arch, arch, sizeof arch);
        add_text(section, "name", name);
        add_text(section, "arch", arch);
        add_number(section, "multiprocessors", multiprocessors);
        add_number(section, "memory_bytes", (int64_t)memory);
    }
    (void)snprintf(title, sizeof title, "device %d", ordinal);
    add_section(found, title, section);
}

static void look_at_driver(findings *found)
{
    dllm_driver driver = {0};
    int version = 0;
    int count = 0;
    json_t *section = json_object();
    const dllm_status status = dllm__driver_open(&driver);
    add_flag(section, "usable", status == DLLM_OK);
    if (status != DLLM_OK) {
        add_text(section, "problem", dllm_last_error());
        add_text(section, "without it", "the CPU device works, and kernels can be prebuilt");
    } else {
        add_path(section, driver.library);
        if (driver.driver_version(&version) == DLLM_CU_SUCCESS)
            add_number(section, "cuda version", version);
        if (driver.device_count(&count) != DLLM_CU_SUCCESS) count = 0;
        add_number(section, "devices", count);
    }
    add_section(found, "driver", section);
    for (int i = 0; i < count; i++)
        look_at_device(found, &driver, i);
}

static void look_at_cublas(findings *found)
{
    dllm_cublas cublas = {0};
    json_t *section = json_object();
    const dllm_status status = dllm__cublas_open(&cublas);
    add_flag(section, "usable", status == DLLM_OK);
    if (status == DLLM_OK) {
        add_path(section, cublas.library);
        add_number(section, "version", (int64_t)cublas.version());
    } else {
        add_text(section, "problem", dllm_last_error());
        add_text(section, "without it", "the family gemm_chunk is not available");
    }
    add_section(found, "cublasLt", section);
}

static void look_at_cache(findings *found)
{
    json_t *section = json_object();
    const dllm_cache_dir *dir = &found->dir;
    add_text(section, "folder", dir->path[0] ? dir->path : "none");
    add_text(section, "named by", dir->variable);
    add_flag(section, "usable", dir->usable);
    add_flag(section, "exists", dir->exists);
    add_flag(section, "writable", dir->writable);
    if (dir->why[0]) add_text(section, "problem", dir->why);
    if (dir->why[0]) add_text(section, "without it", "each process compiles its kernels again");
    add_section(found, "cache", section);
}

/* The read-only folders behind it. */
static void look_at_layers(findings *found)
{
    json_t *section = json_object();
    dllm_cache_layers layers;
    dllm__cache_layers_find(&layers);
    for (int i = 1; i < layers.count; i++) {
        dllm_cache_folder folder;
        const dllm_cache_dir *dir = &layers.dirs[i];
        const bool on = dir->usable && dllm__cache_folder_open(&folder, dir, "v1/k", false);
        add_text(section, dir->usable ? dir->path : dir->variable,
                 on              ? "on"
                 : !dir->usable  ? dir->why
                 : folder.why[0] ? folder.why
                                 : "not there");
        if (on) dllm__cache_folder_close(&folder);
    }
    add_section(found, "read-only cache folders", section);
}

/* A variable that keeps a compiler away comes before one to install. */
static const char *compiler_advice(const dllm_compiler_description *about)
{
    const char *asked = secure_getenv("DLLM_NVRTC");
    if (strcmp(about->mode, "off") == 0)
        return "kernels in the cache still run; to have it unset DLLM_JIT";
    if (asked && *asked && !about->library[0])
        return "kernels in the cache still run; to have it unset DLLM_NVRTC, or name a libnvrtc.so "
               "in it";
    return "kernels in the cache still run; to have it install CUDA's NVRTC, or "
           "pip download nvidia-cuda-nvrtc, unpack it and name its libnvrtc.so in DLLM_NVRTC";
}

static void look_at_compiler(findings *found, dllm_compiler *compiler)
{
    dllm_compiler_description about = {0};
    json_t *section = json_object();
    dllm__compiler_describe(&about, compiler);
    found->can_compile = about.status == DLLM_OK;
    add_flag(section, "usable", found->can_compile);
    add_text(section, "mode", about.mode);
    if (about.library[0]) add_text(section, "path", about.library);
    if (about.version[0]) add_text(section, "version", about.version);
    if (about.build[0]) add_text(section, "build", about.build);
    add_text(section, "helper", about.helper[0] ? about.helper : "none: compiles in this process");
    if (about.helper_reason[0]) add_text(section, "helper problem", about.helper_reason);
    if (about.reason[0]) add_text(section, "problem", about.reason);
    if (!found->can_compile) add_text(section, "without it", compiler_advice(&about));
    add_section(found, "compiler", section);
}

/* The smallest kernel that a device of this machine would use; the newest shape without a device.
 */
static bool find_probe(dllm_kernel_spec *out, const char *arch)
{
    static const dllm_head_shape shape = {
        .vocab = 4096, .depth = 256, .hidden_type = DLLM_BF16, .weight_type = DLLM_BF16};
    dllm_device device;
    dllm_kernel_list *list = calloc(1, sizeof *list);
    if (!list) return false;
    if (dllm__device_typical(&device, arch[0] ? arch : "sm_90a") == DLLM_OK ||
        dllm__device_typical(&device, "sm_90a") == DLLM_OK)
        dllm__head_kernels(list, &device, &shape);
    bool found = false;
    for (int i = 0; i < list->count && !found; i++) {
        found = strcmp(list->specs[i].file, "combine.cu") == 0 || i + 1 == list->count;
        if (found) *out = list->specs[i];
    }
    free(list);
    return found;
}

static void try_compile(findings *found, dllm_compiler *compiler)
{
    struct timespec begin = {0};
    struct timespec end = {0};
    dllm_kernel_spec spec;
    dllm_compiled compiled = {0};
    tune_kernel kernel;
    json_t *section = json_object();
    if (find_probe(&spec, found->arch)) {
        tune_kernel_of_spec(&kernel, &spec);
        add_text(section, "kernel", kernel.program);
        add_text(section, "arch", kernel.arch);
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        const dllm_status status = dllm__compile(&compiled, compiler, &spec);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        add_flag(section, "compiles", status == DLLM_OK);
        if (status != DLLM_OK) add_text(section, "problem", dllm_last_error());
        add_number(section, "ms",
                   (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
        dllm__compiled_release(&compiled);
    } else {
        add_flag(section, "compiles", false);
        add_text(section, "problem", "no kernel is listed");
    }
    add_section(found, "probe", section);
}

static void look_at_variables(findings *found)
{
    static const char *const names[] = {
        "DLLM_CACHE_DIR",  "DLLM_SYSTEM_CACHE_PATH", "DLLM_CACHE_MAX", "DLLM_CAPTURE",   "DLLM_JIT",
        "DLLM_NVRTC",      "DLLM_KERNEL_DIR",        "DLLM_LOG",       "XDG_CACHE_HOME", "HOME",
        "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"};
    char why[DLLM_WHY_BYTES];
    json_t *section = json_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        (void)json_object_set_new(section, names[i], value ? tune_json_text(value) : json_null());
    }
    (void)dllm__cache_limit(why);
    if (why[0]) add_text(section, "problem", why);
    add_section(found, "variables", section);
}

static void print_value(const char *name, const json_t *value)
{
    (void)printf("  %-20s ", name);
    if (json_is_string(value))
        (void)printf("%s\n", json_string_value(value));
    else if (json_is_integer(value))
        (void)printf("%lld\n", (long long)json_integer_value(value));
    else
        (void)printf("%s\n", json_is_null(value) ? "not set" : json_is_true(value) ? "yes" : "no");
}

static void print_tree(json_t *tree)
{
    const char *title;
    const char *name;
    json_t *section;
    json_t *value;
    json_object_foreach(tree, title, section)
    {
        (void)printf("%s\n", title);
        json_object_foreach(section, name, value) print_value(name, value);
    }
}

/* One line to act on. */
static const char *verdict(const findings *found)
{
    if (found->arch[0] && found->can_compile) return "everything is there";
    if (found->arch[0]) return "a GPU, and no compiler: only kernels in the cache can run on it";
    if (found->can_compile)
        return "no GPU: use the CPU device; `dllm-tune prebuild --arch ARCH` compiles for another "
               "machine";
    return "no GPU and no compiler: use the CPU device";
}

int tune_doctor(const tune_options *options)
{
    findings found = {.options = options, .log = tune_log(options), .tree = json_object()};
    dllm_compiler *compiler = NULL;
    dllm__cache_dir_find(&found.dir);
    dllm__cache_dir_probe(&found.dir);
    look_at_library(&found);
    look_at_cpu(&found);
    look_at_driver(&found);
    look_at_cublas(&found);
    if (dllm__compiler_create(&compiler, NULL, &found.log) == DLLM_OK) {
        look_at_compiler(&found, compiler);
        try_compile(&found, compiler);
    }
    look_at_cache(&found);
    look_at_layers(&found);
    look_at_variables(&found);
    add_section(&found, "verdict", json_pack("{ss}", "in short", verdict(&found)));
    if (!options->json) print_tree(found.tree);
    dllm__compiler_destroy(compiler);
    if (options->json) return tune_print_json(found.tree);
    json_decref(found.tree);
    return TUNE_DONE;
}
