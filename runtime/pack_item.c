/* pack_item.c - members read as a cache folder's files are, and held against one another */
#include "pack_item.h"

#include "entry_walk.h"
#include "status.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char kernel_folder[] = "v1/k/";
static const char plan_folder[] = "v1/t/";

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static dllm_pack_verdict read_kernel(dllm_pack_item *out, const dllm_pack_member *member)
{
    if (dllm__entry_is_of_another_format(member->bytes, member->size))
        return DLLM_PACK_INCOMPATIBLE;
    const char *folder = member->folder + sizeof kernel_folder - 1;
    const bool good =
        strlen(folder) == 2 && !dllm__entry_parse(&out->entry, member->bytes, member->size) &&
        !dllm__entry_check_name(&out->key, out->build, &out->entry, folder, member->name);
    return good ? DLLM_PACK_GOOD : DLLM_PACK_CORRUPT;
}

/* Of the letters that dllm__plan_folder makes. */
static bool is_plan_folder(const char *name)
{
    const char *at = name;
    while (islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-')
        at++;
    return at > name && !*at && strlen(name) < DLLM_PLAN_FOLDER_BYTES - sizeof plan_folder;
}

static dllm_pack_verdict read_plan(dllm_pack_item *out, const dllm_pack_member *member)
{
    char name[DLLM_PLAN_NAME_BYTES];
    if (member->size >= sizeof out->text) return DLLM_PACK_CORRUPT;
    memcpy(out->text, member->bytes, member->size);
    out->text[member->size] = '\0';
    if (strlen(out->text) != member->size) return DLLM_PACK_CORRUPT;
    if (starts_with(out->text, "format ") && !starts_with(out->text, "format 1\n"))
        return DLLM_PACK_INCOMPATIBLE;
    if (dllm__plan_file_parse(&out->plan, out->text)) return DLLM_PACK_CORRUPT;
    dllm__plan_name(name, out->plan.key);
    const bool placed =
        is_plan_folder(member->folder + sizeof plan_folder - 1) && strcmp(name, member->name) == 0;
    return placed ? DLLM_PACK_GOOD : DLLM_PACK_CORRUPT;
}

dllm_pack_verdict dllm__pack_item_read(dllm_pack_item *out, const dllm_pack_member *member)
{
    if (member->damaged) return DLLM_PACK_CORRUPT;
    out->is_plan = starts_with(member->folder, plan_folder);
    if (out->is_plan) return read_plan(out, member);
    return starts_with(member->folder, kernel_folder) ? read_kernel(out, member)
                                                      : DLLM_PACK_CORRUPT;
}

/* Microseconds of the line of that name, which is never the first; 0 without one. */
static double median_of(const dllm_plan_file *plan)
{
    static const char name[] = "\nmedian_us ";
    const char *line = strstr(plan->choice, name);
    return line ? strtod(line + sizeof name - 1, NULL) : 0.0;
}

bool dllm__pack_plan_is_better(const dllm_plan_file *offered, const dllm_plan_file *here)
{
    return median_of(offered) < median_of(here);
}

/* What is in the list came from a pack before, and is good. */
static bool gives_way(const dllm_pack_member *here, const dllm_pack_item *offered)
{
    dllm_pack_item item;
    return offered->is_plan && dllm__pack_item_read(&item, here) == DLLM_PACK_GOOD &&
           dllm__pack_plan_is_better(&offered->plan, &item.plan);
}

static bool merge_member(dllm_pack_list *list, dllm_cache_report *report,
                         const dllm_pack_member *member)
{
    dllm_pack_item item;
    const dllm_pack_verdict verdict = dllm__pack_item_read(&item, member);
    if (verdict != DLLM_PACK_GOOD) {
        report->incompatible += verdict == DLLM_PACK_INCOMPATIBLE;
        report->corrupt += verdict == DLLM_PACK_CORRUPT;
        return true;
    }
    const dllm_pack_member *here = dllm__pack_list_find(list, member);
    if (here && here->size == member->size && memcmp(here->bytes, member->bytes, here->size) == 0) {
        report->same++;
        return true;
    }
    if (here && !gives_way(here, &item)) {
        report->worse++;
        return true;
    }
    report->added++;
    return dllm__pack_list_put(list, member);
}

dllm_status dllm__pack_list_merge(dllm_pack_list *list, dllm_cache_report *report, const void *pack,
                                  size_t pack_bytes)
{
    dllm_pack_reader reader;
    dllm_pack_member member;
    const char *reason = dllm__pack_check(pack, pack_bytes);
    if (reason)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "no dllm pack of %zu bytes: %s", pack_bytes,
                          reason);
    dllm__pack_open(&reader, pack, pack_bytes);
    while (dllm__pack_next(&member, &reader))
        if (!merge_member(list, report, &member))
            return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a pack");
    return DLLM_OK;
}
