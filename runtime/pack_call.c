/* pack_call.c - the public entries of the section cache */
#include "argument.h"
#include "cache_dirs.h"
#include "context.h"
#include "pack_folder.h"
#include "status.h"
#include "tuned.h"

#include <stdlib.h>
#include <string.h>

static dllm_status find_folder(dllm_cache_dir *out)
{
    dllm__cache_dir_find(out);
    return out->usable ? DLLM_OK
                       : dllm__fail(DLLM_UNSUPPORTED, "no cache folder can be used: %s", out->why);
}

/* ---- export */

static bool add_kernel(void *user, const dllm_kernel_key *key, const char *build,
                       const unsigned char *cubin, size_t cubin_bytes)
{
    return dllm__pack_list_add_kernel(user, key, build, cubin, cubin_bytes);
}

static bool add_plan(void *user, const char *folder, const dllm_plan_file *plan)
{
    return dllm__pack_list_add_plan(user, folder, plan);
}

static bool collect_context(dllm_pack_list *list, dllm_context *context)
{
    if (context->device.is_cpu) return true;
    return dllm__kernel_cache_visit(context->kernels, add_kernel, list) &&
           dllm__tuned_visit(context, add_plan, list);
}

static dllm_status give_pack(void **out, size_t *out_bytes, dllm_pack_list *list)
{
    *out = dllm__pack_write(out_bytes, list);
    return *out ? DLLM_OK : dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a pack");
}

dllm_status dllm_cache_export(void **out, size_t *out_bytes, dllm_context *context)
{
    dllm_cache_dir dir;
    dllm_pack_list list = {0};
    dllm__clear_error();
    if (!out) return dllm__fail(DLLM_INVALID_ARGUMENT, "out is NULL");
    if (!out_bytes) return dllm__fail(DLLM_INVALID_ARGUMENT, "out_bytes is NULL");
    if (!context) DLLM_TRY(find_folder(&dir));
    const bool collected =
        context ? collect_context(&list, context) : dllm__pack_list_add_folder(&list, NULL, &dir);
    const dllm_status status = collected ? give_pack(out, out_bytes, &list)
                                         : dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a pack");
    dllm__pack_list_release(&list);
    return status;
}

/* ---- import */

/* Counts an entry that was counted as added by what the context made of it. */
static void correct(dllm_cache_report *report, dllm_gift gift)
{
    report->added -= gift != DLLM_GIFT_TAKEN;
    report->same += gift == DLLM_GIFT_HAD;
    report->worse += gift == DLLM_GIFT_WORSE;
    report->incompatible += gift == DLLM_GIFT_FOREIGN;
}

static dllm_status give_item(dllm_gift *out, dllm_context *context, const dllm_pack_item *item)
{
    char arch[sizeof context->device.arch];
    if (item->is_plan) return dllm__tuned_give(out, context, &item->plan);
    *out = DLLM_GIFT_FOREIGN;
    if (!dllm__kernel_key_line(arch, sizeof arch, &item->key, "arch") ||
        strcmp(arch, context->device.arch) != 0)
        return DLLM_OK;
    return dllm__kernel_cache_give(out, context->kernels, &item->key, item->build, &item->entry);
}

static dllm_status import_context(dllm_cache_report *report, dllm_context *context,
                                  const void *pack, size_t pack_bytes)
{
    dllm_pack_list good = {0};
    dllm_status status = dllm__pack_list_merge(&good, report, pack, pack_bytes);
    for (int i = 0; status == DLLM_OK && i < good.count; i++) {
        dllm_pack_item item;
        dllm_gift gift = DLLM_GIFT_FOREIGN;
        (void)dllm__pack_item_read(&item, &good.members[i]);
        if (!context->device.is_cpu) status = give_item(&gift, context, &item);
        if (status == DLLM_OK) correct(report, gift);
    }
    dllm__pack_list_release(&good);
    return status;
}

static dllm_status import_folder(dllm_cache_report *report, const void *pack, size_t pack_bytes)
{
    static const dllm_log log = {NULL, NULL};
    dllm_cache_dir dir;
    DLLM_TRY(find_folder(&dir));
    return dllm__pack_import_folder(report, &dir, pack, pack_bytes, false, &log);
}

dllm_status dllm_cache_import(dllm_cache_report *out, dllm_context *context, const void *pack,
                              size_t pack_bytes)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    dllm__clear_error();
    if (!pack) return dllm__fail(DLLM_INVALID_ARGUMENT, "pack is NULL");
    DLLM_TRY(context ? import_context(&report, context, pack, pack_bytes)
                     : import_folder(&report, pack, pack_bytes));
    return out ? dllm__give_struct(out, &report, sizeof report) : DLLM_OK;
}

/* ---- merge */

dllm_status dllm_cache_merge(void **out, size_t *out_bytes, dllm_cache_report *report,
                             const void *first, size_t first_bytes, const void *second,
                             size_t second_bytes)
{
    dllm_cache_report counts = DLLM_CACHE_REPORT_INIT;
    dllm_pack_list list = {0};
    dllm__clear_error();
    if (!out) return dllm__fail(DLLM_INVALID_ARGUMENT, "out is NULL");
    if (!out_bytes) return dllm__fail(DLLM_INVALID_ARGUMENT, "out_bytes is NULL");
    if (!first) return dllm__fail(DLLM_INVALID_ARGUMENT, "first is NULL");
    if (!second) return dllm__fail(DLLM_INVALID_ARGUMENT, "second is NULL");
    dllm_status status = dllm__pack_list_merge(&list, &counts, first, first_bytes);
    if (status == DLLM_OK) status = dllm__pack_list_merge(&list, &counts, second, second_bytes);
    if (status == DLLM_OK && report) status = dllm__give_struct(report, &counts, sizeof counts);
    if (status == DLLM_OK) status = give_pack(out, out_bytes, &list);
    dllm__pack_list_release(&list);
    return status;
}

void dllm_cache_release(void *pack)
{
    free(pack);
}
