/*
 * bench_reference.c - logits and statistics in double, and the comparison
 */
#include "bench_reference.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_exit.h"

enum { THREADS_MAX = 64, BLOCK_COLUMNS = 256, LANES = 4 };

/* One computation: threads take blocks of columns until none is left. */
typedef struct work {
    bench_reference *reference;
    const bench_pattern *hidden;
    const bench_pattern *weight;
    double *inputs; /* (groups, depth, LANES) the sampled hidden rows, LANES to a group */
    atomic_llong next_column;
    pthread_mutex_t lock; /* guards `largest` of the rows */
} work;

static double *allocate(int64_t count)
{
    double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    if (!values)
        bench_fatal(BENCH_FAILED, "no host memory for a reference of %lld numbers",
                    (long long)count);
    return values;
}

void bench_reference_add_row(bench_reference *reference, int64_t row)
{
    for (int i = 0; i < reference->count; i++) {
        if (reference->rows[i].row == row) return;
    }
    if (reference->count == BENCH_REFERENCE_ROWS) return;
    reference->rows[reference->count++] = (bench_reference_row){.row = row};
}

static int group_count(const bench_reference *reference)
{
    return (reference->count + LANES - 1) / LANES;
}

/* The products of one column with a group of rows, each summed in the order of h; `largest` keeps
   the largest partial sums and products. Lanes are independent, which is what makes this fast. */
static void dot(double sum[LANES], double largest[LANES], const double *x, const double *w,
                int64_t depth)
{
    for (int i = 0; i < LANES; i++)
        sum[i] = 0.0;
    for (int64_t h = 0; h < depth; h++) {
        for (int i = 0; i < LANES; i++) {
            const double product = x[h * LANES + i] * w[h];
            sum[i] += product;
            const double a = fabs(sum[i]);
            const double b = fabs(product);
            largest[i] = a > largest[i] ? a : largest[i];
            largest[i] = b > largest[i] ? b : largest[i];
        }
    }
}

static void head_block(work *job, int64_t begin, int64_t end, double *column, double *largest)
{
    bench_reference *reference = job->reference;
    const int64_t depth = reference->depth;
    double sum[LANES];
    for (int64_t v = begin; v < end; v++) {
        bench_pattern_read(job->weight, v * depth, depth, column);
        for (int group = 0; group < group_count(reference); group++) {
            const int first = group * LANES;
            dot(sum, largest + first, job->inputs + first * depth, column, depth);
            for (int i = first; i < first + LANES && i < reference->count; i++)
                reference->rows[i].logits[v] = sum[i - first];
        }
    }
}

static void *head_thread(void *user)
{
    work *job = user;
    bench_reference *reference = job->reference;
    double *column = allocate(reference->depth);
    double largest[BENCH_REFERENCE_ROWS + LANES] = {0.0};
    for (;;) {
        const int64_t begin = atomic_fetch_add(&job->next_column, BLOCK_COLUMNS);
        if (begin >= reference->vocab) break;
        const int64_t end = begin + BLOCK_COLUMNS;
        head_block(job, begin, end < reference->vocab ? end : reference->vocab, column, largest);
    }
    free(column);
    (void)pthread_mutex_lock(&job->lock);
    for (int i = 0; i < reference->count; i++)
        reference->rows[i].largest = fmax(reference->rows[i].largest, largest[i]);
    (void)pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* Rows that a group lacks are zero. */
static void gather_inputs(work *job)
{
    const bench_reference *reference = job->reference;
    const int64_t depth = reference->depth;
    const int64_t elements = (int64_t)group_count(reference) * LANES * depth;
    double *row = allocate(depth);
    job->inputs = allocate(elements);
    for (int64_t i = 0; i < elements; i++)
        job->inputs[i] = 0.0;
    for (int i = 0; i < reference->count; i++) {
        double *group = job->inputs + (int64_t)(i / LANES) * LANES * depth;
        bench_pattern_read(job->hidden, reference->rows[i].row * depth, depth, row);
        for (int64_t h = 0; h < depth; h++)
            group[h * LANES + i % LANES] = row[h];
    }
    free(row);
}

static void compute_head_logits(work *job)
{
    gather_inputs(job);
    pthread_t threads[THREADS_MAX];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int wanted = cores < 1 ? 0 : cores > THREADS_MAX ? THREADS_MAX : (int)cores - 1;
    int started = 0;
    while (started < wanted && pthread_create(&threads[started], NULL, head_thread, job) == 0)
        started++;
    (void)head_thread(job);
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    free(job->inputs);
}

/* Statistics of a row of logits, and the tolerances of section 15. */
static void finish_row(bench_reference_row *row, int64_t vocab, int64_t depth)
{
    const double eps = 0x1p-24;
    double rises = 0.0;
    row->max = -HUGE_VAL;
    row->magnitude = 0.0;
    for (int64_t v = 0; v < vocab; v++) {
        row->magnitude = fmax(row->magnitude, fabs(row->logits[v]));
        if (row->logits[v] <= row->max) continue;
        row->max = row->logits[v];
        rises += 1.0;
    }
    double d = 0.0;
    double spread = 0.0;
    for (int64_t v = 0; v < vocab; v++) {
        const double below = row->max - row->logits[v];
        d += exp(-below);
        spread += exp(-below) * below;
    }
    const double additions =
        fmin((double)vocab, 1024.0) + 32.0 + 5.0 * (fmin(rises, 1024.0) + 16.0);
    const double tau =
        fmin(additions * eps, 2.0 * (1.0 - 1.0 / d)) + 4.0 * eps + 2.0 * eps * spread / d;
    row->lse = row->max + log(d);
    row->confidence = 1.0 / d;
    row->delta = ceil((double)depth / 16.0) * 0x1p-20 * row->largest;
    row->lse_tolerance = row->delta + tau + 2.0 * eps * log(d) + eps * fabs(row->lse);
    row->confidence_tolerance = 2.0 * row->delta + tau + 2.0 * eps;
}

void bench_reference_compute(bench_reference *reference, const bench_pattern *hidden,
                             const bench_pattern *weight)
{
    work job = {.reference = reference,
                .hidden = hidden,
                .weight = weight,
                .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < reference->count; i++)
        reference->rows[i].logits = allocate(reference->vocab);
    if (weight) {
        compute_head_logits(&job);
    } else {
        for (int i = 0; i < reference->count; i++)
            bench_pattern_read(hidden, reference->rows[i].row * reference->vocab, reference->vocab,
                               reference->rows[i].logits);
    }
    for (int i = 0; i < reference->count; i++)
        finish_row(&reference->rows[i], reference->vocab, reference->depth);
}

/* One sampled row; on equal logits the lowest id must have won, which a given row can tell exactly.
 */
static int check_row(const bench_reference *reference, const bench_reference_row *row,
                     const bench_outputs *outputs, char *why, size_t why_bytes)
{
    const double rounded = outputs->rounding * row->magnitude;
    const double delta = row->delta + rounded;
    const double lse_tolerance = row->lse_tolerance + rounded;
    const double confidence_tolerance = row->confidence_tolerance + 2.0 * rounded;
    const int32_t id = outputs->argmax[row->row];
    const double lse = (double)outputs->lse[row->row];
    const double confidence = (double)outputs->confidence[row->row];
    int bad = 0;
    if (row->logits[id] < row->max - 2.0 * delta)
        bad = snprintf(why, why_bytes, "row %lld: argmax %d has logit %.7g, the largest is %.7g",
                       (long long)row->row, id, row->logits[id], row->max);
    for (int64_t v = 0; !bad && reference->depth == 0 && v < id; v++) {
        if (row->logits[v] == row->max)
            bad = snprintf(why, why_bytes, "row %lld: argmax %d, the lower id %lld is as large",
                           (long long)row->row, id, (long long)v);
    }
    if (!bad && !(fabs(lse - row->lse) <= lse_tolerance))
        bad = snprintf(why, why_bytes, "row %lld: lse %.9g, want %.9g within %.2g",
                       (long long)row->row, lse, row->lse, lse_tolerance);
    if (!bad && !(fabs(confidence - row->confidence) <= confidence_tolerance * row->confidence))
        bad = snprintf(why, why_bytes, "row %lld: confidence %.9g, want %.9g within %.2g of it",
                       (long long)row->row, confidence, row->confidence, confidence_tolerance);
    return bad;
}

int bench_reference_check(const bench_reference *reference, const bench_outputs *outputs, char *why,
                          size_t why_bytes)
{
    for (int64_t r = 0; r < outputs->rows; r++) {
        if (outputs->argmax[r] >= 0 && outputs->argmax[r] < reference->vocab) continue;
        (void)snprintf(why, why_bytes, "row %lld: argmax %d is no id", (long long)r,
                       outputs->argmax[r]);
        return 1;
    }
    for (int i = 0; i < reference->count; i++) {
        const bench_reference_row *row = &reference->rows[i];
        if (row->row < outputs->rows && check_row(reference, row, outputs, why, why_bytes))
            return 1;
    }
    return 0;
}

void bench_reference_release(bench_reference *reference)
{
    for (int i = 0; i < reference->count; i++)
        free(reference->rows[i].logits);
    reference->count = 0;
}
