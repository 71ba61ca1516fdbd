/*
 * cpu_noise.h - Gumbel noise of an id from a seed and a row key
 *
 * Words of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", SC'11), counted by global id, so that neither range, shard, batch nor plan enters. The
 * generator itself is one of the vector loops (cpu_vector.h).
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

enum { DLLM_CPU_NOISE_PAIRS = 64 };

/** Noise of consecutive pairs of ids, in words and as far as that is cheap. */
typedef struct dllm_cpu_noise {
    uint32_t word[4]
                 [DLLM_CPU_NOISE_PAIRS]; /* 0 and 1 of a pair's even id, 2 and 3 of its odd one */
    float bound[2 *
                DLLM_CPU_NOISE_PAIRS]; /* by id: t * bound + z, in fp32, is no less than a score */
} dllm_cpu_noise;

/** G = -ln(-ln u), u = (2 w + 1) / 2^53, w the upper 52 bits of the two words. */
float dllm__cpu_gumbel(uint32_t high, uint32_t low);

#endif
