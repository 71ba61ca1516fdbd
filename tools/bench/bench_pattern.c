/*
 * bench_pattern.c - a block of random numbers, and any element of what is filled with it
 */
#include "bench_pattern.h"

#include <stdlib.h>

#include "bench_exit.h"
#include "element_type.h"

/* splitmix64, with the constants published by Sebastiano Vigna */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The sum of four uniform numbers has variance 4/12: as good as normal for a GPU's clock, which
   depends on the bits that toggle. */
static double next_normal(uint64_t *state)
{
    const uint64_t word = next_random(state);
    double sum = -2.0;
    for (int i = 0; i < 4; i++)
        sum += ((double)(word >> (16 * i) & 0xffff) + 0.5) / 65536.0;
    return sum * 1.7320508075688772;
}

void bench_pattern_create(bench_pattern *out, dllm_type type, double deviation, uint64_t seed)
{
    out->type = type;
    out->elements = malloc(BENCH_PERIOD * element_bytes(type));
    if (!out->elements)
        bench_fatal(BENCH_FAILED, "no host memory for %d random numbers", BENCH_PERIOD);
    for (int64_t i = 0; i < BENCH_PERIOD; i++)
        element_store(type, out->elements, i, deviation * next_normal(&seed));
}

void bench_pattern_release(bench_pattern *pattern)
{
    free(pattern->elements);
    pattern->elements = NULL;
}

void bench_pattern_read(const bench_pattern *pattern, int64_t first, int64_t count, double *out)
{
    int64_t index = first % BENCH_PERIOD;
    for (int64_t i = 0; i < count; i++) {
        out[i] = element_load(pattern->type, pattern->elements, index);
        if (++index == BENCH_PERIOD) index = 0;
    }
}
