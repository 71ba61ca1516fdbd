/* plan_file.c - three blocks of lines in one file */
#include "plan_file.h"

#include "sha256.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "format 1\n";
static const char end[] = "end\n";

void dllm__plan_folder(char out[DLLM_PLAN_FOLDER_BYTES], const char *device)
{
    size_t used = (size_t)snprintf(out, DLLM_PLAN_FOLDER_BYTES, "v1/t/");
    for (const char *at = device; *at && used + 2 < DLLM_PLAN_FOLDER_BYTES; at++)
        out[used++] = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    if (!*device) out[used++] = '-';
    out[used] = '\0';
}

void dllm__plan_name(char out[DLLM_PLAN_NAME_BYTES], const char *key)
{
    char hex[DLLM_SHA256_HEX_BYTES];
    unsigned char digest[DLLM_SHA256_BYTES];
    dllm__sha256(digest, key, strlen(key));
    dllm__sha256_hex(hex, digest);
    (void)snprintf(out, DLLM_PLAN_NAME_BYTES, "%s.plan", hex);
}

/* Copies the lines up to an empty one, or up to `stop`; returns what follows, NULL if there is no end
   to them. */
static const char *take_block(char out[DLLM_PLAN_FILE_BYTES], const char *text, const char *stop)
{
    const char *at = text;
    while (*at && *at != '\n' && (!stop || strcmp(at, stop) != 0)) {
        const char *newline = strchr(at, '\n');
        if (!newline) return NULL;
        at = newline + 1;
    }
    const size_t bytes = (size_t)(at - text);
    if (!*at || bytes >= DLLM_PLAN_FILE_BYTES) return NULL;
    memcpy(out, text, bytes);
    out[bytes] = '\0';
    return at;
}

const char *dllm__plan_file_parse(dllm_plan_file *out, const char *text)
{
    if (strncmp(text, head, sizeof head - 1) != 0) return "it is not a plan of format 1";
    const char *at = take_block(out->key, text + sizeof head - 1, NULL);
    if (at) at = take_block(out->choice, at + 1, NULL);
    if (at) at = take_block(out->beside, at + 1, end);
    return at && strcmp(at, end) == 0 ? NULL : "it is cut off, or has too many lines";
}

bool dllm__plan_file_read(dllm_plan_file *out, const dllm_cache_folder *folder, const char *name,
                          char *why)
{
    static const dllm_read_limits limits = {sizeof head - 1, (size_t)3 * DLLM_PLAN_FILE_BYTES};
    dllm_read_file file;
    why[0] = '\0';
    const dllm_read_outcome outcome = dllm__file_read(&file, folder, name, &limits);
    const char *reason = outcome == DLLM_READ_ABSENT ? "" : file.reason;
    if (outcome == DLLM_READ_ENTRY) {
        char text[3 * DLLM_PLAN_FILE_BYTES + 1];
        memcpy(text, file.bytes, file.size);
        text[file.size] = '\0';
        reason = strlen(text) == file.size ? dllm__plan_file_parse(out, text)
                                           : "it has a byte that is no text";
    }
    if (reason) (void)snprintf(why, DLLM_WHY_BYTES, "%s", reason);
    free(file.bytes);
    return outcome == DLLM_READ_ENTRY && !reason;
}

bool dllm__plan_file_find(dllm_plan_file *out, const dllm_cache_dir *dir, const char *device,
                          const char *key, char *why)
{
    char below[DLLM_PLAN_FOLDER_BYTES], name[DLLM_PLAN_NAME_BYTES];
    dllm_cache_folder folder;
    dllm__plan_folder(below, device);
    dllm__plan_name(name, key);
    if (!dllm__cache_folder_open(&folder, dir, below, false)) {
        memcpy(why, folder.why, DLLM_WHY_BYTES);
        return false;
    }
    bool found = dllm__plan_file_read(out, &folder, name, why);
    dllm__cache_folder_close(&folder);
    if (found && strcmp(out->key, key) != 0) {
        (void)snprintf(why, DLLM_WHY_BYTES, "its key is another one");
        found = false;
    }
    return found;
}

bool dllm__plan_file_text(char out[DLLM_PLAN_TEXT_BYTES], const dllm_plan_file *file)
{
    dllm_plan_file again;
    const int bytes = snprintf(out, DLLM_PLAN_TEXT_BYTES, "%s%s\n%s\n%s%s", head, file->key,
                               file->choice, file->beside, end);
    return bytes >= 0 && bytes < DLLM_PLAN_TEXT_BYTES && !dllm__plan_file_parse(&again, out);
}

bool dllm__plan_file_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls,
                             const char *device, const dllm_plan_file *file, char *why)
{
    char below[DLLM_PLAN_FOLDER_BYTES], name[DLLM_PLAN_NAME_BYTES];
    char text[DLLM_PLAN_TEXT_BYTES];
    if (!dllm__plan_file_text(text, file)) {
        (void)snprintf(why, DLLM_WHY_BYTES, "its lines do not fit a plan file");
        return false;
    }
    dllm__plan_folder(below, device);
    dllm__plan_name(name, file->key);
    return dllm__text_publish(dir, calls, below, name, text, why);
}
