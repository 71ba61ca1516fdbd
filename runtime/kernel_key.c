/* kernel_key.c - key text: lines made, sorted, joined and digested; the build's line put in, taken
 * out */
#include "kernel_key.h"

#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 4 + DLLM_KERNEL_OPTIONS_MAX + DLLM_SOURCES_MAX,
    LINE_BYTES = 192,
    BUILD_LINE_BYTES = DLLM_BUILD_BYTES + 16
};

static const char build_name[] = "compiler ";

typedef struct key_lines {
    int count;
    bool cut; /* a line was too long */
    char text[LINES_MAX][LINE_BYTES];
} key_lines;

static void add_line(key_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_line(key_lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(lines->text[lines->count++], LINE_BYTES, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= LINE_BYTES) lines->cut = true;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void collect_lines(key_lines *lines, const dllm_kernel_identity *identity)
{
    const dllm_kernel_spec *spec = identity->spec;
    dllm_kernel_options options;
    dllm__kernel_options(&options, spec);
    add_line(lines, "arch %s", spec->arch);
    add_line(lines, "entry %s", spec->entry);
    add_line(lines, "program %s", spec->file);
    add_line(lines, "schema %d", identity->schema);
    for (int i = 0; i < options.count; i++)
        add_line(lines, "option %s", options.text[i]);
    for (int i = 0; i < identity->sources->count; i++) {
        const dllm_source *source = &identity->sources->sources[i];
        char hex[DLLM_SHA256_HEX_BYTES];
        dllm__sha256_hex(hex, source->digest);
        add_line(lines, "source %s %s", source->name, hex);
    }
    qsort(lines->text, (size_t)lines->count, LINE_BYTES, compare_lines);
}

static void digest_text(dllm_kernel_key *key)
{
    unsigned char digest[DLLM_SHA256_BYTES];
    dllm__sha256(digest, key->text, key->text_bytes);
    dllm__sha256_hex(key->hex, digest);
}

dllm_status dllm__kernel_key_make(dllm_kernel_key *out, const dllm_kernel_identity *identity)
{
    key_lines lines = {0};
    collect_lines(&lines, identity);
    out->text_bytes = 0;
    for (int i = 0; i < lines.count; i++) {
        const size_t length = strlen(lines.text[i]);
        /* room stays for the line of the build */
        if (lines.cut || out->text_bytes + length + 1 + BUILD_LINE_BYTES > DLLM_KEY_TEXT_BYTES)
            return dllm__fail(DLLM_UNSUPPORTED, "the key text of kernel %s is above %d bytes",
                              identity->spec->file, lines.cut ? LINE_BYTES : DLLM_KEY_TEXT_BYTES);
        memcpy(out->text + out->text_bytes, lines.text[i], length);
        out->text_bytes += length;
        out->text[out->text_bytes++] = '\n';
    }
    out->text[out->text_bytes] = '\0';
    digest_text(out);
    return DLLM_OK;
}

dllm_status dllm__kernel_key(dllm_kernel_key *out, const dllm_kernel_spec *spec)
{
    dllm_source_set sources;
    DLLM_TRY(dllm__sources_collect(&sources, spec->file));
    const dllm_kernel_identity identity = {spec, &sources, DLLM_KEY_SCHEMA};
    const dllm_status status = dllm__kernel_key_make(out, &identity);
    dllm__sources_release(&sources);
    return status;
}

bool dllm__build_is_plain(const char *build)
{
    static const char allowed[] = "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t length = strspn(build, allowed);
    return length > 0 && length < DLLM_BUILD_BYTES && build[length] == '\0';
}

void dllm__kernel_key_with_build(dllm_kernel_key *out, const dllm_kernel_key *key,
                                 const char *build)
{
    char line[BUILD_LINE_BYTES];
    const int length = snprintf(line, sizeof line, "%s%.31s\n", build_name, build);
    const char *at = key->text;
    while (*at && strncmp(at, build_name, sizeof build_name - 1) < 0)
        at = strchr(at, '\n') + 1;
    const size_t before = (size_t)(at - key->text);
    memcpy(out->hex, key->hex, sizeof out->hex);
    memcpy(out->text, key->text, before);
    memcpy(out->text + before, line, (size_t)length);
    memcpy(out->text + before + length, at, key->text_bytes - before + 1);
    out->text_bytes = key->text_bytes + (size_t)length;
}

/* The line's start, NULL if there is none; a line ends with a newline, the last one too. */
static const char *find_build_line(const char *text, const char *end)
{
    const size_t name_bytes = sizeof build_name - 1;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline) return NULL;
        if ((size_t)(newline - text) > name_bytes && memcmp(text, build_name, name_bytes) == 0)
            return text;
        text = newline + 1;
    }
    return NULL;
}

bool dllm__kernel_key_parse(dllm_kernel_key *out, char build[DLLM_BUILD_BYTES], const char *text,
                            size_t text_bytes)
{
    const char *end = text + text_bytes;
    const char *line = find_build_line(text, end);
    if (!line || text_bytes > DLLM_KEY_TEXT_BYTES) return false;
    const char *value = line + sizeof build_name - 1;
    const char *newline = memchr(value, '\n', (size_t)(end - value));
    const size_t length = (size_t)(newline - value);
    if (length >= DLLM_BUILD_BYTES) return false;
    memcpy(build, value, length);
    build[length] = '\0';
    if (!dllm__build_is_plain(build) || memchr(text, '\0', text_bytes)) return false;
    const size_t before = (size_t)(line - text);
    const size_t after = (size_t)(end - newline - 1);
    memcpy(out->text, text, before);
    memcpy(out->text + before, newline + 1, after);
    out->text_bytes = before + after;
    out->text[out->text_bytes] = '\0';
    digest_text(out);
    return true;
}

bool dllm__kernel_key_line(char *out, size_t out_bytes, const dllm_kernel_key *key,
                           const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = key->text; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
        const char *value = line + length + 1;
        const size_t value_bytes = strcspn(value, "\n");
        if (value_bytes >= out_bytes) return false;
        memcpy(out, value, value_bytes);
        out[value_bytes] = '\0';
        return true;
    }
    return false;
}
