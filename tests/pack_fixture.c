/* pack_fixture.c - packs made by the library's own writer */
#include "pack_fixture.h"

#include "cache_fixture.h"
#include "check_suite.h"

#include <stdio.h>
#include <string.h>

void pack_add_kernel(dllm_pack_list *list, int number, const char *word)
{
    char cubin[64];
    const dllm_kernel_key key = fixture_key(number);
    const int bytes = snprintf(cubin, sizeof cubin, "%s: cubin %d", word, number);
    ck_assert(dllm__pack_list_add_kernel(list, &key, "13.0.88", (const unsigned char *)cubin,
                                         (size_t)bytes));
}

void pack_add_plan(dllm_pack_list *list, const char *key, double median_us)
{
    dllm_plan_file plan = {.beside = "library 0.1.0\n"};
    (void)snprintf(plan.key, sizeof plan.key, "device Fake\n%s\n", key);
    (void)snprintf(plan.choice, sizeof plan.choice, "family mma\nmedian_us %.3f\n", median_us);
    ck_assert(dllm__pack_list_add_plan(list, "v1/t/fake", &plan));
}

unsigned char *pack_finish(size_t *bytes, dllm_pack_list *list)
{
    unsigned char *pack = dllm__pack_write(bytes, list);
    ck_assert_ptr_nonnull(pack);
    dllm__pack_list_release(list);
    return pack;
}

unsigned char *pack_sample(size_t *bytes)
{
    dllm_pack_list list = {0};
    pack_add_kernel(&list, 1, "one");
    pack_add_kernel(&list, 2, "two");
    pack_add_plan(&list, "rows 64", 10.0);
    return pack_finish(bytes, &list);
}

dllm_cache_report pack_judge(const unsigned char *pack, size_t bytes)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    dllm_pack_list list = {0};
    ck_assert_int_eq(dllm__pack_list_merge(&list, &report, pack, bytes), DLLM_OK);
    dllm__pack_list_release(&list);
    return report;
}
