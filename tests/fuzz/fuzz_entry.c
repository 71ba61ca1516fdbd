/*
 * fuzz_entry.c - a cache entry's parser: whatever the bytes, it points inside them or refuses
 *
 * The digests would end every run at once, so each input is also tried with those that are right.
 */
#include "entry_walk.h"
#include "sha256.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { AT_KEY_BYTES = 12, AT_PAYLOAD_DIGEST = 32, AT_HEADER_DIGEST = 64 };

/* NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const unsigned char *file, size_t size)
{
    dllm_entry entry;
    dllm_kernel_key key;
    char build[DLLM_BUILD_BYTES];
    if (dllm__entry_parse(&entry, file, size)) return;
    assert((const unsigned char *)entry.key_text == file + DLLM_ENTRY_HEADER_BYTES);
    assert(entry.payload + entry.payload_bytes == file + size);
    (void)dllm__entry_check_name(&key, build, &entry, "00", "00-13.0.88.dk");
}

/* Makes both digests those of what follows, as far as the lengths make sense. */
static void sign(unsigned char *file, size_t size)
{
    dllm_sha256 sha;
    const size_t key_bytes = (size_t)file[AT_KEY_BYTES] | (size_t)file[AT_KEY_BYTES + 1] << 8;
    if (key_bytes > size - DLLM_ENTRY_HEADER_BYTES) return;
    const unsigned char *text = file + DLLM_ENTRY_HEADER_BYTES;
    dllm__sha256(file + AT_PAYLOAD_DIGEST, text + key_bytes,
                 size - DLLM_ENTRY_HEADER_BYTES - key_bytes);
    dllm__sha256_start(&sha);
    dllm__sha256_add(&sha, file, AT_HEADER_DIGEST);
    dllm__sha256_add(&sha, text, key_bytes);
    dllm__sha256_finish(&sha, file + AT_HEADER_DIGEST);
}

/* NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    unsigned char *copy = size >= DLLM_ENTRY_HEADER_BYTES ? malloc(size) : NULL;
    if (!copy) return 0;
    memcpy(copy, data, size);
    sign(copy, size);
    parse(copy, size);
    free(copy);
    return 0;
}
