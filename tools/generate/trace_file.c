/* trace_file.c - see trace_file.h */
#include "trace_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A number as JSON has it: an infinite one is null. */
static bool write_number(FILE *file, const char *name, float value)
{
    if (!isfinite(value)) return fprintf(file, ", \"%s\": null}\n", name) > 0;
    return fprintf(file, ", \"%s\": %.9g}\n", name, (double)value) > 0;
}

static bool write_record(FILE *file, const dllm_trace_record *record)
{
    if (record->kind == DLLM_TRACE_STEP)
        return fprintf(file,
                       "{\"step\": %d, \"kind\": \"step\", \"read\": %d, \"committed\": %lld, "
                       "\"masks\": %lld",
                       (int)record->forward, (int)record->position, (long long)record->old_id,
                       (long long)record->new_id) > 0 &&
               write_number(file, "gap", record->key);
    return fprintf(file,
                   "{\"step\": %d, \"kind\": \"%s\", \"position\": %d, \"old\": %lld, "
                   "\"new\": %lld",
                   (int)record->forward, record->kind == DLLM_TRACE_EDIT ? "edit" : "commit",
                   (int)record->position, (long long)record->old_id,
                   (long long)record->new_id) > 0 &&
           write_number(file, "key", record->key);
}

FILE *dllm_trace_file_open(const char *path, dllm_message *message)
{
    FILE *file = fopen(path, "we");
    if (!file) dllm_message_set(message, "%s: %s", path, strerror(errno));
    return file;
}

bool dllm_trace_file_write(FILE *file, const char *path, const dllm_trace_record *records,
                           int64_t count, dllm_message *message)
{
    bool written = true;
    for (int64_t i = 0; written && i < count; i++)
        written = write_record(file, &records[i]);
    if (fclose(file) != 0 || !written) return DLLM_REFUSE(message, "%s cannot be written", path);
    return true;
}
