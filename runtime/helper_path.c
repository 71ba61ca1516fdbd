/* helper_path.c - the few places where dllm-jit may lie, in order */
#include "helper_path.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared_object.h"

static const char *const places[] = {"dllm-jit", "../libexec/dllm/dllm-jit",
                                     "../../libexec/dllm/dllm-jit"};

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

bool dllm__helper_find(char out[PATH_MAX], char *reason, size_t reason_bytes)
{
    char own[PATH_MAX];
    char path[PATH_MAX + 64];
    const char *folder = dllm__own_path(own) ? dirname(own) : NULL;
    for (size_t i = 0; folder && i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (is_program(path) && realpath(path, out)) return true;
    }
    if (is_program(DLLM_INSTALLED_HELPER) && realpath(DLLM_INSTALLED_HELPER, out)) return true;
    out[0] = '\0';
    (void)snprintf(reason, reason_bytes, "no program dllm-jit in %s, nor %s",
                   folder ? folder : "the library's folder (unknown)", DLLM_INSTALLED_HELPER);
    return false;
}
