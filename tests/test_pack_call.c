/* test_pack_call.c - one context prepares and exports, others import and compile nothing */
#include "check_suite.h"

#include "dllm.h"
#include "fake_driver.h"
#include "scratch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[SCRATCH_BYTES];
static void *pack;
static size_t bytes;

/* Each context has an empty folder, so that nothing comes by way of the disk. */
static dllm_context *open_context(void)
{
    static int number;
    static dllm_driver unused_table;
    char path[2 * SCRATCH_BYTES];
    dllm_context *context;
    (void)snprintf(path, sizeof path, "%s/%d", folder, number++);
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", path, 1), 0);
    fake_driver_start(&unused_table);
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    return context;
}

static dllm_status prepare(dllm_context *context, uint32_t how)
{
    dllm_plan *plan = NULL;
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = 1000;
    options.depth = 64;
    options.rows_max = 64;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX;
    options.prepare = how;
    const dllm_status status = dllm_head_prepare(&plan, context, &options);
    dllm_plan_destroy(plan);
    return status;
}

static dllm_statistics statistics_of(const dllm_context *context)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    ck_assert_int_eq(dllm_context_statistics(context, &statistics), DLLM_OK);
    return statistics;
}

/* Exports what a context that prepared in this way has. */
static void export_after(uint32_t how)
{
    dllm_context *context = open_context();
    ck_assert_int_eq(prepare(context, how), DLLM_OK);
    ck_assert_int_eq(dllm_cache_export(&pack, &bytes, context), DLLM_OK);
    dllm_context_destroy(context);
}

static dllm_cache_report import(dllm_context *context)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    ck_assert_int_eq(dllm_cache_import(&report, context, pack, bytes), DLLM_OK);
    return report;
}

static void make_folder(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

static void clean(void)
{
    dllm_cache_release(pack);
    pack = NULL;
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
}

static const uint32_t ways[] = {0, DLLM_PREPARE_NO_DISK};

START_TEST(an_importer_without_compiler_is_served)
{
    export_after(ways[_i]);
    (void)setenv("DLLM_NVRTC", "/no/such.so", 1);
    dllm_context *context = open_context();
    ck_assert_int_eq(prepare(context, DLLM_PREPARE_CACHE_ONLY), DLLM_NOT_CACHED);
    const dllm_cache_report report = import(context);
    ck_assert_uint_gt(report.added, 0);
    ck_assert_int_eq(prepare(context, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    const dllm_statistics statistics = statistics_of(context);
    ck_assert_uint_eq(statistics.loaded_imported, report.added);
    ck_assert_uint_eq(statistics.compiled + statistics.loaded_disk, 0);
    ck_assert_uint_eq(import(context).same, report.added);
    dllm_context_destroy(context);
    ck_assert_int_eq(fake_driver_live(), 0);
}
END_TEST

START_TEST(what_was_imported_is_exported_again)
{
    void *again;
    size_t again_bytes;
    export_after(0);
    dllm_context *context = open_context();
    (void)import(context);
    ck_assert_int_eq(dllm_cache_export(&again, &again_bytes, context), DLLM_OK);
    ck_assert_uint_eq(again_bytes, bytes);
    ck_assert_mem_eq(again, pack, bytes);
    dllm_cache_release(again);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(by_way_of_the_users_folder)
{
    export_after(0);
    dllm_context *context = open_context();
    const dllm_cache_report report = import(NULL);
    ck_assert_uint_gt(report.added, 0);
    ck_assert_int_eq(prepare(context, DLLM_PREPARE_CACHE_ONLY), DLLM_OK);
    ck_assert_uint_eq(statistics_of(context).loaded_disk, report.added);
    void *again;
    size_t again_bytes;
    ck_assert_int_eq(dllm_cache_export(&again, &again_bytes, NULL), DLLM_OK);
    ck_assert_uint_eq(again_bytes, bytes);
    dllm_cache_release(again);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(kernels_of_another_device_are_incompatible)
{
    export_after(0);
    dllm_context *context = open_context();
    dllm_context_destroy(context);
    fake_driver_set_attribute(75, 8); /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
    ck_assert_int_eq(dllm_context_create(&context, NULL), DLLM_OK);
    const dllm_cache_report report = import(context);
    ck_assert_uint_eq(report.added, 0);
    ck_assert_uint_gt(report.incompatible, 0);
    dllm_context_destroy(context);
}
END_TEST

static dllm_cu_result refuse_first(void *user, const void *image)
{
    bool *refused = user;
    (void)image;
    if (*refused) return DLLM_CU_SUCCESS;
    *refused = true;
    return DLLM_CU_NO_BINARY_FOR_GPU;
}

START_TEST(imported_bytes_that_the_driver_refuses_are_compiled)
{
    bool refused = false;
    export_after(0);
    dllm_context *context = open_context();
    const uint64_t kernels = import(context).added;
    fake_driver_on_image(refuse_first, &refused);
    ck_assert_int_eq(prepare(context, 0), DLLM_OK);
    ck_assert(refused);
    ck_assert_uint_eq(statistics_of(context).compiled, 1);
    ck_assert_uint_eq(statistics_of(context).loaded_imported, kernels - 1);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(what_is_no_pack_is_refused_whole)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    export_after(0);
    dllm_context *context = open_context();
    ck_assert_int_eq(dllm_cache_import(&report, context, pack, bytes - 1), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "cut off"));
    ck_assert_int_eq(dllm_cache_import(&report, context, "x", 1), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm_cache_import(&report, context, NULL, 0), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(prepare(context, DLLM_PREPARE_CACHE_ONLY), DLLM_NOT_CACHED);
    dllm_context_destroy(context);
}
END_TEST

START_TEST(merging_a_pack_with_itself_changes_nothing)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    void *merged;
    size_t merged_bytes;
    export_after(0);
    ck_assert_int_eq(dllm_cache_merge(&merged, &merged_bytes, &report, pack, bytes, pack, bytes),
                     DLLM_OK);
    ck_assert_uint_eq(merged_bytes, bytes);
    ck_assert_mem_eq(merged, pack, bytes);
    ck_assert_uint_gt(report.added, 0);
    ck_assert_uint_eq(report.same, report.added);
    dllm_cache_release(merged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack_call");
    TCase *call = tcase_create("call");
    tcase_add_unchecked_fixture(call, make_folder, remove_folder);
    tcase_add_checked_fixture(call, NULL, clean);
    tcase_set_timeout(call, 60);
    tcase_add_loop_test(call, an_importer_without_compiler_is_served, 0, 2);
    tcase_add_test(call, what_was_imported_is_exported_again);
    tcase_add_test(call, by_way_of_the_users_folder);
    tcase_add_test(call, kernels_of_another_device_are_incompatible);
    tcase_add_test(call, imported_bytes_that_the_driver_refuses_are_compiled);
    tcase_add_test(call, what_is_no_pack_is_refused_whole);
    tcase_add_test(call, merging_a_pack_with_itself_changes_nothing);
    suite_add_tcase(suite, call);
    return check_suite_run(suite);
}
