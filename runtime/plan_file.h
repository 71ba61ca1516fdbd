/*
 * plan_file.h - tuned choices on disk: one text a file, v1/t/<gpu>/<digest of the key>.plan
 *
 *     format 1
 *     <the key's lines>
 *                            an empty line
 *     <the choice's lines>
 *                            an empty line
 *     <what is known beside: date, versions; for people, not read>
 *     end
 *
 * Apart from kernels, so that an upgrade that empties those does not lose what was measured. A file
 * is read whole or refused, and knows nothing of what its lines mean.
 */
#ifndef DLLM_PLAN_FILE_H
#define DLLM_PLAN_FILE_H

#include "entry_publish.h"
#include "entry_read.h"

enum {
    DLLM_PLAN_FILE_BYTES = 4096,
    DLLM_PLAN_TEXT_BYTES = 3 * DLLM_PLAN_FILE_BYTES,
    DLLM_PLAN_NAME_BYTES = 80,
    DLLM_PLAN_FOLDER_BYTES = 144
};

/** The three blocks, each lines that end with a newline. */
typedef struct dllm_plan_file {
    char key[DLLM_PLAN_FILE_BYTES];
    char choice[DLLM_PLAN_FILE_BYTES];
    char beside[DLLM_PLAN_FILE_BYTES];
} dllm_plan_file;

/** "v1/t/nvidia-h200" of "NVIDIA H200", and the file name of a key. */
void dllm__plan_folder(char out[DLLM_PLAN_FOLDER_BYTES], const char *device);
void dllm__plan_name(char out[DLLM_PLAN_NAME_BYTES], const char *key);

/** Takes a text apart; NULL, or the reason (static text) why it is none. */
const char *dllm__plan_file_parse(dllm_plan_file *out, const char *text);

/** The text of a file; false if its lines do not fit one. */
bool dllm__plan_file_text(char out[DLLM_PLAN_TEXT_BYTES], const dllm_plan_file *file);

/** Reads a plan file of an open folder. why   DLLM_WHY_BYTES; "" when there is none. */
bool dllm__plan_file_read(dllm_plan_file *out, const dllm_cache_folder *folder, const char *name,
                          char *why);

/** The file of a key, if it is there and its key is this one to the letter; `why` as above. */
bool dllm__plan_file_find(dllm_plan_file *out, const dllm_cache_dir *dir, const char *device,
                          const char *key, char *why);

/** Publishes a file, in place of an older one of its key; else `why` says why not. */
bool dllm__plan_file_publish(const dllm_cache_dir *dir, const dllm_file_calls *calls,
                             const char *device, const dllm_plan_file *file, char *why);

#endif
