/*
 * bench_taker.c - prepares and checks who takes part, and runs a turn of each
 */
#include "bench_taker.h"

#include <stdio.h>
#include <string.h>

#include "element_type.h"

enum { SLOW_ROWS_MAX = 64 };

/* naive and tiled are there to be read and to cover old GPUs: not timed where they take seconds. */
typedef enum family_kind { FAST, SLOW, BY_NAME_ALONE } family_kind;

static const struct family {
    const char *name;
    family_kind kind;
} families[] = {{"naive", SLOW},        {"tiled", SLOW},        {"mma", FAST},
                {"sm90", FAST},         {"gemm_chunk", FAST},   {"stream", BY_NAME_ALONE},
                {"cpu", BY_NAME_ALONE}, {"dllm", BY_NAME_ALONE}};

enum { FAMILIES = sizeof families / sizeof families[0] };

const char *bench_family_name(int32_t i)
{
    return i >= 0 && i < FAMILIES ? families[i].name : NULL;
}

bool bench_contest_is_head(const bench_contest *all)
{
    return all->work->shape.depth > 0;
}

bench_result bench_contest_result(const bench_contest *all, const char *what, char method)
{
    const bench_shape *shape = &all->work->shape;
    bench_result result = {.op = bench_contest_is_head(all) ? "head" : "sampler",
                           .set = all->set,
                           .method = method,
                           .vocab = shape->vocab,
                           .depth = shape->depth,
                           .rows = all->rows,
                           .type = shape->type};
    (void)snprintf(result.what, sizeof result.what, "%s", what);
    return result;
}

static void skip(const bench_contest *all, const char *what, const char *why)
{
    const bench_result result = bench_contest_result(all, what, ' ');
    bench_report_skip(&result, why);
}

static bool explain(bench_variant *variant, const char *why)
{
    (void)snprintf(variant->why, sizeof variant->why, "%s", why);
    return false;
}

static bool run_family(bench_variant *variant, int64_t turn)
{
    const bench_taker *one = variant->user;
    return bench_runner_run(&one->runner, turn) == DLLM_OK || explain(variant, dllm_last_error());
}

static bool run_product(bench_variant *variant, int64_t turn)
{
    const bench_taker *one = variant->user;
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
    const bench_taker *one = variant->user;
    bench_cublaslt *lt = &one->all->bench->cublaslt;
    return bench_cublaslt_run(lt, &one->lt, bench_work_weight(one->all->work, turn)) ||
           explain(variant, lt->message);
}

/* All of the weight, or all of the logits. */
static bool run_read(bench_variant *variant, int64_t turn)
{
    const bench_taker *one = variant->user;
    const bench_contest *all = one->all;
    const bench_shape *shape = &all->work->shape;
    bench_read *read = &all->bench->read;
    const int64_t lines = bench_contest_is_head(all) ? shape->vocab : all->rows;
    const int64_t width = bench_contest_is_head(all) ? shape->depth : shape->vocab;
    const void *from = bench_contest_is_head(all) ? bench_work_weight(all->work, turn)
                                                  : bench_work_hidden(all->work, all->rows, turn);
    return bench_read_run(read, from, lines * width * (int64_t)element_bytes(shape->type),
                          all->work->argmax) ||
           explain(variant, read->message);
}

/* The next place, taken only when `count` is raised. */
static bench_taker *next_taker(bench_contest *all, const char *name,
                               bool (*run)(bench_variant *variant, int64_t turn))
{
    bench_taker *one = &all->takers[all->count];
    *one = (bench_taker){.all = all};
    (void)snprintf(one->name, sizeof one->name, "%s", name);
    one->variant.name = one->name;
    one->variant.run = run;
    one->variant.user = one;
    return one;
}

static bool is_asked(const bench_contest *all, unsigned which)
{
    return (all->bench->options.beside & which) != 0;
}

static bench_taker *enter_beside(bench_contest *all, const char *name,
                                 bool (*run)(bench_variant *variant, int64_t turn))
{
    bench_taker *one = next_taker(all, name, run);
    one->aside = !all->bench->options.beside_named;
    all->count++;
    return one;
}

static void enter_products(bench_contest *all)
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
        if (!bench_contest_is_head(all)) {
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
static bool admit(bench_contest *all, bench_taker *one, const char *family, double rounding)
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
static void enter_product_and_sampler(bench_contest *all)
{
    const dllm_type type = all->work->shape.type;
    if (!is_asked(all, BENCH_BESIDE_SAMPLER) || !all->logits) return;
    bench_taker *one = next_taker(all, "cublas+sampler", run_product_and_sampler);
    const double half_step = type == DLLM_BF16 ? 0x1p-9 : type == DLLM_FP16 ? 0x1p-12 : 0x1p-24;
    one->aside = !all->bench->options.beside_named;
    one->product = all->baseline->product;
    one->runner.logits = all->logits;
    if (admit(all, one, NULL, half_step))
        one->workspace_bytes +=
            (size_t)all->rows * (size_t)all->work->shape.vocab * element_bytes(type);
}

/* Bundles of outputs beside the three, as a family's name tells them. */
static const struct more {
    unsigned bits;
    const char *suffix;
} mores[] = {{0, ""}, {BENCH_MORE_STATISTICS, "+statistics"}, {BENCH_MORE_GUMBEL, "+gumbel"}};

/* With the three outputs, and once more with each bundle that was asked for. */
static void enter_family(bench_contest *all, const char *family, bool aside)
{
    for (size_t i = 0; i < sizeof mores / sizeof mores[0]; i++) {
        char name[sizeof all->takers[0].name];
        if (mores[i].bits && !(all->bench->options.more & mores[i].bits)) continue;
        if (all->count == BENCH_VARIANTS_MAX) {
            skip(all, family, "there are too many variants already");
            return;
        }
        (void)snprintf(name, sizeof name, "%s%s", family, mores[i].suffix);
        bench_taker *one = next_taker(all, name, run_family);
        one->aside = aside;
        one->runner.more = mores[i].bits;
        (void)admit(all, one, strcmp(family, "dllm") == 0 ? NULL : family, 0.0);
    }
}

static void enter_families(bench_contest *all)
{
    const bench_options *options = &all->bench->options;
    for (int i = 0; bench_contest_is_head(all) && i < options->family_count; i++)
        enter_family(all, options->families[i], false);
    if (bench_contest_is_head(all) && options->family_count > 0) return;
    if (options->device == DLLM_DEVICE_CPU || !bench_contest_is_head(all)) {
        enter_family(all, options->device == DLLM_DEVICE_CPU ? "cpu" : "stream", false);
        return;
    }
    for (int i = 0; i < FAMILIES; i++) {
        const bool slow = families[i].kind == SLOW;
        if (families[i].kind == FAST || (slow && all->rows <= SLOW_ROWS_MAX))
            enter_family(all, families[i].name, slow);
    }
}

void bench_takers_enter(bench_contest *all)
{
    enter_products(all);
    enter_product_and_sampler(all);
    enter_families(all);
}

void bench_takers_leave(bench_contest *all)
{
    for (int i = 0; i < all->count; i++) {
        bench_taker *one = &all->takers[i];
        bench_runner_close(&one->runner);
        if (one->lt.desc) bench_cublaslt_release(&all->bench->cublaslt, &one->lt);
    }
}
