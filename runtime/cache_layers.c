/* cache_layers.c - the list of read-only folders behind the user's */
#include "cache_layers.h"

#include "shared_object.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(dllm_cache_layers *layers, const char *variable, const char *path, size_t length)
{
    char text[PATH_MAX];
    if (length == 0 || length >= sizeof text || layers->count == DLLM_CACHE_LAYERS_MAX) return;
    memcpy(text, path, length);
    text[length] = '\0';
    dllm__cache_dir_take(&layers->dirs[layers->count++], variable, text);
}

static void add_list(dllm_cache_layers *layers, const char *variable)
{
    const char *list = secure_getenv(variable);
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        add(layers, variable, list, length);
        list += length + (list[length] == ':');
    }
}

static void add_beside_library(dllm_cache_layers *layers)
{
    char own[PATH_MAX];
    char path[PATH_MAX];
    if (!dllm__own_path(own)) return;
    const int length = snprintf(path, sizeof path, "%s/dllm-cache", dirname(own));
    if (length > 0 && length < (int)sizeof path) add(layers, "library", path, (size_t)length);
}

void dllm__cache_layers_find(dllm_cache_layers *out)
{
    static const char shared[] = "/usr/share/dllm/cache";
    dllm__cache_dir_find(&out->dirs[0]);
    out->count = 1;
    add_list(out, "DLLM_SYSTEM_CACHE_PATH");
    add_beside_library(out);
    add(out, "system", shared, sizeof shared - 1);
}
