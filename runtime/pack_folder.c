/* pack_folder.c - walks of a folder, and publications in it */
#include "pack_folder.h"

#include "entry_read.h"
#include "entry_store.h"
#include "entry_walk.h"
#include "plan_walk.h"
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a folder into a pack */

bool dllm__pack_list_add_kernel(dllm_pack_list *list, const dllm_kernel_key *key, const char *build,
                                const unsigned char *cubin, size_t cubin_bytes)
{
    dllm_kernel_key text;
    dllm_pack_member member = {0};
    dllm__kernel_key_with_build(&text, key, build);
    const dllm_entry entry = {text.text, text.text_bytes, cubin, cubin_bytes};
    member.size = DLLM_ENTRY_HEADER_BYTES + entry.key_bytes + cubin_bytes;
    unsigned char *bytes = malloc(member.size);
    if (!bytes) return false;
    dllm__entry_header(bytes, &entry);
    memcpy(bytes + DLLM_ENTRY_HEADER_BYTES, entry.key_text, entry.key_bytes);
    memcpy(bytes + DLLM_ENTRY_HEADER_BYTES + entry.key_bytes, cubin, cubin_bytes);
    member.bytes = bytes;
    (void)snprintf(member.folder, sizeof member.folder, "v1/k/%.2s", key->hex);
    dllm__entry_name(member.name, key->hex, build);
    const bool added = dllm__pack_list_put(list, &member);
    free(bytes);
    return added;
}

bool dllm__pack_list_add_plan(dllm_pack_list *list, const char *folder, const dllm_plan_file *plan)
{
    char text[DLLM_PLAN_TEXT_BYTES];
    dllm_pack_member member = {.bytes = (const unsigned char *)text};
    if (!dllm__plan_file_text(text, plan)) return true; /* nor would a folder hold it */
    member.size = strlen(text);
    (void)snprintf(member.folder, sizeof member.folder, "%s", folder);
    dllm__plan_name(member.name, plan->key);
    return dllm__pack_list_put(list, &member);
}

typedef struct collection {
    dllm_pack_list *list;
    dllm_cache_report *report;
    const dllm_cache_dir *dir;
    bool no_memory;
} collection;

static void count_left_out(collection *c, bool bad)
{
    c->report->corrupt += bad;
    c->report->failed += !bad;
}

static void collect_kernel(void *user, const dllm_entry_report *report)
{
    collection *c = user;
    dllm_cache_folder folder;
    dllm_read_file file;
    char below[16];
    if (report->reason) {
        count_left_out(c, !report->refused && !report->ignored);
        return;
    }
    (void)snprintf(below, sizeof below, "v1/k/%.2s", report->folder);
    if (!dllm__cache_folder_open(&folder, c->dir, below, false)) return;
    /* read once more: the visit knows the file's name, not its bytes */
    if (dllm__entry_read(&file, &folder, report->name) == DLLM_READ_ENTRY) {
        dllm_pack_member member = {.bytes = file.bytes, .size = file.size};
        memcpy(member.folder, below, sizeof below);
        (void)snprintf(member.name, sizeof member.name, "%s", report->name);
        c->no_memory |= !dllm__pack_list_put(c->list, &member);
    }
    free(file.bytes);
    dllm__cache_folder_close(&folder);
}

static void collect_plan(void *user, const dllm_plan_report *report)
{
    collection *c = user;
    if (report->reason)
        count_left_out(c, !report->refused);
    else
        c->no_memory |= !dllm__pack_list_add_plan(c->list, report->folder, report->plan);
}

bool dllm__pack_list_add_folder(dllm_pack_list *list, dllm_cache_report *report,
                                const dllm_cache_dir *dir)
{
    dllm_cache_report unasked = DLLM_CACHE_REPORT_INIT;
    collection c = {list, report ? report : &unasked, dir, false};
    dllm__entry_walk(dir, collect_kernel, &c);
    dllm__plan_walk(dir, collect_plan, &c);
    return !c.no_memory;
}

/* ---- a pack into a folder */

typedef enum outcome { ADDED, SAME, WORSE } outcome;

static outcome compare_bytes(const dllm_read_file *here, const dllm_pack_member *member)
{
    return here->size == member->size && memcmp(here->bytes, member->bytes, here->size) == 0
               ? SAME
               : WORSE;
}

/* What is here and bad is as good as not here. */
static outcome compare_kernel(const dllm_cache_folder *folder, const dllm_pack_member *member)
{
    dllm_read_file here;
    const bool read = dllm__entry_read(&here, folder, member->name) == DLLM_READ_ENTRY;
    const outcome result = read ? compare_bytes(&here, member) : ADDED;
    free(here.bytes);
    return result;
}

static outcome compare_plan(const dllm_cache_folder *folder, const dllm_pack_member *member,
                            const dllm_pack_item *item)
{
    dllm_plan_file here;
    char why[DLLM_WHY_BYTES], text[DLLM_PLAN_TEXT_BYTES];
    if (!dllm__plan_file_read(&here, folder, member->name, why)) return ADDED;
    if (dllm__plan_file_text(text, &here) && strcmp(text, item->text) == 0) return SAME;
    return dllm__pack_plan_is_better(&item->plan, &here) ? ADDED : WORSE;
}

static outcome compare(const dllm_cache_dir *dir, const dllm_pack_member *member,
                       const dllm_pack_item *item)
{
    dllm_cache_folder folder;
    if (!dllm__cache_folder_open(&folder, dir, member->folder, false)) return ADDED;
    const outcome result =
        item->is_plan ? compare_plan(&folder, member, item) : compare_kernel(&folder, member);
    dllm__cache_folder_close(&folder);
    return result;
}

static bool publish(const dllm_cache_dir *dir, const dllm_pack_member *member,
                    const dllm_pack_item *item, const dllm_log *log)
{
    char why[DLLM_WHY_BYTES] = "";
    const bool published =
        item->is_plan
            ? dllm__text_publish(dir, &dllm__file_calls, member->folder, member->name, item->text,
                                 why)
            : dllm__entry_publish(dir, &dllm__file_calls, member->name, &item->entry, why);
    if (!published) dllm__log(log, "%s of a pack was not stored: %s", member->name, why);
    return published;
}

dllm_status dllm__pack_import_folder(dllm_cache_report *report, const dllm_cache_dir *dir,
                                     const void *pack, size_t pack_bytes, bool dry_run,
                                     const dllm_log *log)
{
    dllm_pack_list good = {0};
    dllm_status status = dllm__pack_list_merge(&good, report, pack, pack_bytes);
    for (int i = 0; status == DLLM_OK && i < good.count; i++) {
        const dllm_pack_member *member = &good.members[i];
        dllm_pack_item item;
        (void)dllm__pack_item_read(&item, member);
        const outcome result = compare(dir, member, &item);
        const bool failed = result == ADDED && !dry_run && !publish(dir, member, &item, log);
        report->added -= result != ADDED || failed;
        report->same += result == SAME;
        report->worse += result == WORSE;
        report->failed += failed;
    }
    dllm__pack_list_release(&good);
    return status;
}
