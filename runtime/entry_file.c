/* entry_file.c - one entry's header, and every check between a file's bytes and a cubin */
#include "entry_file.h"

#include "sha256.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static const unsigned char magic[8] = {'d', 'l', 'l', 'm', '-', 'd', 'k', '\n'};

enum {
    AT_FORMAT = 8,
    AT_KEY_BYTES = 12,
    AT_PAYLOAD_BYTES = 16,
    AT_ZERO = 24,
    AT_PAYLOAD_DIGEST = 32,
    AT_HEADER_DIGEST = 64
};

static void put_little_endian(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_little_endian(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void header_digest(unsigned char out[DLLM_SHA256_BYTES], const unsigned char *header,
                          const void *key_text, size_t key_bytes)
{
    dllm_sha256 sha;
    dllm__sha256_start(&sha);
    dllm__sha256_add(&sha, header, AT_HEADER_DIGEST);
    dllm__sha256_add(&sha, key_text, key_bytes);
    dllm__sha256_finish(&sha, out);
}

void dllm__entry_header(unsigned char out[DLLM_ENTRY_HEADER_BYTES], const dllm_entry *entry)
{
    assert(entry->key_bytes > 0 && entry->key_bytes <= DLLM_ENTRY_KEY_BYTES_MAX);
    assert(entry->payload_bytes > 0 && entry->payload_bytes <= DLLM_ENTRY_PAYLOAD_BYTES_MAX);
    memset(out, 0, DLLM_ENTRY_HEADER_BYTES);
    memcpy(out, magic, sizeof magic);
    put_little_endian(out + AT_FORMAT, DLLM_ENTRY_FORMAT, 4);
    put_little_endian(out + AT_KEY_BYTES, entry->key_bytes, 4);
    put_little_endian(out + AT_PAYLOAD_BYTES, entry->payload_bytes, 8);
    dllm__sha256(out + AT_PAYLOAD_DIGEST, entry->payload, entry->payload_bytes);
    header_digest(out + AT_HEADER_DIGEST, out, entry->key_text, entry->key_bytes);
}

bool dllm__entry_is_of_another_format(const unsigned char *file, size_t file_bytes)
{
    return file_bytes >= DLLM_ENTRY_HEADER_BYTES && memcmp(file, magic, sizeof magic) == 0 &&
           get_little_endian(file + AT_FORMAT, 4) != DLLM_ENTRY_FORMAT;
}

/* The lengths are checked before anything is read by them. */
static const char *check_header(const unsigned char *file, size_t file_bytes)
{
    if (file_bytes < DLLM_ENTRY_HEADER_BYTES) return "shorter than a header";
    if (memcmp(file, magic, sizeof magic) != 0) return "not an entry (magic)";
    if (get_little_endian(file + AT_FORMAT, 4) != DLLM_ENTRY_FORMAT) return "another format";
    if (get_little_endian(file + AT_ZERO, 8) != 0) return "reserved bytes are not zero";
    const uint64_t key_bytes = get_little_endian(file + AT_KEY_BYTES, 4);
    const uint64_t payload_bytes = get_little_endian(file + AT_PAYLOAD_BYTES, 8);
    if (key_bytes == 0 || key_bytes > DLLM_ENTRY_KEY_BYTES_MAX) return "key length out of range";
    if (payload_bytes == 0 || payload_bytes > DLLM_ENTRY_PAYLOAD_BYTES_MAX)
        return "payload length out of range";
    if (file_bytes != DLLM_ENTRY_HEADER_BYTES + key_bytes + payload_bytes)
        return "size differs from its lengths";
    return NULL;
}

const char *dllm__entry_parse(dllm_entry *out, const unsigned char *file, size_t file_bytes)
{
    const char *reason = check_header(file, file_bytes);
    if (reason) return reason;
    const size_t key_bytes = (size_t)get_little_endian(file + AT_KEY_BYTES, 4);
    const unsigned char *key_text = file + DLLM_ENTRY_HEADER_BYTES;
    const dllm_entry entry = {
        .key_text = (const char *)key_text,
        .key_bytes = key_bytes,
        .payload = key_text + key_bytes,
        .payload_bytes = file_bytes - DLLM_ENTRY_HEADER_BYTES - key_bytes,
    };
    unsigned char digest[DLLM_SHA256_BYTES];
    header_digest(digest, file, key_text, key_bytes);
    if (memcmp(digest, file + AT_HEADER_DIGEST, sizeof digest) != 0) return "header digest differs";
    dllm__sha256(digest, entry.payload, entry.payload_bytes);
    if (memcmp(digest, file + AT_PAYLOAD_DIGEST, sizeof digest) != 0)
        return "payload digest differs";
    *out = entry;
    return NULL;
}
