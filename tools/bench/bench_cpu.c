/*
 * bench_cpu.c - times the CPU head against a read of its weight and against OpenBLAS
 *
 * In turn, as often as asked: one read of the weight by the same number of threads, OpenBLAS's sgemm
 * of the same product on fp32 copies (which leaves all logits in memory), and the head. The head's
 * results are compared with those logits first. The ratio is to the slower of the two.
 */
#include <cblas.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_cpu_options.h"
#include "bench_exit.h"
#include "dllm.h"
#include "element_type.h"
#include "parallel.h"

const char bench_program[] = "bench-cpu";

enum { VARIANTS = 3 };

/* Operands for the largest number of rows; weight and hidden states in bf16 and as fp32 copies. */
typedef struct operands {
    uint16_t *weight;
    float *weight_copy;
    uint16_t *hidden;
    float *hidden_copy;
    float *logits; /* sgemm's */
    int32_t *argmax;
    float *lse;
    float *confidence;
} operands;

typedef struct head {
    dllm_plan *plan;
    dllm_head_buffers buffers;
} head;

static void *allocate(int64_t elements, size_t size)
{
    void *block = calloc((size_t)elements, size);
    if (!block)
        bench_fatal(BENCH_FAILED, "no memory for %lld elements of %zu bytes", (long long)elements,
                    size);
    return block;
}

/* Random bf16 numbers within +-scale, and the same as fp32. */
static void fill(uint16_t *out, float *copy, int64_t elements, double scale)
{
    uint32_t state = 1;
    for (int64_t i = 0; i < elements; i++) {
        state = state * 1664525U + 1013904223U;
        element_store(DLLM_BF16, out, i, ((double)(state >> 8) / (1 << 23) - 1) * scale);
        copy[i] = (float)element_load(DLLM_BF16, out, i);
    }
}

static void open_operands(operands *out, const bench_cpu_options *options)
{
    int64_t most = 1;
    for (int i = 0; i < options->row_count; i++)
        if (options->rows[i] > most) most = options->rows[i];
    const int64_t weights = options->vocab * options->depth;
    out->weight = allocate(weights, sizeof *out->weight);
    out->weight_copy = allocate(weights, sizeof *out->weight_copy);
    out->hidden = allocate(most * options->depth, sizeof *out->hidden);
    out->hidden_copy = allocate(most * options->depth, sizeof *out->hidden_copy);
    out->logits = allocate(most * options->vocab, sizeof *out->logits);
    out->argmax = allocate(most, sizeof *out->argmax);
    out->lse = allocate(most, sizeof *out->lse);
    out->confidence = allocate(most, sizeof *out->confidence);
    fill(out->weight, out->weight_copy, weights, 4 / sqrt((double)options->depth));
    fill(out->hidden, out->hidden_copy, most * options->depth, 1);
}

static void close_operands(operands *o)
{
    free(o->weight);
    free(o->weight_copy);
    free(o->hidden);
    free(o->hidden_copy);
    free(o->logits);
    free(o->argmax);
    free(o->lse);
    free(o->confidence);
}

static double now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

typedef struct read_work {
    const uint16_t *weight;
    int64_t row_elements;
    uint64_t sums[DLLM_PARALLEL_THREADS_MAX];
} read_work;

static void read_part(void *user, int64_t first, int64_t last, int thread)
{
    read_work *work = user;
    uint64_t sums[32] = {0};
    const char *at = (const char *)(work->weight + first * work->row_elements);
    const char *end = (const char *)(work->weight + last * work->row_elements);
    for (; end - at >= (ptrdiff_t)sizeof sums; at += sizeof sums) {
        uint64_t words[32];
        memcpy(words, at, sizeof words);
        for (int i = 0; i < 32; i++)
            sums[i] += words[i];
    }
    for (int i = 0; i < 32; i++)
        work->sums[thread] += sums[i];
}

/* The sum of its words, which the caller compares: so the compiler has to read them. */
static uint64_t read_weight(const bench_cpu_options *options, const operands *o)
{
    uint64_t sum = 0;
    read_work work = {o->weight, options->depth, {0}};
    dllm_parallel_for(options->threads, options->vocab, read_part, &work);
    for (int i = 0; i < options->threads; i++)
        sum += work.sums[i];
    return sum;
}

static void multiply(const bench_cpu_options *options, const operands *o, int64_t rows)
{
    const int vocab = (int)options->vocab;
    const int depth = (int)options->depth;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, vocab, depth, 1.0f,
                o->hidden_copy, depth, o->weight_copy, depth, 0.0f, o->logits, vocab);
}

static void try_call(dllm_status status)
{
    if (status != DLLM_OK)
        bench_fatal(BENCH_FAILED, "%s: %s", dllm_status_text(status), dllm_last_error());
}

static void open_head(head *out, dllm_context *context, const bench_cpu_options *options,
                      const operands *o, int64_t rows)
{
    dllm_head_options head_options = DLLM_HEAD_OPTIONS_INIT;
    head_options.vocab = options->vocab;
    head_options.depth = options->depth;
    head_options.rows_max = rows;
    head_options.hidden_type = head_options.weight_type = DLLM_BF16;
    head_options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    try_call(dllm_head_prepare(&out->plan, context, &head_options));
    out->buffers = (dllm_head_buffers)DLLM_HEAD_BUFFERS_INIT;
    out->buffers.rows = rows;
    out->buffers.hidden = o->hidden;
    out->buffers.weight = o->weight;
    out->buffers.workspace_bytes = dllm_plan_workspace_bytes(out->plan);
    out->buffers.workspace = allocate((int64_t)out->buffers.workspace_bytes, 1);
    out->buffers.argmax = o->argmax;
    out->buffers.lse = o->lse;
    out->buffers.confidence = o->confidence;
}

static void close_head(head *h)
{
    dllm_plan_destroy(h->plan);
    free(h->buffers.workspace);
}

/* Both are fp32 sums in different orders: 1e-3 is far above their difference, far below an error. */
static void check(const bench_cpu_options *options, const operands *o, int64_t rows)
{
    const double tolerance = 1e-3;
    for (int64_t r = 0; r < rows; r++) {
        const float *z = o->logits + r * options->vocab;
        double most = (double)z[0];
        double sum = 0;
        for (int64_t v = 0; v < options->vocab; v++)
            most = fmax(most, (double)z[v]);
        for (int64_t v = 0; v < options->vocab; v++)
            sum += exp((double)z[v] - most);
        const int32_t id = o->argmax[r];
        if (id < 0 || id >= options->vocab || !((double)z[id] >= most - tolerance))
            bench_fatal(BENCH_FAILED, "row %lld: argmax %d is not the largest logit", (long long)r,
                        id);
        if (!(fabs((double)o->lse[r] - most - log(sum)) <= tolerance))
            bench_fatal(BENCH_FAILED, "row %lld: lse %.9g, not %.9g", (long long)r,
                        (double)o->lse[r], most + log(sum));
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of the read, the product and the head, sampled in turn. */
static void measure(double medians[VARIANTS], const bench_cpu_options *options, const operands *o,
                    const head *h)
{
    double *samples = allocate((int64_t)VARIANTS * options->samples, sizeof *samples);
    const int64_t rows = h->buffers.rows;
    const uint64_t sum = read_weight(options, o);
    multiply(options, o, rows);
    try_call(dllm_head_run(h->plan, &h->buffers, NULL));
    check(options, o, rows);
    for (int i = 0; i < options->samples; i++) {
        double *at[VARIANTS];
        for (int v = 0; v < VARIANTS; v++)
            at[v] = &samples[v * options->samples + i];
        const double begin = now_ms();
        if (read_weight(options, o) != sum) bench_fatal(BENCH_FAILED, "the weight has changed");
        const double after_read = now_ms();
        multiply(options, o, rows);
        const double after_multiply = now_ms();
        try_call(dllm_head_run(h->plan, &h->buffers, NULL));
        *at[0] = after_read - begin;
        *at[1] = after_multiply - after_read;
        *at[2] = now_ms() - after_multiply;
    }
    for (int v = 0; v < VARIANTS; v++) {
        double *of = samples + (ptrdiff_t)v * options->samples;
        qsort(of, (size_t)options->samples, sizeof *of, compare_doubles);
        medians[v] = of[options->samples / 2];
    }
    free(samples);
}

static json_t *report(const bench_cpu_options *options, int64_t rows, const double ms[VARIANTS])
{
    const double ratio = ms[2] / fmax(ms[0], ms[1]);
    printf("%6lld %10.2f %10.2f %10.2f %8.2f\n", (long long)rows, ms[0], ms[1], ms[2], ratio);
    (void)fflush(stdout);
    return json_pack("{s:I, s:I, s:I, s:i, s:i, s:f, s:f, s:f, s:f}", "vocab",
                     (json_int_t)options->vocab, "depth", (json_int_t)options->depth, "rows",
                     (json_int_t)rows, "threads", options->threads, "samples", options->samples,
                     "read_ms", ms[0], "sgemm_ms", ms[1], "head_ms", ms[2], "ratio", ratio);
}

int main(int argc, char **argv)
{
    bench_cpu_options options;
    operands o = {0};
    bench_cpu_options_read(&options, argc, argv);
    open_operands(&o, &options);
    openblas_set_num_threads(options.threads);

    dllm_context *context = NULL;
    dllm_context_options context_options = DLLM_CONTEXT_OPTIONS_INIT;
    context_options.device = DLLM_DEVICE_CPU;
    context_options.threads = options.threads;
    try_call(dllm_context_create(&context, &context_options));
    printf("vocab %lld, depth %lld, bf16, %d threads, median of %d, ms; ratio to the slower of the "
           "others\n%6s %10s %10s %10s %8s\n",
           (long long)options.vocab, (long long)options.depth, options.threads, options.samples,
           "rows", "read", "sgemm", "head", "ratio");

    json_t *results = json_array();
    for (int i = 0; i < options.row_count; i++) {
        head h = {0};
        double medians[VARIANTS];
        open_head(&h, context, &options, &o, options.rows[i]);
        measure(medians, &options, &o, &h);
        (void)json_array_append_new(results, report(&options, options.rows[i], medians));
        close_head(&h);
    }
    int status = 0;
    if (options.json_path && json_dump_file(results, options.json_path, JSON_INDENT(2)) != 0) {
        (void)fprintf(stderr, "%s: %s cannot be written\n", bench_program, options.json_path);
        status = BENCH_FAILED;
    }
    json_decref(results);
    dllm_context_destroy(context);
    close_operands(&o);
    return status;
}
