/* shared_object.c - paths from the dynamic linker, right also after the working folder changed */
#include "shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * The linker keeps a relative name as it was given, but knows the folder it meant at that time; so
 * the folder comes from the linker and only the last part from the name.
 */
bool dllm__shared_object_path(char *out, void *handle)
{
    struct link_map *map = NULL;
    char folder[PATH_MAX] = "";
    char path[2 * PATH_MAX];
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map->l_name[0]) return false;
    const char *slash = strrchr(map->l_name, '/');
    if (!slash || dlinfo(handle, RTLD_DI_ORIGIN, folder) != 0) return false;
    (void)snprintf(path, sizeof path, "%s%s", folder, slash);
    return realpath(path, out) != NULL;
}

bool dllm__own_path(char *out)
{
    static const char anchor = 0; /* an object of this library, to ask the linker about */
    Dl_info information;
    struct link_map *map = NULL;
    if (!dladdr1(&anchor, &information, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    if (!map->l_name[0]) return realpath("/proc/self/exe", out) != NULL;
    void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return false;
    const bool found = dllm__shared_object_path(out, handle);
    (void)dlclose(handle);
    return found;
}
