/* tuned.c - the key of a tuned problem, and the list of what this context knows */
#include "tuned.h"

#include "plan_file.h"
#include "status.h"
#include "tuned_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct kept {
    struct kept *next;
    char key[DLLM_TUNED_TEXT_BYTES];
    dllm_tuned tuned;
} kept;

struct dllm_tuned_list {
    dllm_cache_dir dir;   /* of the plan files */
    pthread_mutex_t lock; /* held by prepare alone */
    kept *first;
};

dllm_status dllm__tuned_list_create(dllm_tuned_list **out)
{
    dllm_tuned_list *created = calloc(1, sizeof *created);
    if (!created || pthread_mutex_init(&created->lock, NULL) != 0) {
        free(created);
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a list of tuned choices");
    }
    dllm__cache_dir_find(&created->dir);
    *out = created;
    return DLLM_OK;
}

void dllm__tuned_list_destroy(dllm_tuned_list *list)
{
    if (!list) return;
    while (list->first) {
        kept *next = list->first->next;
        free(list->first);
        list->first = next;
    }
    (void)pthread_mutex_destroy(&list->lock);
    free(list);
}

const char *dllm__untunable(const dllm_problem *problem)
{
    if (problem->operation == DLLM_OPERATION_MERGE) return "merge has one choice";
    if (problem->family[0]) return "its family is given";
    if (problem->behaviour & DLLM_BATCH_INVARIANT) return "batch_invariant leaves one choice";
    if (problem->is_guided) return "guidance goes by rules of thumb";
    return problem->rows_max > 0 ? NULL : "it has no rows";
}

void dllm__tuned_problem(dllm_problem *out, const dllm_problem *asked)
{
    *out = (dllm_problem){
        .operation = asked->operation,
        .hidden_type = asked->hidden_type,
        .weight_type = asked->weight_type,
        .id_type = DLLM_INT32,
        .index_type = DLLM_INT32,
        .vocab = asked->vocab,
        .valid_vocab = asked->valid_vocab,
        .depth = asked->depth,
        .rows_max = dllm__row_bucket(asked->rows_max),
        .outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE,
        .prepare = asked->prepare & (DLLM_PREPARE_CACHE_ONLY | DLLM_PREPARE_NO_DISK),
        .alignment_bytes = asked->alignment_bytes,
    };
}

void dllm__tuned_key(char out[DLLM_TUNED_TEXT_BYTES], const dllm_problem *tuned,
                     const dllm_device *device)
{
    (void)snprintf(out, DLLM_TUNED_TEXT_BYTES,
                   "alignment_bytes %d\narch %s\ndepth %lld\ndevice %s\nhidden_type %s\n"
                   "memory_clock_mhz %d\nmemory_gib %lld\nmultiprocessors %d\noperation %s\n"
                   "outputs plain\npolicy graph\nrows %lld\nvalid_vocab %lld\nweight_type %s\n",
                   tuned->alignment_bytes, device->arch, (long long)tuned->depth, device->name,
                   dllm__type_name(tuned->hidden_type), device->memory_clock_mhz,
                   (long long)(device->memory_bytes >> 30), device->multiprocessors,
                   tuned->operation == DLLM_OPERATION_HEAD ? "head" : "sampler",
                   (long long)tuned->rows_max, (long long)tuned->valid_vocab,
                   dllm__type_name(tuned->weight_type));
}

/* The entry of a key, or NULL; the lock is held. */
static kept *find(const dllm_tuned_list *list, const char *key)
{
    kept *entry = list->first;
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

static bool find_in_memory(dllm_tuned *out, dllm_tuned_list *list, const char *key)
{
    (void)pthread_mutex_lock(&list->lock);
    const kept *entry = find(list, key);
    if (entry) *out = entry->tuned;
    (void)pthread_mutex_unlock(&list->lock);
    return entry != NULL;
}

static bool keep_in_memory(dllm_tuned_list *list, const char *key, const dllm_tuned *tuned)
{
    (void)pthread_mutex_lock(&list->lock);
    kept *entry = find(list, key);
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (entry) {
            memcpy(entry->key, key, strlen(key) + 1);
            entry->next = list->first;
            list->first = entry;
        }
    }
    if (entry) entry->tuned = *tuned;
    (void)pthread_mutex_unlock(&list->lock);
    return entry != NULL;
}

/* ---- on disk ---- */

static bool uses_disk(const dllm_tuned_list *list, const dllm_problem *problem)
{
    return list->dir.usable && !(problem->prepare & DLLM_PREPARE_NO_DISK);
}

/* A file that is there and cannot be used is a miss, and a log line. */
static bool find_on_disk(dllm_tuned *out, const dllm_context *context, const char *key,
                         dllm_operation operation)
{
    dllm_plan_file file;
    char why[DLLM_WHY_BYTES];
    const dllm_cache_dir *dir = &context->tuned->dir;
    bool found = dllm__plan_file_find(&file, dir, context->device.name, key, why);
    if (found && dllm__tuned_parse(out, file.choice, operation) != DLLM_OK) {
        (void)snprintf(why, sizeof why, "%s", dllm_last_error());
        dllm__clear_error();
        found = false;
    }
    if (!found && why[0]) dllm__log(&context->log, "a tuned choice is not used: %s", why);
    return found;
}

static void make_file(dllm_plan_file *out, const dllm_context *context, const char *key,
                      const dllm_tuned *tuned)
{
    (void)snprintf(out->key, sizeof out->key, "%s", key);
    dllm__tuned_text(out->choice, tuned);
    (void)snprintf(out->beside, sizeof out->beside, "driver %d\nlibrary %s\n",
                   context->device.driver_version, dllm_version());
}

/* When it was measured; what is exported later has no time, so that equal contents are equal. */
static void add_date(dllm_plan_file *file)
{
    const time_t now = time(NULL);
    struct tm parts;
    char date[32], before[257];
    (void)snprintf(before, sizeof before, "%.256s", file->beside);
    if (!gmtime_r(&now, &parts)) return;
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    (void)snprintf(file->beside, sizeof file->beside, "date %s\n%s", date, before);
}

static bool publish(const dllm_context *context, const char *key, const dllm_tuned *tuned)
{
    dllm_plan_file file;
    char why[DLLM_WHY_BYTES];
    make_file(&file, context, key, tuned);
    add_date(&file);
    const bool published = dllm__plan_file_publish(&context->tuned->dir, &dllm__file_calls,
                                                   context->device.name, &file, why);
    if (!published) dllm__log(&context->log, "a tuned choice was not stored: %s", why);
    return published;
}

/* ---- found, kept ---- */

/* Measured on this device: known to this context, or on disk. */
static bool find_measured(dllm_tuned *out, const dllm_context *context, const char *key,
                          const dllm_problem *problem)
{
    if (problem->prepare & DLLM_PREPARE_DETERMINISTIC) return false;
    if (find_in_memory(out, context->tuned, key)) return true;
    if (!uses_disk(context->tuned, problem) || !find_on_disk(out, context, key, problem->operation))
        return false;
    (void)keep_in_memory(context->tuned, key, out);
    return true;
}

static bool is_usable(const dllm_tuned *tuned, dllm_context *context, const dllm_problem *problem,
                      dllm_device *device)
{
    if (tuned->choice.family->space->chunked && !device->has_cublas)
        device->has_cublas = dllm__context_cublas(context) == DLLM_OK;
    const bool legal = dllm__check_choice(&tuned->choice, problem, device) == DLLM_OK;
    if (!legal)
        dllm__log(&context->log, "tuned choice for %lld rows is not used: %s",
                  (long long)problem->rows_max, dllm_last_error());
    dllm__clear_error();
    return legal;
}

bool dllm__tuned_find(dllm_tuned *out, dllm_context *context, const dllm_problem *problem,
                      dllm_device *device)
{
    dllm_problem tuned;
    char key[DLLM_TUNED_TEXT_BYTES];
    if (device->is_cpu || dllm__untunable(problem)) return false;
    dllm__tuned_problem(&tuned, problem);
    dllm__tuned_key(key, &tuned, device);
    if (find_measured(out, context, key, problem) && is_usable(out, context, problem, device))
        return true;
    if (!dllm__tuned_table_find(out, dllm__builtin_plans, key, problem->operation)) return false;
    out->is_builtin = true;
    return is_usable(out, context, problem, device);
}

dllm_status dllm__tuned_keep(dllm_context *context, const dllm_problem *problem,
                             const dllm_tuned *tuned, bool *stored)
{
    dllm_problem plain;
    char key[DLLM_TUNED_TEXT_BYTES];
    dllm__tuned_problem(&plain, problem);
    dllm__tuned_key(key, &plain, &context->device);
    if (!keep_in_memory(context->tuned, key, tuned))
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a tuned choice");
    if (stored) *stored = uses_disk(context->tuned, problem) && publish(context, key, tuned);
    return DLLM_OK;
}

/* ---- given, shown ---- */

/* The lines of a key that name the device are those of every key made here. */
static bool is_of_device(const char *key, const dllm_device *device)
{
    dllm_problem any = {.rows_max = 1};
    char own[DLLM_TUNED_TEXT_BYTES];
    static const char *const names[] = {"arch ", "device ", "memory_clock_mhz ", "memory_gib ",
                                        "multiprocessors "};
    dllm__tuned_key(own, &any, device);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *line = strstr(own, names[i]);
        char wanted[DLLM_TUNED_TEXT_BYTES];
        (void)snprintf(wanted, sizeof wanted, "\n%.*s\n", (int)strcspn(line, "\n"), line);
        if (!strstr(key, wanted)) return false;
    }
    return true;
}

dllm_status dllm__tuned_give(dllm_gift *out, dllm_context *context, const dllm_plan_file *file)
{
    dllm_tuned tuned, here;
    const dllm_operation operation =
        strstr(file->key, "\noperation sampler\n") ? DLLM_OPERATION_SAMPLER : DLLM_OPERATION_HEAD;
    *out = DLLM_GIFT_FOREIGN;
    if (strlen(file->key) >= DLLM_TUNED_TEXT_BYTES || !is_of_device(file->key, &context->device))
        return DLLM_OK;
    if (dllm__tuned_parse(&tuned, file->choice, operation) != DLLM_OK) {
        dllm__log(&context->log, "a tuned choice is not taken in: %s", dllm_last_error());
        dllm__clear_error();
        return DLLM_OK;
    }
    const bool known = find_in_memory(&here, context->tuned, file->key);
    *out = !known                              ? DLLM_GIFT_TAKEN
           : here.median_us == tuned.median_us ? DLLM_GIFT_HAD
           : here.median_us < tuned.median_us  ? DLLM_GIFT_WORSE
                                               : DLLM_GIFT_TAKEN;
    if (*out != DLLM_GIFT_TAKEN || keep_in_memory(context->tuned, file->key, &tuned))
        return DLLM_OK;
    return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a tuned choice");
}

bool dllm__tuned_visit(const dllm_context *context, dllm_tuned_visit visit, void *user)
{
    bool further = true;
    char folder[DLLM_PLAN_FOLDER_BYTES];
    dllm__plan_folder(folder, context->device.name);
    (void)pthread_mutex_lock(&context->tuned->lock);
    for (const kept *entry = context->tuned->first; entry && further; entry = entry->next) {
        dllm_plan_file file;
        make_file(&file, context, entry->key, &entry->tuned);
        further = visit(user, folder, &file);
    }
    (void)pthread_mutex_unlock(&context->tuned->lock);
    return further;
}
