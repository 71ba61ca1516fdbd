/*
 * bench.c - times each kernel family of the head, and the sampler, against cuBLAS's product alone
 *
 * A family is checked against a double reference before it is timed: a wrong one gets no number.
 * The baseline is the product with its logits written in the type of the operands, and nothing
 * else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_cublas.h"
#include "bench_exit.h"
#include "bench_measure.h"
#include "bench_options.h"
#include "bench_report.h"
#include "bench_work.h"
#include "element_type.h"

enum { SLOW_ROWS_MAX = 256 };
static const double limit_ms = 2000.0; /* of one variant's samples */

static const int64_t head_rows[] = {1, 16, 64, 128, 256, 512, 1024, 4096, 16384};
static const int64_t sampler_rows[] = {1, 64, 1024, 16384};
static const int64_t cpu_rows[] = {1, 16, 64};

/* naive and tiled are there to be read and to cover old GPUs: not timed where they take seconds. */
static const struct family {
    const char *name;
    bool slow;
} families[] = {
    {"naive", true}, {"tiled", true}, {"mma", false}, {"sm90", false}, {"gemm_chunk", false}};

/* Everything a run of bench holds. */
typedef struct bench_session {
    bench_options options;
    device_memory memory;
    dllm_context *context;
    bench_cublas cublas;
    bool has_cublas;
    bench_report report;
    int failures;
} bench_session;

/* One number of rows of one operation: the product alone first, if there is one, then the families.
 */
typedef struct contest {
    bench_session *bench;
    bench_work *work;
    int64_t rows;
    bench_product product;
    void *logits; /* where the product alone writes; NULL without one */
    int count;
    bench_variant variants[BENCH_VARIANTS_MAX];
    bench_runner runners[BENCH_VARIANTS_MAX];
} contest;

static bench_result result_of(const contest *all, const char *what)
{
    const bench_shape *shape = &all->work->shape;
    bench_result result = {.op = shape->depth > 0 ? "head" : "sampler",
                           .vocab = shape->vocab,
                           .depth = shape->depth,
                           .rows = all->rows,
                           .type = shape->type};
    (void)snprintf(result.what, sizeof result.what, "%s", what);
    return result;
}

static void skip(const contest *all, const char *what, const char *why)
{
    const bench_result result = result_of(all, what);
    bench_report_skip(&result, why);
}

static bool run_family(bench_variant *variant, int64_t turn)
{
    if (bench_work_run(variant->user, turn) == DLLM_OK) return true;
    (void)snprintf(variant->why, sizeof variant->why, "%s", dllm_last_error());
    return false;
}

static bool run_product(bench_variant *variant, int64_t turn)
{
    const contest *all = variant->user;
    bench_product product = all->product;
    product.weight = bench_work_weight(all->work, turn);
    if (bench_cublas_run(&all->bench->cublas, &product)) return true;
    (void)snprintf(variant->why, sizeof variant->why, "%s", all->bench->cublas.message);
    return false;
}

static void enter_product(contest *all)
{
    const bench_shape *shape = &all->work->shape;
    if (!all->logits) return;
    all->product = (bench_product){.hidden = all->work->hidden,
                                   .logits = all->logits,
                                   .rows = all->rows,
                                   .vocab = shape->vocab,
                                   .depth = shape->depth,
                                   .type = shape->type};
    all->variants[all->count++] =
        (bench_variant){.name = "cublas", .run = run_product, .user = all};
}

/* Prepares and checks a family; it takes part only if its result is right. */
static void enter_family(contest *all, const char *family)
{
    bench_runner *runner = &all->runners[all->count];
    char why[512] = "";
    *runner = (bench_runner){.work = all->work, .rows = all->rows};
    const dllm_status status = bench_work_prepare(&runner->plan, all->work, family, all->rows);
    if (status != DLLM_OK) {
        skip(all, family, dllm_last_error());
        all->bench->failures += status != DLLM_UNSUPPORTED;
        return;
    }
    runner->workspace_bytes = dllm_plan_workspace_bytes(runner->plan);
    runner->workspace = device_allocate(&all->bench->memory, runner->workspace_bytes);
    if (!runner->workspace) {
        (void)snprintf(why, sizeof why, "%zu bytes of workspace: %s", runner->workspace_bytes,
                       all->bench->memory.message);
    } else if (bench_work_check(all->work, runner, why, sizeof why) == 0) {
        all->variants[all->count++] =
            (bench_variant){.name = family, .run = run_family, .user = runner};
        return;
    }
    skip(all, family, why);
    all->bench->failures++;
    device_free(&all->bench->memory, runner->workspace);
    dllm_plan_destroy(runner->plan);
    *runner = (bench_runner){0};
}

static void enter_families(contest *all)
{
    const bench_options *options = &all->bench->options;
    const bool head = all->work->shape.depth > 0;
    for (int i = 0; head && i < options->family_count; i++)
        enter_family(all, options->families[i]);
    if (head && options->family_count > 0) return;
    if (options->device == DLLM_DEVICE_CPU || !head) {
        enter_family(all, options->device == DLLM_DEVICE_CPU ? "cpu" : "stream");
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (families[i].slow && all->rows > SLOW_ROWS_MAX)
            skip(all, families[i].name, "slow: only asked for by name at this many rows");
        else
            enter_family(all, families[i].name);
    }
}

static void report_variant(const contest *all, int which)
{
    const bench_variant *variant = &all->variants[which];
    bench_result result = result_of(all, variant->name);
    result.ms = bench_median(variant->ms, variant->samples);
    result.min_ms = bench_least(variant->ms, variant->samples);
    result.samples = variant->samples;
    result.workspace_bytes = all->runners[which].workspace_bytes;
    if (all->logits) result.ratio = bench_ratio(variant, &all->variants[0]);
    bench_report_add(&all->bench->report, &result);
}

static void hold_contest(bench_session *bench, bench_work *work, void *logits, int64_t rows)
{
    const bench_timing timing = {.samples = bench->options.samples, .limit_ms = limit_ms};
    char why[768] = "the events of the timer cannot be made";
    contest *all = calloc(1, sizeof *all);
    if (!all) bench_fatal(BENCH_FAILED, "no host memory for the samples");
    *all = (contest){.bench = bench, .work = work, .rows = rows, .logits = logits};
    enter_product(all);
    enter_families(all);
    if (all->count > 0 &&
        !bench_measure(all->variants, all->count, &bench->memory, &timing, why, sizeof why)) {
        (void)fprintf(stderr, "bench: %lld rows: %s\n", (long long)rows, why);
        bench->failures++;
        all->count = 0;
    }
    for (int i = 0; i < all->count; i++)
        report_variant(all, i);
    for (int i = 0; i < BENCH_VARIANTS_MAX; i++) {
        device_free(&bench->memory, all->runners[i].workspace);
        dllm_plan_destroy(all->runners[i].plan);
    }
    free(all);
}

/* One operation in one type, at every number of rows. */
static void measure_operation(bench_session *bench, int64_t depth, dllm_type type,
                              const int64_t *rows, int row_count)
{
    const bench_options *options = &bench->options;
    bench_shape shape = {.vocab = options->vocab, .depth = depth, .type = type};
    for (int i = 0; i < row_count; i++)
        shape.rows_most = rows[i] > shape.rows_most ? rows[i] : shape.rows_most;
    bench_work work;
    bench_work_open(&work, &bench->memory, bench->context, &shape, rows, row_count);
    void *logits = NULL;
    if (bench->has_cublas && depth > 0) {
        logits = device_allocate(&bench->memory, (size_t)shape.rows_most * (size_t)shape.vocab *
                                                     element_bytes(type));
        if (!logits) (void)printf("# no baseline: its logits: %s\n", bench->memory.message);
    }
    for (int i = 0; i < row_count; i++)
        hold_contest(bench, &work, logits, rows[i]);
    device_free(&bench->memory, logits);
    bench_work_close(&work);
}

static void measure_all(bench_session *bench)
{
    static const dllm_type types[] = {DLLM_BF16, DLLM_FP16, DLLM_FP32};
    const bench_options *options = &bench->options;
    const bool cpu = options->device == DLLM_DEVICE_CPU;
    const int64_t *rows = options->rows;
    int count = options->row_count;
    if (options->head) {
        if (options->row_count == 0) {
            rows = cpu ? cpu_rows : head_rows;
            count = (int)(cpu ? sizeof cpu_rows : sizeof head_rows) / (int)sizeof *rows;
        }
        measure_operation(bench, options->depth, options->type ? options->type : DLLM_BF16, rows,
                          count);
    }
    for (size_t i = 0; options->sampler && i < sizeof types / sizeof types[0]; i++) {
        if (options->type && options->type != types[i]) continue;
        if (options->row_count == 0) {
            rows = cpu ? cpu_rows : sampler_rows;
            count = (int)(cpu ? sizeof cpu_rows : sizeof sampler_rows) / (int)sizeof *rows;
        }
        measure_operation(bench, 0, types[i], rows, count);
    }
}

/* The device, its context, and cuBLAS where there is a GPU and it can be had. */
static void open_device(bench_session *bench)
{
    const bench_options *options = &bench->options;
    if (!device_open(&bench->memory, options->device))
        bench_fatal(BENCH_NO_DEVICE, "no such device: %s", bench->memory.message);
    dllm_context_options context = DLLM_CONTEXT_OPTIONS_INIT;
    context.device = options->device;
    context.threads = options->threads;
    if (dllm_context_create(&bench->context, &context) != DLLM_OK)
        bench_fatal(BENCH_NO_DEVICE, "%s", dllm_last_error());
    bench->has_cublas =
        options->device != DLLM_DEVICE_CPU && options->head && bench_cublas_open(&bench->cublas);
}

static void describe_place(bench_session *bench)
{
    bench_place *place = &bench->report.place;
    bench_report_place(&bench->report, bench->context, bench->options.device);
    if (bench->has_cublas) {
        (void)snprintf(place->cublas, sizeof place->cublas, "%d", bench->cublas.version);
        (void)snprintf(place->baseline, sizeof place->baseline,
                       "to the product alone by cuBLAS %s, launches interleaved", place->cublas);
    } else {
        (void)snprintf(place->baseline, sizeof place->baseline, "none, %s",
                       bench->cublas.message[0] ? bench->cublas.message : "without cuBLAS");
    }
    bench_report_header(&bench->report);
}

int main(int argc, char **argv)
{
    bench_session bench = {0};
    bench_report_begin(&bench.report, argc, argv);
    bench_options_read(&bench.options, argc, argv);
    open_device(&bench);
    describe_place(&bench);
    measure_all(&bench);
    if (!bench_report_write(&bench.report, bench.options.csv_path, bench.options.json_path))
        bench.failures++;
    if (bench.report.count == 0) bench.failures++;
    bench_report_release(&bench.report);
    if (bench.has_cublas) bench_cublas_close(&bench.cublas);
    dllm_context_destroy(bench.context);
    device_close(&bench.memory);
    return bench.failures ? BENCH_FAILED : BENCH_DONE;
}
