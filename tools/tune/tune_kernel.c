/*
 * tune_kernel.c - fields of a specification and of a key text
 */
#include "tune_kernel.h"

#include <stdio.h>
#include <string.h>

/* Adds "TILE_ROWS=64": every name begins with DLLM_, which tells nothing here. */
static void add_define(tune_kernel *kernel, const char *name_value, size_t length)
{
    static const char prefix[] = "DLLM_";
    const size_t used = strlen(kernel->defines);
    if (length > sizeof prefix && strncmp(name_value, prefix, sizeof prefix - 1) == 0) {
        name_value += sizeof prefix - 1;
        length -= sizeof prefix - 1;
    }
    (void)snprintf(kernel->defines + used, sizeof kernel->defines - used, "%s%.*s", used ? " " : "",
                   (int)length, name_value);
}

void tune_kernel_of_spec(tune_kernel *out, const dllm_kernel_spec *spec)
{
    *out = (tune_kernel){.defines = ""};
    (void)snprintf(out->program, sizeof out->program, "%s", spec->file);
    (void)snprintf(out->arch, sizeof out->arch, "%s", spec->arch);
    for (int i = 0; i < spec->define_count; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s=%lld", spec->defines[i].name,
                       (long long)spec->defines[i].value);
        add_define(out, text, strlen(text));
    }
}

/* The value if the line has that name, else NULL. */
static const char *value_of(const char *line, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(line, name, length) == 0 ? line + length : NULL;
}

void tune_kernel_of_key(tune_kernel *out, const char *key_text)
{
    *out = (tune_kernel){.program = "?", .arch = "?"};
    for (const char *line = key_text; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *end = line + length;
        const char *value = value_of(line, "program ");
        if (value)
            (void)snprintf(out->program, sizeof out->program, "%.*s", (int)(end - value), value);
        value = value_of(line, "arch ");
        if (value) (void)snprintf(out->arch, sizeof out->arch, "%.*s", (int)(end - value), value);
        value = value_of(line, "option -D");
        if (value) add_define(out, value, (size_t)(end - value));
        line = *end ? end + 1 : end;
    }
}
