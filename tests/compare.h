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
 * The answer for a row whose logits are known to within delta (0: exactly). argmax is left out:
 * see argmax_matches.
 */
void reference_answer(row_answer *out, const reference_row *row, double delta);

/**
 * The id is the reference's, or with inexact logits one within 2 delta of it. z is (candidates), id
 * and vocab_offset are global.
 */
bool argmax_matches(const reference_row *row, const double *z, int64_t vocab_offset, double delta,
                    double id);

#endif
