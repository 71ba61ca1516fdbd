/*
 * bench_contest.c - times the takers by every method, reports
 */
#include "bench_contest.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench_exit.h"
#include "bench_taker.h"

static const double limit_ms = 2000.0; /* of one variant's samples */
static const double host_limit_ms = 600.0;

static void report_taker(const bench_contest *all, const bench_taker *one, char method)
{
    const bench_variant *variant = &one->variant;
    bench_result result = bench_contest_result(all, variant->name, method);
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

static void measure(bench_contest *all, const bench_way *way)
{
    bench_session *bench = all->bench;
    const int samples = bench->options.samples ? bench->options.samples : way->samples;
    const bench_timing timing = {.samples = samples,
                                 .limit_ms = way->letter == 'H' ? host_limit_ms : limit_ms,
                                 .burst_ms = bench->options.burst_ms,
                                 .clock = &bench->clock};
    char why[768] = "the events of the timer cannot be made";
    bench_variant *variants[BENCH_VARIANTS_MAX];
    const bench_taker *timed[BENCH_VARIANTS_MAX];
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        bench_taker *one = &all->takers[i];
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
    bench_contest *all = calloc(1, sizeof *all);
    if (!all) bench_fatal(BENCH_FAILED, "no host memory for the samples");
    all->bench = bench;
    all->work = work;
    all->set = set;
    all->rows = rows;
    all->logits = logits;
    bench_takers_enter(all);
    for (int i = 0; i < bench->options.way_count; i++) {
        if (bench->options.ways[i]->letter != 'H' || first) measure(all, bench->options.ways[i]);
    }
    bench_takers_leave(all);
    free(all);
}
