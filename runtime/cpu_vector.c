/* cpu_vector.c - which table of inner loops this machine runs */
#include "cpu_vector.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static bool have_avx2(void)
{
    /* not every compiler's __builtin_cpu_supports knows F16C */
    unsigned a, b, c, d;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool have_avx512(void)
{
    return have_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

static bool have_generic(void)
{
    return true;
}

static const struct {
    const dllm_cpu_vector *vector;
    bool (*have)(void);
} tables[] = {
#if defined(__x86_64__)
    {&dllm__cpu_vector_avx512, have_avx512},
    {&dllm__cpu_vector_avx2, have_avx2},
#endif
    {&dllm__cpu_vector_generic, have_generic},
};

const dllm_cpu_vector *dllm__cpu_vector_best(void)
{
    size_t i = 0;
    while (!tables[i].have())
        i++;
    return tables[i].vector;
}

const dllm_cpu_vector *dllm__cpu_vector_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i].vector->name, name) == 0)
            return tables[i].have() ? tables[i].vector : NULL;
    return NULL;
}
