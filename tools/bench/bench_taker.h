/*
 * bench_taker.h - who takes part in a contest, and how each enters it
 *
 * Takers, in this order: cuBLAS's product alone (the head's baseline), the plain read (the
 * sampler's), cuBLASLt's best algorithm, the product with the library's sampler behind it, the
 * families. A family takes part only if its result is right.
 */
#ifndef BENCH_TAKER_H
#define BENCH_TAKER_H

#include "bench_contest.h"

/* One who takes part; only what it needs is filled. */
typedef struct bench_taker {
    struct bench_contest *all;
    char name[40];
    bool aside; /* not asked for by name: takes part in method L alone */
    bench_product product;
    bench_lt_product lt;
    bench_runner runner;
    size_t workspace_bytes;
    bench_variant variant;
} bench_taker;

typedef struct bench_contest {
    bench_session *bench;
    bench_work *work;
    const char *set;
    int64_t rows;
    void *logits;
    bench_taker *baseline; /* NULL: there is none */
    bench_taker *read;     /* NULL: the plain read does not take part */
    int count;
    bench_taker takers[BENCH_VARIANTS_MAX];
} bench_contest;

/** The name of family i that may be asked for, "dllm" for the library's choice; NULL behind the last. */
const char *bench_family_name(int32_t i);

/** Is it a head's, or a sampler's? */
bool bench_contest_is_head(const bench_contest *all);

/** A result of that taker and method with no times yet. */
bench_result bench_contest_result(const bench_contest *all, const char *what, char method);

/** Enters all that can take part; says of the others why not. */
void bench_takers_enter(bench_contest *all);
void bench_takers_leave(bench_contest *all);

#endif
