/*
 * bench_contest.c - enters the takers, times them, reports
 */
#include "bench_contest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_exit.h"
#include "element_type.h"

enum { SLOW_ROWS_MAX = 64 };
static const double limit_ms = 2000.0; /* of one variant's samples */
static const double host_limit_ms = 600.0;

/* naive and tiled are there to be read and to cover old GPUs: not timed where they take seconds. */
static const struct family {
    const char *name;
    bool slow;
} families[] = {
    {"naive", true}, {"tiled", true}, {"mma", false}, {"sm90", false}, {"gemm_chunk", false}};

/* One who takes part; only what it needs is filled. */
typedef struct taker {
    struct contest *all;
    bool aside; /* not asked for by name: takes part in method L alone */
    bench_product product;
    bench_lt_product lt;
    bench_runner runner;
    size_t workspace_bytes;
    bench_variant variant;
} taker;

typedef struct contest {
    bench_session *bench;
    bench_work *work;
    const char *set;
    int64_t rows;
    void *logits;
    taker *baseline; /* NULL: there is none */
    taker *read;     /* NULL: the plain read does not take part */
    int count;
    taker takers[BENCH_VARIANTS_MAX];
} contest;

static bool is_head(const contest *all)
{
    return all->work->shape.depth > 0;
}

static bench_result result_of(const contest *all, const char *what, char method)
{
    const bench_shape *shape = &all->work->shape;
    return (bench_result){.op = is_head(all) ? "head" : "sampler",
                          .set = all->set,
                          .what = what,
                          .method = method,
                          .vocab = shape->vocab,
                          .depth = shape->depth,
                          .rows = all->rows,
                          .type = shape->type};
}

static void skip(const contest *all, const char *what, const char *why)
{
    const bench_result result = result_of(all, what, ' ');
    bench_report_skip(&result, why);
}

static bool explain(bench_variant *variant, const char *why)
{
    (void)snprintf(variant->why, sizeof variant->why, "%s", why);
    return false;
}

static bool run_family(bench_variant *variant, int64_t turn)
{
    const taker *one = variant->user;
    return bench_runner_run(&one->runner, turn) == DLLM_OK || explain(variant, dllm_last_error());
}

static bool run_product(bench_variant *variant, int64_t turn)
{
    const taker *one = variant->user;
    bench_cublas *cublas = &one->all->bench->cublas;
    bench_product product = one->product;
    product.weight = bench_work_weight(one->all->work, turn);
    return bench_cublas_run(cublas, &product) || explain(variant, cublas->message);
}

static bool run_product_and_sampler(bench_variant *variant, int64_t turn)
{
    return run_product(variant, turn) && run_family(variant, turn);
}

static bool run_lt(bench_variant *variant, int64_t turn)
{
    const taker *one = variant->user;
    bench_cublaslt *lt = &one->all->bench->cublaslt;
    return bench_cublaslt_run(lt, &one->lt, bench_work_weight(one->all->work, turn)) ||
           explain(variant, lt->message);
}

/* All of the weight, or all of the logits. */
static bool run_read(bench_variant *variant, int64_t turn)
{
    const taker *one = variant->user;
    const contest *all = one->all;
    const bench_shape *shape = &all->work->shape;
    bench_read *read = &all->bench->read;
    const int64_t lines = is_head(all) ? shape->vocab : all->rows;
    const int64_t width = is_head(all) ? shape->depth : shape->vocab;
    const void *from = is_head(all) ? bench_work_weight(all->work, turn)
                                    : bench_work_hidden(all->work, all->rows, turn);
    return bench_read_run(read, from, lines * width * (int64_t)element_bytes(shape->type),
                          all->work->argmax) ||
           explain(variant, read->message);
}

/* The next place, taken only when `count` is raised. */
static taker *next_taker(contest *all, const char *name,
                         bool (*run)(bench_variant *variant, int64_t turn))
{
    taker *one = &all->takers[all->count];
    *one = (taker){.all = all};
    one->variant.name = name;
    one->variant.run = run;
    one->variant.user = one;
    return one;
}

static bool is_asked(const contest *all, unsigned which)
{
    return (all->bench->options.beside & which) != 0;
}

static taker *enter_beside(contest *all, const char *name,
                           bool (*run)(bench_variant *variant, int64_t turn))
{
    taker *one = next_taker(all, name, run);
    one->aside = !all->bench->options.beside_named;
    all->count++;
    return one;
}

static void enter_products(contest *all)
{
    bench_session *bench = all->bench;
    const bench_shape *shape = &all->work->shape;
    const bench_product product = {.hidden = all->work->hidden,
                                   .weight = all->work->weight,
                                   .logits = all->logits,
                                   .rows = all->rows,
                                   .vocab = shape->vocab,
                                   .depth = shape->depth,
                                   .type = shape->type};
    if (all->logits) {
        all->baseline = next_taker(all, "cublas", run_product);
        all->baseline->product = product;
        all->count++;
    }
    if (is_asked(all, BENCH_BESIDE_READ) && bench->has_read) {
        all->read = enter_beside(all, "read", run_read);
        if (!is_head(all)) {
            all->baseline = all->read;
            all->read->aside = false;
        }
    }
    if (is_asked(all, BENCH_BESIDE_LT) && all->logits && bench->has_cublaslt) {
        bench_lt_product best;
        if (bench_cublaslt_choose(&best, &bench->cublaslt, &bench->memory, &product))
            enter_beside(all, "cublaslt", run_lt)->lt = best;
        else
            skip(all, "cublaslt", bench->cublaslt.message);
    }
}

/* Opens the taker's plan and checks what it writes; false if it may not take part. */
static bool admit(contest *all, taker *one, const char *family, double rounding)
{
    const char *name = one->variant.name;
    char why[512] = "";
    one->runner.work = all->work;
    one->runner.rows = all->rows;
    const dllm_status status = bench_runner_open(&one->runner, family);
    if (status != DLLM_OK) {
        skip(all, name,
             status == DLLM_OUT_OF_MEMORY ? all->bench->memory.message : dllm_last_error());
        all->bench->failures += status != DLLM_UNSUPPORTED;
        return false;
    }
    one->workspace_bytes = one->runner.workspace_bytes;
    if (bench_work_check(all->work, &one->variant, all->rows, rounding, why, sizeof why) == 0) {
        all->count++;
        return true;
    }
    skip(all, name, why);
    all->bench->failures++;
    bench_runner_close(&one->runner);
    return false;
}

/* The logits are rounded to the type of the operands on the way from one to the other. */
static void enter_product_and_sampler(contest *all)
{
    const dllm_type type = all->work->shape.type;
    if (!is_asked(all, BENCH_BESIDE_SAMPLER) || !all->logits) return;
    taker *one = next_taker(all, "cublas+sampler", run_product_and_sampler);
    const double half_step = type == DLLM_BF16 ? 0x1p-9 : type == DLLM_FP16 ? 0x1p-12 : 0x1p-24;
    one->aside = !all->bench->options.beside_named;
    one->product = all->baseline->product;
    one->runner.logits = all->logits;
    if (admit(all, one, NULL, half_step))
        one->workspace_bytes +=
            (size_t)all->rows * (size_t)all->work->shape.vocab * element_bytes(type);
}

static void enter_family(contest *all, const char *name, bool aside)
{
    taker *one = next_taker(all, name, run_family);
    one->aside = aside;
    (void)admit(all, one, strcmp(name, "dllm") == 0 ? NULL : name, 0.0);
}

static void enter_families(contest *all)
{
    const bench_options *options = &all->bench->options;
    for (int i = 0; is_head(all) && i < options->family_count; i++)
        enter_family(all, options->families[i], false);
    if (is_head(all) && options->family_count > 0) return;
    if (options->device == DLLM_DEVICE_CPU || !is_head(all)) {
        enter_family(all, options->device == DLLM_DEVICE_CPU ? "cpu" : "stream", false);
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (!families[i].slow || all->rows <= SLOW_ROWS_MAX)
            enter_family(all, families[i].name, families[i].slow);
    }
}

static void report_taker(const contest *all, const taker *one, char method)
{
    const bench_variant *variant = &one->variant;
    bench_result result = result_of(all, variant->name, method);
    result.ms = bench_median(variant->ms, variant->samples);
    result.min_ms = bench_least(variant->ms, variant->samples);
    result.samples = variant->samples;
    result.workspace_bytes = one->workspace_bytes;
    result.sm_mhz = variant->seen.sm_mhz;
    result.watts = variant->seen.watts;
    if (method != 'H' && all->baseline && all->baseline->variant.samples > 0)
        result.ratio = bench_ratio(variant, &all->baseline->variant);
    if (method != 'H' && all->read && all->read->variant.samples > 0)
        result.share = bench_ratio(&all->read->variant, variant);
    bench_report_add(&all->bench->report, &result);
}

static void measure(contest *all, const bench_way *way)
{
    bench_session *bench = all->bench;
    const int samples = bench->options.samples ? bench->options.samples : way->samples;
    const bench_timing timing = {.samples = samples,
                                 .limit_ms = way->letter == 'H' ? host_limit_ms : limit_ms,
                                 .burst_ms = bench->options.burst_ms,
                                 .clock = &bench->clock};
    char why[768] = "the events of the timer cannot be made";
    bench_variant *variants[BENCH_VARIANTS_MAX];
    const taker *timed[BENCH_VARIANTS_MAX];
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        taker *one = &all->takers[i];
        one->variant.samples = 0;
        if (one->aside && way->letter != 'L') continue;
        timed[count] = one;
        variants[count++] = &one->variant;
    }
    if (count == 0) return;
    if (!way->measure(variants, count, &bench->memory, &timing, why, sizeof why)) {
        (void)fprintf(stderr, "bench: %lld rows: %s\n", (long long)all->rows, why);
        bench->failures++;
        return;
    }
    for (int i = 0; i < count; i++)
        report_taker(all, timed[i], way->letter);
}

void bench_contest_hold(bench_session *bench, bench_work *work, const char *set, void *logits,
                        int64_t rows, bool first)
{
    contest *all = calloc(1, sizeof *all);
    if (!all) bench_fatal(BENCH_FAILED, "no host memory for the samples");
    all->bench = bench;
    all->work = work;
    all->set = set;
    all->rows = rows;
    all->logits = logits;
    enter_products(all);
    enter_product_and_sampler(all);
    enter_families(all);
    for (int i = 0; i < bench->options.way_count; i++) {
        if (bench->options.ways[i]->letter != 'H' || first) measure(all, bench->options.ways[i]);
    }
    for (int i = 0; i < all->count; i++) {
        bench_runner_close(&all->takers[i].runner);
        if (all->takers[i].lt.desc) bench_cublaslt_release(&bench->cublaslt, &all->takers[i].lt);
    }
    free(all);
}
