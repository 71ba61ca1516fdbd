/*
 * bench.c - times each kernel family of the head, and the sampler, against cuBLAS's product alone, and
 * steps of the decode loop against the head alone
 *
 * A family is checked against a double reference before it is timed: a wrong one gets no number.
 * The baseline is the product with its logits written in the type of the operands, and nothing
 * else.
 */
#include <stdio.h>

#include "bench_contest.h"
#include "bench_exit.h"
#include "bench_step.h"
#include "element_type.h"

const char bench_program[] = "bench";

static const int64_t head_rows[] = {1,   16,  64,  72,  96,   128,  160,  192,
                                    256, 320, 384, 512, 1024, 4096, 16384};
static const int64_t set_rows[] = {32, 1024}; /* of every head of the table */
static const int64_t sampler_rows[] = {1, 64, 1024, 16384};
static const int64_t cpu_rows[] = {1, 16, 64};

typedef struct row_list {
    const int64_t *rows;
    int count;
} row_list;

#define ROW_LIST(array) ((row_list){array, (int)(sizeof(array) / sizeof(array)[0])})

static row_list rows_of(const bench_options *options, bool head)
{
    if (options->row_count > 0) return (row_list){options->rows, options->row_count};
    if (options->device == DLLM_DEVICE_CPU) return ROW_LIST(cpu_rows);
    if (!head) return ROW_LIST(sampler_rows);
    return options->shape_count > 1 ? ROW_LIST(set_rows) : ROW_LIST(head_rows);
}

/* One operation on one shape in one type, at every number of rows. */
static void measure_operation(bench_session *bench, const bench_head *head, int64_t depth,
                              dllm_type type)
{
    const row_list list = rows_of(&bench->options, depth > 0);
    bench_shape shape = {.vocab = head->vocab, .depth = depth, .type = type};
    for (int i = 0; i < list.count; i++)
        shape.rows_most = list.rows[i] > shape.rows_most ? list.rows[i] : shape.rows_most;
    bench_work work;
    bench_work_open(&work, &bench->memory, bench->context, &shape, list.rows, list.count);
    void *logits = NULL;
    if (bench->has_cublas && depth > 0) {
        logits = device_allocate(&bench->memory, (size_t)shape.rows_most * (size_t)shape.vocab *
                                                     element_bytes(type));
        if (!logits) (void)printf("# no baseline: its logits: %s\n", bench->memory.message);
    }
    for (int i = 0; i < list.count; i++)
        bench_contest_hold(bench, &work, head->set, logits, list.rows[i], i == 0);
    device_free(&bench->memory, logits);
    bench_work_close(&work);
}

static void measure_all(bench_session *bench)
{
    static const dllm_type types[] = {DLLM_BF16, DLLM_FP16, DLLM_FP32};
    const bench_options *options = &bench->options;
    for (int i = 0; options->head && i < options->shape_count; i++) {
        const bench_head *head = &options->shapes[i];
        measure_operation(bench, head, head->depth, options->type ? options->type : head->type);
    }
    for (size_t i = 0; options->sampler && i < sizeof types / sizeof types[0]; i++) {
        if (!options->type || options->type == types[i])
            measure_operation(bench, &options->shapes[0], 0, types[i]);
    }
    for (int i = 0; options->step && i < options->shape_count; i++) {
        const bench_head *head = &options->shapes[i];
        bench_step_measure(bench, head, options->type ? options->type : head->type);
    }
}

/* The device, its context, and on a GPU what the library is compared with, as far as it can be had. */
static void open_device(bench_session *bench)
{
    const bench_options *options = &bench->options;
    if (!device_open(&bench->memory, options->device))
        bench_fatal(BENCH_NO_DEVICE, "no such device: %s", bench->memory.message);
    dllm_context_options context = DLLM_CONTEXT_OPTIONS_INIT;
    context.device = options->device;
    context.threads = options->threads;
    const dllm_status status = dllm_context_create(&bench->context, &context);
    if (status != DLLM_OK)
        bench_fatal(status == DLLM_INVALID_ARGUMENT ? BENCH_USAGE : BENCH_NO_DEVICE, "%s",
                    dllm_last_error());
    if (options->device == DLLM_DEVICE_CPU) return;
    (void)bench_clock_open(&bench->clock, options->device);
    bench->has_cublas = options->head && bench_cublas_open(&bench->cublas);
    bench->has_cublaslt = options->head && (options->beside & BENCH_BESIDE_LT) &&
                          bench_cublaslt_open(&bench->cublaslt, &bench->memory);
    bench->has_read =
        (options->beside & BENCH_BESIDE_READ) && bench_read_open(&bench->read, bench->context);
}

static void close_device(bench_session *bench)
{
    if (bench->has_read) bench_read_close(&bench->read);
    if (bench->has_cublaslt) bench_cublaslt_close(&bench->cublaslt, &bench->memory);
    if (bench->has_cublas) bench_cublas_close(&bench->cublas);
    bench_clock_close(&bench->clock);
    dllm_context_destroy(bench->context);
    device_close(&bench->memory);
}

static void describe_place(bench_session *bench)
{
    bench_place *place = &bench->report.place;
    bench_report_place(&bench->report, bench->context, bench->options.device);
    if (bench->has_cublas) {
        (void)snprintf(place->cublas, sizeof place->cublas, "%d", bench->cublas.version);
        (void)snprintf(place->baseline, sizeof place->baseline, "to the product alone by cuBLAS %s",
                       place->cublas);
    } else {
        (void)snprintf(place->baseline, sizeof place->baseline, "none, %s",
                       bench->cublas.message[0] ? bench->cublas.message : "without cuBLAS");
    }
    bench_report_header(&bench->report);
    if (bench->read.message[0]) (void)printf("# no plain read: %s\n", bench->read.message);
    if (bench->cublaslt.message[0]) (void)printf("# no cublaslt: %s\n", bench->cublaslt.message);
}

int main(int argc, char **argv)
{
    static bench_session bench;
    bench_report_begin(&bench.report, argc, argv);
    bench_options_read(&bench.options, argc, argv);
    open_device(&bench);
    describe_place(&bench);
    measure_all(&bench);
    if (!bench_report_write(&bench.report, bench.options.csv_path, bench.options.json_path))
        bench.failures++;
    if (bench.report.count == 0) bench.failures++;
    bench_report_release(&bench.report);
    close_device(&bench);
    return bench.failures ? BENCH_FAILED : BENCH_DONE;
}
