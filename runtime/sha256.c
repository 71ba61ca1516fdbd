/* sha256.c - SHA-256 as FIPS 180-4 writes it */
#include "sha256.h"

#include <string.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8 };

/* first 32 bits of the fractional parts of the cube roots of the first 64 primes */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t read_big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void expand_schedule(uint32_t w[64], const unsigned char *block)
{
    for (size_t t = 0; t < 16; t++)
        w[t] = read_big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 =
            rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t s1 =
            rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

/* a .. h of the standard are v[0] .. v[7] */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t v[8];
    expand_schedule(w, block);
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1 = v[7] + s1 + choice + round_constant[t] + w[t];
        const uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void dllm__sha256_start(dllm_sha256 *sha)
{
    /* first 32 bits of the fractional parts of the square roots of the first 8 primes */
    *sha = (dllm_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void dllm__sha256_add(dllm_sha256 *sha, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const size_t used = (size_t)(sha->bytes % BLOCK_BYTES);
        const size_t room = BLOCK_BYTES - used;
        const size_t take = size < room ? size : room;
        memcpy(sha->block + used, from, take);
        sha->bytes += take;
        from += take;
        size -= take;
        if (take == room) compress(sha->state, sha->block);
    }
}

void dllm__sha256_finish(dllm_sha256 *sha, unsigned char out[DLLM_SHA256_BYTES])
{
    static const unsigned char padding[BLOCK_BYTES] = {0x80};
    const uint64_t bits = sha->bytes * 8;
    const size_t used = (size_t)(sha->bytes % BLOCK_BYTES);
    const size_t end = BLOCK_BYTES - LENGTH_BYTES;
    dllm__sha256_add(sha, padding, used < end ? end - used : end + BLOCK_BYTES - used);
    unsigned char length[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    dllm__sha256_add(sha, length, sizeof length);
    for (int i = 0; i < DLLM_SHA256_BYTES; i++)
        out[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void dllm__sha256(unsigned char out[DLLM_SHA256_BYTES], const void *bytes, size_t size)
{
    dllm_sha256 sha;
    dllm__sha256_start(&sha);
    dllm__sha256_add(&sha, bytes, size);
    dllm__sha256_finish(&sha, out);
}

void dllm__sha256_hex(char out[DLLM_SHA256_HEX_BYTES],
                      const unsigned char digest[DLLM_SHA256_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DLLM_SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[DLLM_SHA256_HEX_BYTES - 1] = '\0';
}
