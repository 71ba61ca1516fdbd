/*
 * random_numbers.h - numbers for tests from a seed: splitmix64, Steele, Lea and Flood 2014
 */
#ifndef RANDOM_NUMBERS_H
#define RANDOM_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** 0 .. end - 1. */
static inline int64_t below(uint64_t *state, int64_t end)
{
    return (int64_t)(next_random(state) % (uint64_t)end);
}

#endif
