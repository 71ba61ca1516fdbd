/* integers.h - what the arithmetic of tiles and splits is made of */
#ifndef DLLM_INTEGERS_H
#define DLLM_INTEGERS_H

#include <stdint.h>

/** a / b, rounded up; a >= 0, b > 0, a + b - 1 fits. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
