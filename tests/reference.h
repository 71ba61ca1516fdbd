/*
 * reference.h - statistics of a row in double precision, written like the formulas they check
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "dllm.h"

#include <stdbool.h>

/** A matrix in memory, row-major, stride in elements. */
typedef struct reference_matrix {
    dllm_type type;
    const void *data;
    int64_t stride;
} reference_matrix;

/** Bounds of the error of a row's products, the largest over its columns. */
typedef struct reference_delta {
    double in_order;  /* for a kernel that sums in the order of h, 16 terms at a time */
    double any_order; /* for one that sums otherwise */
} reference_delta;

/** The bound that holds for a kernel family of the head. */
double reference_delta_of(const reference_delta *delta, const char *family);

/**
 * The row of logits: z[v] = sum over h of hidden[row, h] * weight[v, h].
 * z        (vocab)
 */
void reference_logits(double *z, reference_delta *delta, const reference_matrix *hidden,
                      int64_t row, const reference_matrix *weight, int64_t vocab, int64_t depth);

/** Transforms of a row; a field that is 0 does nothing. */
typedef struct reference_transforms {
    dllm_type round_logits;
    float scale;
    float softcap;
    const float *bias; /* (vocab) or NULL */
} reference_transforms;

/**
 * Transforms a row of logits that are known to within delta, and returns how well they are known then.
 * Of exact logits (0) all but the softcap is done in fp32, rounding for rounding, so that they stay
 * exact.
 */
double reference_transform(double *z, int64_t vocab, const reference_transforms *transforms,
                           double delta);

/** Lowers one logit, none if there is no such column; returns how well they are known then. */
double reference_penalise(double *z, int64_t vocab, int64_t column, float penalty, double delta);

/**
 * Guidance of a row of logits by unconditional ones u, both transformed and known to within their
 * deltas: z = u + (scale + 1)(z - u). Returns how well they are known then.
 * in_bf16  each of the three operations rounds; exact logits alone
 */
double reference_guide(double *z, const double *u, int64_t vocab, float scale, bool in_bf16,
                       const double delta[2]);

/** The two words of an id's noise, and their noise. */
void reference_words(uint32_t out[2], uint64_t seed, uint64_t row_key, uint32_t draw, int64_t id);
double reference_gumbel(uint32_t high, uint32_t low);

/** A row whose statistics are wanted. */
typedef struct reference_input {
    const double *z;     /* (vocab) after all transforms */
    const bool *masked;  /* (vocab) columns that are absent; NULL: none */
    const double *noise; /* (vocab) G; NULL: no draw */
    int64_t vocab;
    int64_t valid_vocab; /* columns from here on are masked too; 0 = vocab */
    int64_t vocab_offset;
    double temperature; /* not above 0: greedy */
    bool tempered;
    bool has_target;
    int64_t target; /* global id */
} reference_input;

/** Outputs of a row, and the quantities that tolerances are made of. */
typedef struct reference_row {
    int64_t argmax; /* global id, as all ids */
    double max;
    double lse;
    double confidence;
    double entropy;
    double second;
    int64_t second_id;
    double margin;
    double target_logprob;
    int64_t gumbel_id;
    double gumbel_logprob;
    uint32_t flags;
    double temperature; /* of the sums */
    double gap;         /* max - second; infinite with one candidate */
    double sum;         /* d */
    double spread;      /* X: mean of x = (max - z) / T */
    double square;      /* Q: mean of x^2 */
    int64_t candidates; /* n */
    int64_t rises;      /* N: times the maximum rises in id order, the first candidate included */
    double score;       /* of gumbel_id */
} reference_row;

void reference_statistics(reference_row *out, const reference_input *input);

/** The log-probability of a logit of the row. */
double reference_log_probability(const reference_row *row, double z);

/** The column of the best candidate, -1 if there is none. NaN is not looked at. */
int64_t reference_best(const reference_input *input);

/** True if the id is one of the row's candidates. */
bool reference_is_candidate(const reference_input *input, int64_t id);

/** What a row gets whose row index is outside the source. */
void reference_bad_row(reference_row *out);

#endif
