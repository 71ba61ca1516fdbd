/*
 * sha256.h - SHA-256 (FIPS 180-4) and its text form
 */
#ifndef DLLM_SHA256_H
#define DLLM_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { DLLM_SHA256_BYTES = 32, DLLM_SHA256_HEX_BYTES = 65 };

/** A digest in the making. */
typedef struct dllm_sha256 {
    uint32_t state[8];
    uint64_t bytes;          /* taken in so far */
    unsigned char block[64]; /* the last, unfinished one */
} dllm_sha256;

void dllm__sha256_start(dllm_sha256 *sha);
void dllm__sha256_add(dllm_sha256 *sha, const void *bytes, size_t size);
void dllm__sha256_finish(dllm_sha256 *sha, unsigned char out[DLLM_SHA256_BYTES]);

/** The digest of one piece of memory. */
void dllm__sha256(unsigned char out[DLLM_SHA256_BYTES], const void *bytes, size_t size);

/** A digest as 64 lower-case hexadecimal digits and a zero byte. */
void dllm__sha256_hex(char out[DLLM_SHA256_HEX_BYTES],
                      const unsigned char digest[DLLM_SHA256_BYTES]);

#endif
