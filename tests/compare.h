/*
 * compare.h - outputs of a row against the double reference, within tolerances that follow from
 * type and depth (numerics.md 15) and are not tuned
 *
 * Guards, poison and the comparison of inputs are row_run's (tools/row_run.h).
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "reference.h"
#include "row_answer.h"

/**
 * The answer for a row whose logits are known to within delta (0: exactly). Ids are left out: see
 * below.
 */
void reference_answer(row_answer *out, const reference_row *row, double delta);

/**
 * The id is the reference's, or with inexact logits one within 2 delta of it; of a draw, one whose
 * score is within the error of both scores.
 */
bool argmax_matches(const reference_row *row, const reference_input *input, double delta,
                    double id);
bool second_matches(const reference_row *row, const reference_input *input, double delta,
                    double id);
bool gumbel_matches(const reference_row *row, const reference_input *input, double delta,
                    double id);

#endif
