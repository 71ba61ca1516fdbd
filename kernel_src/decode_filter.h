/*
 * decode_filter.h - top_k and top_p over the best candidates of a row, and the draw among what is left
 *
 * Plain functions for gcc and NVRTC, as those of decode_rules.h (docs/decode.md 2.9).
 */
#ifndef DLLM_DECODE_FILTER_H
#define DLLM_DECODE_FILTER_H

#include "decode_rules.h"

enum { DLLM_FILTER_P_THEN_K, DLLM_FILTER_K_THEN_P };

typedef struct dllm_filter_rule {
    int32_t order;     /* DLLM_FILTER_... */
    int32_t top_k;     /* 0: off */
    float top_p;       /* 1 and more: off */
    float temperature; /* <= 0: logits as they are */
} dllm_filter_rule;

/** The best candidates of a row. */
typedef struct dllm_filter_row {
    const float *logits; /* (count) in the order of entries: larger first, then the lower id */
    int32_t count;
    int32_t complete; /* 1: there are no others */
    float sum;        /* of exp((z - z_0) / T) over all candidates of the row, these and others */
} dllm_filter_row;

/** What a filter leaves: the first `kept` candidates, and their statistics among themselves. */
typedef struct dllm_filtered {
    int32_t kept;
    int32_t covered; /* 0: the list ends before the filter does */
    float sum;       /* of exp((z - z_0) / T) over the kept */
    float entropy;
    float margin;
} dllm_filtered;

/** exp((z_i - z_0) / T) */
DLLM_RULE float dllm_filter_term(const dllm_filter_rule *rule, const dllm_filter_row *row,
                                 int32_t i)
{
    const float below = row->logits[i] - row->logits[0];
    if (i == 0) return 1.0f;
    return expf(rule->temperature > 0.0f ? below / rule->temperature : below);
}

/* Of the first `count`: those at least as large as the k-th. */
DLLM_RULE int32_t dllm_keep_top_k(const dllm_filter_rule *rule, const dllm_filter_row *row,
                                  int32_t count)
{
    if (rule->top_k <= 0 || rule->top_k >= count) return count;
    int32_t kept = rule->top_k;
    DLLM_ROLLED
    while (kept < count && row->logits[kept] == row->logits[rule->top_k - 1])
        kept++;
    return kept;
}

/* Of the first `count`: those with at most top_p of `mass` before them. */
DLLM_RULE int32_t dllm_keep_top_p(const dllm_filter_rule *rule, const dllm_filter_row *row,
                                  int32_t count, float mass)
{
    if (!(rule->top_p < 1.0f)) return count;
    float before = 0.0f;
    int32_t kept = 0;
    DLLM_ROLLED
    for (; kept < count && (kept == 0 || before <= rule->top_p * mass); kept++)
        before += dllm_filter_term(rule, row, kept);
    return kept;
}

DLLM_RULE float dllm_sum_kept(const dllm_filter_rule *rule, const dllm_filter_row *row,
                              int32_t kept)
{
    float sum = 0.0f;
    DLLM_ROLLED
    for (int32_t i = kept - 1; i >= 0; i--)
        sum += dllm_filter_term(rule, row, i);
    return sum;
}

/* Entropy and margin of the kept. */
DLLM_RULE void dllm_describe_kept(dllm_filtered *out, const dllm_filter_rule *rule,
                                  const dllm_filter_row *row)
{
    float weighted = 0.0f;
    DLLM_ROLLED
    for (int32_t i = out->kept - 1; i > 0; i--) {
        const float term = dllm_filter_term(rule, row, i);
        const float below = row->logits[i] - row->logits[0];
        if (term > 0.0f)
            weighted += term * (rule->temperature > 0.0f ? below / rule->temperature : below);
    }
    out->entropy = logf(out->sum) - weighted / out->sum;
    out->margin = (1.0f - (out->kept > 1 ? dllm_filter_term(rule, row, 1) : 0.0f)) / out->sum;
}

/**
 * Filters the candidates of a row. Always keeps the first; top_k keeps what ties with its k-th, top_p
 * the entry that crosses its bound.
 */
DLLM_RULE dllm_filtered dllm_filter(const dllm_filter_rule *rule, const dllm_filter_row *row)
{
    dllm_filtered out = {row->count, 1, 1.0f, 0.0f, 0.0f};
    if (rule->order == DLLM_FILTER_P_THEN_K) {
        out.kept = dllm_keep_top_p(rule, row, out.kept, row->sum);
        out.kept = dllm_keep_top_k(rule, row, out.kept);
    } else {
        const int32_t first = dllm_keep_top_k(rule, row, out.kept);
        const int32_t all = first == row->count && (rule->top_k <= 0 || rule->top_k > first);
        out.kept =
            dllm_keep_top_p(rule, row, first, all ? row->sum : dllm_sum_kept(rule, row, first));
    }
    out.covered = row->complete || out.kept < row->count;
    out.sum = dllm_sum_kept(rule, row, out.kept);
    dllm_describe_kept(&out, rule, row);
    return out;
}

/** The kept candidate with the largest score is the one drawn, the first of equal ones. */
DLLM_RULE float dllm_draw_score(const dllm_filter_rule *rule, const dllm_filter_row *row, int32_t i,
                                float gumbel)
{
    return (row->logits[i] - row->logits[0]) / rule->temperature + gumbel;
}

#endif
