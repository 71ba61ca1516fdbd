/*
 * cpu_noise.h - Gumbel noise of an id from a seed and a row key
 *
 * Words of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", SC'11), counted by global id, so that neither range, shard, batch nor plan enters.
 */
#ifndef DLLM_CPU_NOISE_H
#define DLLM_CPU_NOISE_H

#include <stdint.h>

/** Whose noise it is. */
typedef struct dllm_cpu_stream {
    uint64_t seed;
    uint64_t row_key;
    uint32_t draw;
} dllm_cpu_stream;

/** No noise is above this: -ln(-ln u) of the largest u is 36.7368. */
#define DLLM_CPU_GUMBEL_MAX 36.75f

/** One block of the generator: ten rounds. */
void dllm__cpu_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/** The words of ids 2 * pair, first two, and 2 * pair + 1, last two. */
void dllm__cpu_noise_words(uint32_t out[4], const dllm_cpu_stream *stream, uint64_t pair);

/** G = -ln(-ln u), u = (2 w + 1) / 2^53, w the upper 52 bits of the two words. */
float dllm__cpu_gumbel(uint32_t high, uint32_t low);

/** No less than dllm__cpu_gumbel of the same words, without a logarithm. */
float dllm__cpu_gumbel_bound(uint32_t high, uint32_t low);

#endif
