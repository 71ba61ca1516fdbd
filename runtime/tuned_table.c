/* tuned_table.c - looks a key up in plan files that lie one behind the other */
#include "tuned_table.h"

#include "plan_file.h"
#include "status.h"

#include <string.h>

/* Copies a key without the lines that tell one card of an architecture from another. */
static void drop_card(char out[DLLM_PLAN_FILE_BYTES], const char *key)
{
    static const char *const names[] = {"device ", "memory_clock_mhz ", "memory_gib "};
    size_t used = 0;
    while (*key && used + strlen(key) < DLLM_PLAN_FILE_BYTES) {
        const char *newline = strchr(key, '\n');
        const size_t bytes = newline ? (size_t)(newline - key) + 1 : strlen(key);
        bool is_dropped = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            is_dropped |= strncmp(key, names[i], strlen(names[i])) == 0;
        if (!is_dropped) {
            memcpy(out + used, key, bytes);
            used += bytes;
        }
        key += bytes;
    }
    out[used] = '\0';
}

/* Copies one file of the table; returns where the next one begins, NULL behind the last. */
static const char *take_file(char out[3 * DLLM_PLAN_FILE_BYTES], const char *table)
{
    static const char end[] = "\nend\n";
    const char *found = strstr(table, end);
    if (!found) return NULL;
    const size_t bytes = (size_t)(found - table) + sizeof end - 1;
    out[0] = '\0';
    if (bytes < 3 * (size_t)DLLM_PLAN_FILE_BYTES) {
        memcpy(out, table, bytes);
        out[bytes] = '\0';
    }
    return table + bytes;
}

bool dllm__tuned_table_find(dllm_tuned *out, const char *table, const char *key,
                            dllm_operation operation)
{
    char wanted[DLLM_PLAN_FILE_BYTES], got[DLLM_PLAN_FILE_BYTES], text[3 * DLLM_PLAN_FILE_BYTES];
    dllm_plan_file file;
    bool found = false;
    drop_card(wanted, key);
    while (!found) {
        table = take_file(text, table);
        if (!table) break;
        if (dllm__plan_file_parse(&file, text)) continue;
        drop_card(got, file.key);
        found =
            strcmp(got, wanted) == 0 && dllm__tuned_parse(out, file.choice, operation) == DLLM_OK;
    }
    dllm__clear_error();
    return found;
}
