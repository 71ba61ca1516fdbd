/*
 * entry_file.h - the bytes of one cache entry: made, read, refused
 *
 * Little-endian: magic 8, format 4, key bytes 4, payload bytes 8, zero 8, SHA-256 of the payload
 * 32, SHA-256 of bytes 0..63 and the key text 32; then the key text, then the cubin, then the end.
 */
#ifndef DLLM_ENTRY_FILE_H
#define DLLM_ENTRY_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    DLLM_ENTRY_HEADER_BYTES = 96,
    DLLM_ENTRY_FORMAT = 1,
    DLLM_ENTRY_KEY_BYTES_MAX = 64 << 10,
    DLLM_ENTRY_PAYLOAD_BYTES_MAX = 256 << 20
};

/** Key text and cubin of an entry; the memory is somebody else's. */
typedef struct dllm_entry {
    const char *key_text; /* not zero-terminated */
    size_t key_bytes;
    const unsigned char *payload;
    size_t payload_bytes;
} dllm_entry;

/** The header that goes before key text and payload; both within their limits. */
void dllm__entry_header(unsigned char out[DLLM_ENTRY_HEADER_BYTES], const dllm_entry *entry);

/** True for an entry of a later library, which this one cannot read. */
bool dllm__entry_is_of_another_format(const unsigned char *file, size_t file_bytes);

/** Checks a whole file and points into it. NULL, or the reason (static text) why it is no entry. */
const char *dllm__entry_parse(dllm_entry *out, const unsigned char *file, size_t file_bytes);

#endif
