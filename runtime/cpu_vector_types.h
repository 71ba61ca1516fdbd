/*
 * cpu_vector_types.h - vectors of LANES floats, in the compilers' own notation
 *
 * Included by the cpu_vector_<set>.c files alone, after they have set LANES.
 */
#ifndef DLLM_CPU_VECTOR_TYPES_H
#define DLLM_CPU_VECTOR_TYPES_H

#include "cpu_vector.h"

#include <stdint.h>
#include <string.h>

/* types and row counts arrive as constants: one specialised body each */
#define SPECIALISED static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t half_words __attribute__((vector_size(2 * LANES)));

static inline vec load(const void *in)
{
    vec v;
    memcpy(&v, in, sizeof v);
    return v;
}

static inline bits load_bits(const void *in)
{
    bits v;
    memcpy(&v, in, sizeof v);
    return v;
}

/* LANES 16-bit words, each in the low half of a lane */
static inline bits load_half_words(const void *in)
{
    half_words v;
    memcpy(&v, in, sizeof v);
    return __builtin_convertvector(v, bits);
}

static inline void store(float *out, vec v)
{
    memcpy(out, &v, sizeof v);
}

static inline vec broadcast(float value)
{
    return (vec){0} + value;
}

static inline bits broadcast_bits(uint32_t value)
{
    return (bits){0} + value;
}

#endif
