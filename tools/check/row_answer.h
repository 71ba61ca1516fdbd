/*
 * row_answer.h - right values of a row, and whether what came out matches them
 */
#ifndef ROW_ANSWER_H
#define ROW_ANSWER_H

#include "row_run.h"

typedef struct row_answer {
    uint32_t present;              /* DLLM_OUT_ bits that have a value */
    double value[ROW_OUTPUTS];     /* flags: DLLM_FLAG_ bits */
    double tolerance[ROW_OUTPUTS]; /* absolute, of confidence relative; 0 = exact */
} row_answer;

/** NaN for NaN, infinity for the same infinity, else no further apart than the tolerance. */
bool value_matches(double got, double wanted, double tolerance);

/**
 * Compares one row's outputs: those of the mask `outputs` that the answer has, flags under
 * flags_mask, and the signs that hold whatever the row (numerics.md 2).
 * message  on false: output, value and what was wanted.
 */
bool row_answer_matches(const row_answer *answer, const double value[ROW_OUTPUTS], uint32_t outputs,
                        uint32_t flags_mask, dllm_message *message);

#endif
