/* kernel_sources.c - finds a kernel file and what it includes, embedded or in DLLM_KERNEL_DIR */
#include "kernel_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"
#include "status.h"

enum { NAME_BYTES = 64, PATH_BYTES = 4096, FILE_BYTES_MAX = 4 << 20 };

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const dllm_source *)left)->name, ((const dllm_source *)right)->name);
}

static dllm_status find_embedded(dllm_source *out, const char *name)
{
    const dllm_source wanted = {.name = name};
    const dllm_source *found =
        bsearch(&wanted, dllm__embedded_sources, (size_t)dllm__embedded_source_count, sizeof wanted,
                compare_names);
    if (!found) return dllm__fail(DLLM_UNSUPPORTED, "no kernel file %s in this library", name);
    *out = *found;
    return DLLM_OK;
}

/** Size of an open file, or -1. */
static long file_size(FILE *file)
{
    if (fseek(file, 0, SEEK_END) != 0) return -1;
    const long size = ftell(file);
    return fseek(file, 0, SEEK_SET) == 0 ? size : -1;
}

/** Reads a file into one block: its bytes, a zero byte, its name. */
static dllm_status read_file(dllm_source *out, unsigned char **owned, const char *path,
                             const char *name)
{
    dllm_status status = DLLM_UNSUPPORTED;
    unsigned char *block = NULL;
    FILE *file = fopen(path, "rbe");
    const long size = file ? file_size(file) : -1;
    if (size < 0 || size > FILE_BYTES_MAX) {
        status = dllm__fail(DLLM_UNSUPPORTED, "kernel file %s cannot be read: %s", path,
                            size > 0 ? "it is too large" : strerror(errno));
        goto done;
    }
    const size_t bytes = (size_t)size;
    block = calloc(1, bytes + 1 + strlen(name) + 1);
    if (!block) {
        status = dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for kernel file %s", path);
        goto done;
    }
    if (fread(block, 1, bytes, file) != bytes || memchr(block, 0, bytes)) {
        status = dllm__fail(DLLM_UNSUPPORTED, "kernel file %s is not readable text", path);
        goto done;
    }
    memcpy(block + bytes + 1, name, strlen(name) + 1);
    *out = (dllm_source){(char *)block + bytes + 1, block, bytes, {0}};
    dllm__sha256(out->digest, block, bytes);
    *owned = block;
    block = NULL;
    status = DLLM_OK;
done:
    free(block);
    if (file) (void)fclose(file);
    return status;
}

/** Appends the file `name` unless it is there. */
static dllm_status add(dllm_source_set *set, const char *folder, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->sources[i].name, name) == 0) return DLLM_OK;
    if (set->count == DLLM_SOURCES_MAX)
        return dllm__fail(DLLM_UNSUPPORTED, "%s includes more than %d files", set->sources[0].name,
                          DLLM_SOURCES_MAX - 1);
    dllm_source *slot = &set->sources[set->count];
    if (folder) {
        char path[PATH_BYTES];
        if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
            return dllm__fail(DLLM_UNSUPPORTED, "DLLM_KERNEL_DIR is longer than %d bytes",
                              PATH_BYTES);
        DLLM_TRY(read_file(slot, &set->owned[set->count], path, name));
    } else {
        DLLM_TRY(find_embedded(slot, name));
    }
    set->count++;
    return DLLM_OK;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/** The file name of a line `#include "name"`, or false for any other line. */
static bool include_name(char name[NAME_BYTES], const char *line)
{
    static const char word[] = "include";
    line = skip_blanks(line);
    if (*line != '#') return false;
    line = skip_blanks(line + 1);
    if (strncmp(line, word, sizeof word - 1) != 0) return false;
    line = skip_blanks(line + sizeof word - 1);
    if (*line != '"') return false;
    const size_t length = strcspn(line + 1, "\"\n");
    if (line[1 + length] != '"' || length == 0 || length >= NAME_BYTES) return false;
    memcpy(name, line + 1, length);
    name[length] = '\0';
    return true;
}

static dllm_status add_includes(dllm_source_set *set, const char *folder, const char *text)
{
    char name[NAME_BYTES];
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (include_name(name, line)) DLLM_TRY(add(set, folder, name));
    }
    return DLLM_OK;
}

/** Puts the headers in order of their names, each with the memory it owns. */
static void sort_headers(dllm_source_set *set)
{
    for (int i = 2; i < set->count; i++)
        for (int k = i; k > 1 && compare_names(&set->sources[k - 1], &set->sources[k]) > 0; k--) {
            const dllm_source source = set->sources[k];
            unsigned char *owned = set->owned[k];
            set->sources[k] = set->sources[k - 1];
            set->owned[k] = set->owned[k - 1];
            set->sources[k - 1] = source;
            set->owned[k - 1] = owned;
        }
}

dllm_status dllm__sources_collect(dllm_source_set *out, const char *file)
{
    const char *folder = secure_getenv("DLLM_KERNEL_DIR");
    if (folder && !*folder) folder = NULL;
    memset(out, 0, sizeof *out);
    dllm_status status = add(out, folder, file);
    for (int i = 0; status == DLLM_OK && i < out->count; i++)
        status = add_includes(out, folder, (const char *)out->sources[i].bytes);
    if (status == DLLM_OK)
        sort_headers(out);
    else
        dllm__sources_release(out);
    return status;
}

void dllm__sources_release(dllm_source_set *set)
{
    for (int i = 0; i < set->count; i++)
        free(set->owned[i]);
    memset(set, 0, sizeof *set);
}
