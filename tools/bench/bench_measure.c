/*
 * bench_measure.c - what is made of the samples, and what is said when there are none
 */
#include "bench_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bench_way ways[] = {
    {'L', 30, bench_measure_launches},
    {'B', 5, bench_measure_bursts},
    {'H', 2000, bench_measure_host},
};

const bench_way *bench_way_find(char letter)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (ways[i].letter == letter) return &ways[i];
    }
    return NULL;
}

void bench_measure_explain(bench_variant *const *variants, int count, const device_memory *memory,
                           char *why, size_t why_bytes)
{
    if (memory->message[0]) (void)snprintf(why, why_bytes, "%s", memory->message);
    for (int v = 0; v < count; v++) {
        if (variants[v]->why[0])
            (void)snprintf(why, why_bytes, "%s: %s", variants[v]->name, variants[v]->why);
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(const double *values, int count)
{
    double sorted[BENCH_SAMPLES_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

double bench_least(const double *values, int count)
{
    double least = values[0];
    for (int i = 1; i < count; i++)
        least = fmin(least, values[i]);
    return least;
}

double bench_ratio(const bench_variant *variant, const bench_variant *baseline)
{
    double ratios[BENCH_SAMPLES_MAX];
    const int pairs = variant->samples < baseline->samples ? variant->samples : baseline->samples;
    for (int i = 0; i < pairs; i++)
        ratios[i] = variant->ms[i] / baseline->ms[i];
    return bench_median(ratios, pairs);
}
