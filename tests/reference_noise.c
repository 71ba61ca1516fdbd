/* reference_noise.c - the words of an id's noise and their noise, written like their definition */
#include "reference.h"

#include <math.h>

/* One round of Philox4x32: (L, R, L', R') with L = c0 * M0 and so on, by the paper's figure 2. */
static void round_once(uint32_t c[4], const uint32_t key[2])
{
    const uint64_t product[2] = {(uint64_t)c[0] * 0xD2511F53u, (uint64_t)c[2] * 0xCD9E8D57u};
    const uint32_t next[4] = {(uint32_t)(product[1] >> 32) ^ c[1] ^ key[0], (uint32_t)product[1],
                              (uint32_t)(product[0] >> 32) ^ c[3] ^ key[1], (uint32_t)product[0]};
    for (int i = 0; i < 4; i++)
        c[i] = next[i];
}

void reference_words(uint32_t out[2], uint64_t seed, uint64_t row_key, uint32_t draw, int64_t id)
{
    uint32_t c[4] = {(uint32_t)(id / 2), draw, (uint32_t)row_key, (uint32_t)(row_key >> 32)};
    for (uint32_t i = 0; i < 10; i++) {
        const uint32_t key[2] = {(uint32_t)seed + i * 0x9E3779B9u,
                                 (uint32_t)(seed >> 32) + i * 0xBB67AE85u};
        round_once(c, key);
    }
    out[0] = c[id % 2 * 2];
    out[1] = c[id % 2 * 2 + 1];
}

double reference_gumbel(uint32_t high, uint32_t low)
{
    const uint64_t w = ((uint64_t)high << 32 | low) >> 12;
    const double u = (2 * (double)w + 1) * 0x1p-53;
    return -log(u < 0.5 ? -log(u) : -log1p(u - 1)); /* u - 1 is exact */
}
