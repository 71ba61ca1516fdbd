/* test_host.c - the shared library in a program that loads it, uses it and closes it again */
#include "check_suite.h"

#include "dllm.h"
#include "scratch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOT(function) __typeof__(&(function)) function##_at

/* The calls of one use. */
static struct {
    SLOT(dllm_context_create);
    SLOT(dllm_context_destroy);
    SLOT(dllm_head_prepare);
    SLOT(dllm_head_run);
    SLOT(dllm_plan_destroy);
    SLOT(dllm_plan_workspace_bytes);
} calls;

static void find(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    ck_assert_msg(symbol != NULL, "%s", name);
    memcpy(slot, &symbol, sizeof symbol);
}

static int count_in(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        count++;
    ck_assert_int_eq(closedir(folder), 0);
    return count;
}

/* A thread that was joined may be seen for a moment longer. */
static int count_threads(int wanted)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int count = count_in("/proc/self/task");
    for (int i = 0; i < 1000 && count != wanted; i++) {
        (void)nanosleep(&pause, NULL);
        count = count_in("/proc/self/task");
    }
    return count;
}

/* Two rows of four logits each. */
static void run(const dllm_plan *plan)
{
    const float hidden[4] = {1.0f, 0.0f, 0.0f, 1.0f};
    const float weight[8] = {0.0f, 3.0f, 1.0f, 0.0f, 5.0f, 1.0f, 2.0f, 2.0f};
    int32_t argmax[2] = {-1, -1};
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = 2;
    buffers.hidden = hidden;
    buffers.weight = weight;
    buffers.hidden_stride = buffers.weight_stride = 2;
    buffers.argmax = argmax;
    buffers.workspace_bytes = calls.dllm_plan_workspace_bytes_at(plan);
    buffers.workspace = malloc(buffers.workspace_bytes + 1);
    ck_assert_ptr_nonnull(buffers.workspace);
    ck_assert_int_eq(calls.dllm_head_run_at(plan, &buffers, NULL), DLLM_OK);
    ck_assert_int_eq(argmax[0], 2);
    ck_assert_int_eq(argmax[1], 0);
    free(buffers.workspace);
}

/* On the CPU, by worker threads. */
static void use(void)
{
    dllm_context_options where = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_context *context;
    dllm_plan *plan;
    where.device = DLLM_DEVICE_CPU;
    where.threads = 2;
    options.vocab = 4;
    options.depth = 2;
    options.rows_max = 2;
    options.hidden_type = options.weight_type = DLLM_FP32;
    options.outputs = DLLM_OUT_ARGMAX;
    ck_assert_int_eq(calls.dllm_context_create_at(&context, &where), DLLM_OK);
    ck_assert_int_eq(calls.dllm_head_prepare_at(&plan, context, &options), DLLM_OK);
    run(plan);
    calls.dllm_plan_destroy_at(plan);
    calls.dllm_context_destroy_at(context);
}

START_TEST(it_is_closed_without_a_trace)
{
    char folder[SCRATCH_BYTES];
    scratch_make(folder);
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", folder, 1), 0);
    const int threads = count_in("/proc/self/task"), descriptors = count_in("/proc/self/fd");
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(DLLM_SHARED, RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(library != NULL, "%s", dlerror());
        find(library, "dllm_context_create", &calls.dllm_context_create_at);
        find(library, "dllm_context_destroy", &calls.dllm_context_destroy_at);
        find(library, "dllm_head_prepare", &calls.dllm_head_prepare_at);
        find(library, "dllm_head_run", &calls.dllm_head_run_at);
        find(library, "dllm_plan_destroy", &calls.dllm_plan_destroy_at);
        find(library, "dllm_plan_workspace_bytes", &calls.dllm_plan_workspace_bytes_at);
        use();
        ck_assert_int_eq(dlclose(library), 0);
        ck_assert_ptr_null(dlopen(DLLM_SHARED, RTLD_NOW | RTLD_NOLOAD));
        ck_assert_int_eq(count_threads(threads), threads);
        ck_assert_int_eq(count_in("/proc/self/fd"), descriptors);
    }
    scratch_remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *group = tcase_create("dlclose");
    tcase_add_test(group, it_is_closed_without_a_trace);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
