/*
 * row_features.h - transforms, further statistics and their arrays of a random row problem
 *
 * What follows from a shape and its features is the same on every device and for every family.
 */
#ifndef ROW_FEATURES_H
#define ROW_FEATURES_H

#include "row_run.h"

/** What a problem has beside the five plain outputs, as bits of row_shape.features. */
enum {
    FEATURE_OUTPUTS = 1 << 0, /* every output, with a target */
    FEATURE_SCALE = 1 << 1,
    FEATURE_SOFTCAP = 1 << 2,
    FEATURE_ROUND = 1 << 3,
    FEATURE_BIAS = 1 << 4,
    FEATURE_SUPPRESS = 1 << 5,
    FEATURE_PENALTY = 1 << 6,
    FEATURE_TEMPERATURES = 1 << 7, /* one a row, unusable ones among them */
    FEATURE_TEMPERED = 1 << 8,
    FEATURE_KEYS = 1 << 9,
    FEATURE_WORDS = 1 << 10,
    FEATURE_GUIDANCE = 1 << 11,   /* by a scale a row, unusable ones among them, or by one */
    FEATURE_GUIDE_BF16 = 1 << 12, /* and each of its operations rounds; not behind a softcap */
    FEATURE_ALL = 1 << 13,        /* one above the last */
    /* those that leave exact logits exact */
    FEATURE_EXACT = FEATURE_ALL - 1 - FEATURE_SOFTCAP
};

/** The arrays of a problem's features. */
typedef struct row_features {
    float *bias;
    int64_t *suppress;
    int64_t *penalty_id;
    float *penalty;
    int64_t *target;
    float *temperature;
    uint64_t *row_key;
    uint32_t *noise;
    float *cfg_scale;
    uint64_t seed;
    uint32_t draw;
} row_features;

/** Features drawn from a seed: none at all for one seed in three. */
uint32_t row_features_random(uint64_t seed);

/** Makes the arrays and sets the problem's fields; false if memory is short. */
bool row_features_make(row_features *out, row_problem *problem, uint32_t features, uint64_t seed);

/** Gives every row what row 0 has. */
void row_features_repeat(row_features *features, const row_problem *problem);

void row_features_release(row_features *features);

#endif
