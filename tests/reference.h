/*
 * reference.h - statistics of a row in double precision, written like the formulas they check
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "dllm.h"

/** A matrix in memory, row-major, stride in elements. */
typedef struct reference_matrix {
    dllm_type type;
    const void *data;
    int64_t stride;
} reference_matrix;

/** Outputs of a row, and the quantities that tolerances are made of. */
typedef struct reference_row {
    int64_t argmax; /* global id */
    double max;
    double lse;
    double confidence;
    uint32_t flags;
    double gap;         /* max - second; infinite with one candidate */
    double sum;         /* d */
    double spread;      /* X: mean of max - z */
    int64_t candidates; /* n */
    int64_t rises;      /* N: times the maximum rises in id order, the first candidate included */
} reference_row;

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

/** Statistics of a row of logits; columns from valid_vocab on are masked (0: none). */
void reference_statistics(reference_row *out, const double *z, int64_t vocab, int64_t valid_vocab,
                          int64_t vocab_offset);

/** What a row gets whose row index is outside the source. */
void reference_bad_row(reference_row *out);

#endif
