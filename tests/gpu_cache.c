/*
 * gpu_cache.c - what a second process compiles, and what happens where NVRTC is hidden
 *
 * Each process is this program again with the argument "child": it prepares one head of every family
 * and the sampler on the GPU, and answers in one line. Exit 77 without a device.
 */
#include "check_suite.h"

#include "device_memory.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char self[1024];
static char folder[SCRATCH_BYTES];

/* ---- the child ---- */

static dllm_status prepare_family(dllm_context *context, const char *family)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_plan *plan = NULL;
    options.vocab = 5000;
    options.depth = 64;
    options.rows_max = 100;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    options.family = family;
    const dllm_status status = dllm_head_prepare(&plan, context, &options);
    dllm_plan_destroy(plan);
    return status == DLLM_UNSUPPORTED ? DLLM_OK : status; /* sm90 elsewhere */
}

static dllm_status prepare_sampler(dllm_context *context)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_plan *plan = NULL;
    options.vocab = 5000;
    options.rows_max = 100;
    options.logits_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    const dllm_status status = dllm_sampler_prepare(&plan, context, &options);
    dllm_plan_destroy(plan);
    return status;
}

/* "status compiled loaded_disk message" */
static int child(void)
{
    static const char *const families[] = {"naive", "tiled", "mma", "sm90"};
    dllm_context *context = NULL;
    dllm_statistics counts = DLLM_STATISTICS_INIT;
    char message[512] = "";
    dllm_status status = dllm_context_create(&context, NULL);
    for (size_t i = 0; i < 4 && status == DLLM_OK; i++)
        status = prepare_family(context, families[i]);
    if (status == DLLM_OK) status = prepare_sampler(context);
    if (status != DLLM_OK) (void)snprintf(message, sizeof message, "%s", dllm_last_error());
    if (context) (void)dllm_context_statistics(context, &counts);
    (void)printf("%d %llu %llu %s\n", (int)status, (unsigned long long)counts.compiled,
                 (unsigned long long)counts.loaded_disk, message);
    dllm_context_destroy(context);
    return 0;
}

/* ---- the tests ---- */

typedef struct answer {
    int status;
    int compiled;
    int loaded_disk;
    char message[512];
} answer;

/* Runs a child with these settings in front of it. */
static answer run(const char *settings)
{
    char command[2048];
    char line[1024] = "";
    answer out = {-100, -1, -1, ""};
    (void)snprintf(command, sizeof command, "env DLLM_CACHE_DIR=%s/cache %s %s child", folder,
                   settings, self);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the test's own words */
    ck_assert_ptr_nonnull(pipe);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, pipe));
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_int_ge(sscanf(line, "%d %d %d %511[^\n]", /* NOLINT(cert-err34-c) */
                            &out.status, &out.compiled, &out.loaded_disk, out.message),
                     3);
    return out;
}

START_TEST(a_second_process_compiles_nothing)
{
    const answer first = run("");
    const answer second = run("");
    ck_assert_msg(first.status == DLLM_OK, "%s", first.message);
    ck_assert_int_gt(first.compiled, 4);
    ck_assert_int_eq(first.loaded_disk, 0);
    ck_assert_msg(second.status == DLLM_OK, "%s", second.message);
    ck_assert_int_eq(second.compiled, 0);
    ck_assert_int_eq(second.loaded_disk, first.compiled);
}
END_TEST

START_TEST(a_warm_cache_needs_no_compiler)
{
    const answer warm = run("");
    const answer hidden = run("DLLM_NVRTC=/nonexistent/libnvrtc.so");
    ck_assert_msg(warm.status == DLLM_OK, "%s", warm.message);
    ck_assert_msg(hidden.status == DLLM_OK, "%s", hidden.message);
    ck_assert_int_eq(hidden.compiled, 0);
    ck_assert_int_eq(hidden.loaded_disk, warm.compiled);
}
END_TEST

START_TEST(a_cold_cache_without_a_compiler_names_what_is_missing)
{
    const answer hidden = run("DLLM_NVRTC=/nonexistent/libnvrtc.so");
    ck_assert_int_eq(hidden.status, DLLM_LIBRARY_MISSING);
    ck_assert_msg(strstr(hidden.message, "/nonexistent/libnvrtc.so") != NULL, "%s", hidden.message);
}
END_TEST

static void make_folder(void)
{
    scratch_make(folder);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

int main(int count, char **arguments)
{
    char reason[256];
    if (count == 2 && strcmp(arguments[1], "child") == 0) return child();
    if (device_count(reason) < 1) {
        (void)printf("skipped: %s\n", reason);
        return 77;
    }
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return 1;
    Suite *suite = suite_create("gpu_cache");
    TCase *group = tcase_create("processes");
    tcase_add_checked_fixture(group, make_folder, remove_folder);
    tcase_add_test(group, a_second_process_compiles_nothing);
    tcase_add_test(group, a_warm_cache_needs_no_compiler);
    tcase_add_test(group, a_cold_cache_without_a_compiler_names_what_is_missing);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
