/*
 * test_api.c - the public interface over a fake driver and a fake compiler
 *
 * Linked with --wrap for dllm__driver_open (fake_driver.c) and for the allocators (fake_memory.c), so
 * that every driver call and every allocation can be made to fail in turn.
 */
#include "check_suite.h"

#include "dllm.h"
#include "fake_driver.h"
#include "fake_memory.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

/* ---- one head on the fake device ---- */

static char folder[SCRATCH_BYTES];
static dllm_driver unused_table;

static void start(void)
{
    fake_driver_start(&unused_table);
}

enum { ROWS = 70, VOCAB = 1000, DEPTH = 64, WORKSPACE = 1 << 20 };

static _Alignas(256) unsigned char memory[WORKSPACE];
static int32_t tokens[ROWS];
static float values[ROWS];

static dllm_head_options head_options(void)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = ROWS;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE;
    options.family = "mma";
    return options;
}

static dllm_head_buffers head_buffers(const dllm_plan *plan)
{
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = ROWS;
    buffers.hidden = buffers.weight = memory;
    buffers.argmax = tokens;
    buffers.lse = values;
    buffers.workspace = memory;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(plan);
    return buffers;
}

/* The whole life of a plan; the first failure's status. Everything is released. No assertion: Check
   allocates too. */
static bool said_why;

static dllm_status whole_life(void)
{
    dllm_context *context = NULL;
    dllm_plan *plan = NULL;
    const dllm_head_options options = head_options();
    dllm_status status = dllm_context_create(&context, NULL);
    if (status == DLLM_OK) status = dllm_head_prepare(&plan, context, &options);
    if (status == DLLM_OK) {
        const dllm_head_buffers buffers = head_buffers(plan);
        status = dllm_head_run(plan, &buffers, NULL);
    }
    said_why = status == DLLM_OK || dllm_last_error()[0] != '\0';
    dllm_plan_destroy(plan);
    dllm_context_destroy(context);
    return status;
}

START_TEST(a_run_pushes_launches_pops_and_nothing_else)
{
    dllm_context *context;
    dllm_plan *plan;
    const dllm_head_options options = head_options();
    start();
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_head_prepare(&plan, context, &options), DLLM_OK);
    const dllm_head_buffers buffers = head_buffers(plan);
    const int calls = fake_driver_calls();
    ck_assert_int_eq(dllm_head_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert_int_eq(fake_driver_launches(), 2);
    ck_assert_int_eq(fake_driver_calls() - calls, 4); /* push, two launches, pop */
    dllm_plan_destroy(plan);
    dllm_context_destroy(context);
    ck_assert_int_eq(fake_driver_live(), 0);
}
END_TEST

START_TEST(every_driver_call_may_fail)
{
    int n = 1;
    dllm_status status = DLLM_DRIVER_FAILED;
    for (; n < 100 && status != DLLM_OK; n++) {
        start();
        fake_driver_fail_call(n, 999);
        status = whole_life();
        ck_assert_msg(said_why, "call %d: status %d without a message", n, (int)status);
        ck_assert_msg(fake_driver_live() == 0, "%d objects live after call %d failed",
                      fake_driver_live(), n);
    }
    ck_assert_int_eq(status, DLLM_OK);
    ck_assert_int_gt(n, 15);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    int n = 0, refused = 0;
    bool failed;
    do {
        start();
        fake_memory_fail_allocation(++n);
        const dllm_status status = whole_life();
        failed = fake_memory_has_failed();
        fake_memory_fail_allocation(0);
        /* memory for the cache on disk may be done without: then the call succeeds */
        if (status != DLLM_OK) refused++;
        ck_assert_msg(said_why, "allocation %d: status %d without a message", n, (int)status);
        ck_assert_msg(fake_driver_live() == 0, "allocation %d", n);
    } while (failed);
    ck_assert_int_gt(refused, 2);
    start();
    ck_assert_int_eq(whole_life(), DLLM_OK);
}
END_TEST

START_TEST(no_rows_touch_nothing)
{
    dllm_context *context;
    dllm_plan *plan;
    const dllm_head_options options = head_options();
    const dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    start();
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_head_prepare(&plan, context, &options), DLLM_OK);
    ck_assert_int_eq(dllm_head_run(plan, &buffers, NULL), DLLM_OK);
    ck_assert_int_eq(fake_driver_launches(), 0);
    dllm_plan_destroy(plan);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(without_a_driver_the_cpu_still_works)
{
    dllm_context *context = NULL;
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    start();
    fake_driver_hide();
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_LIBRARY_MISSING);
    ck_assert_ptr_null(context);
    ck_assert_str_ne(dllm_last_error(), "");
    options.device = DLLM_DEVICE_CPU;
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_OK);
    ck_assert_str_eq(dllm_last_error(), "");
    dllm_context_destroy(context);
}
END_TEST

START_TEST(a_device_beyond_the_last_is_refused_by_number)
{
    dllm_context *context = NULL;
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = 7;
    start();
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_DRIVER_FAILED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "device 7"));
    ck_assert_int_eq(fake_driver_live(), 0);
}
END_TEST

/* The limit of the header holds whatever the device. */
START_TEST(threads_beyond_the_limit_are_refused_on_every_device)
{
    static const int32_t devices[] = {DLLM_DEVICE_CPU, 0, DLLM_DEVICE_CURRENT};
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_context *context = NULL;
    start();
    options.device = devices[_i];
    options.threads = 1025;
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "threads 1025 is outside 0 .. 1024");
    options.threads = -1;
    ck_assert_int_eq(dllm_context_create(&context, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "threads -1 is outside 0 .. 1024");
}
END_TEST

START_TEST(information_tells_where_kernels_came_from)
{
    dllm_context *context;
    dllm_plan *first, *second;
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    const dllm_head_options options = head_options();
    start();
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_head_prepare(&first, context, &options), DLLM_OK);
    ck_assert_int_eq(dllm_head_prepare(&second, context, &options), DLLM_OK);
    ck_assert_int_eq(dllm_plan_info(second, &information), DLLM_OK);
    ck_assert_str_eq(information.family, "mma");
    ck_assert_str_eq(information.kernel_source, "memory");
    ck_assert_str_eq(information.choice_source, "asked");
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    ck_assert_uint_eq(statistics.loaded_memory, 2);
    ck_assert_uint_eq(statistics.loaded_disk + statistics.loaded_compiled, 2);
    dllm_plan_destroy(first);
    dllm_plan_destroy(second);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(what_is_not_built_says_so)
{
    dllm_context *context;
    dllm_plan *plan = NULL;
    dllm_decode *decode = NULL;
    dllm_decode_options options;
    dllm_sequence sequence;
    start();
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_decode_preset(&options, &sequence, "llada"), DLLM_OK);
    ck_assert_int_eq(dllm_decode_prepare(&decode, context, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_head_prepare(&plan, NULL, NULL), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_head_run(NULL, NULL, NULL), DLLM_INVALID_ARGUMENT);
    dllm_context_destroy(context);
}
END_TEST

static void remove_folder(void)
{
    scratch_remove(folder);
}

static void set_environment(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
}

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *group = tcase_create("fake device");
    tcase_add_unchecked_fixture(group, set_environment, remove_folder);
    tcase_add_test(group, a_run_pushes_launches_pops_and_nothing_else);
    tcase_add_test(group, every_driver_call_may_fail);
    tcase_add_test(group, every_allocation_may_fail);
    tcase_add_test(group, no_rows_touch_nothing);
    tcase_add_test(group, without_a_driver_the_cpu_still_works);
    tcase_add_test(group, a_device_beyond_the_last_is_refused_by_number);
    tcase_add_loop_test(group, threads_beyond_the_limit_are_refused_on_every_device, 0, 3);
    tcase_add_test(group, information_tells_where_kernels_came_from);
    tcase_add_test(group, what_is_not_built_says_so);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
