/*
 * row_fixture.h - the device, the family and the rows that a test of a row suite runs on
 *
 * A loop of tests has three of each family: with what every family has to have, with all of it but
 * guidance, and with all of it.
 */
#ifndef ROW_FIXTURE_H
#define ROW_FIXTURE_H

#include "row_shapes.h"
#include "row_suite.h"

enum { ROW_VARIANTS = 3, ROW_FIXTURE_ROWS = 133 };

/** The suite that the tests added from now on run in. */
void row_fixture_set(const row_suite_setup *with);
const row_suite_setup *row_fixture_setup(void);

/** The device, between open and close. */
row_suite_device *row_fixture_device(void);
void row_fixture_open(void);
void row_fixture_close(void);

/** The family of a test of such a loop. */
const char *row_fixture_family(int index);

/** A problem with real data, large enough for several tiles and ragged in each direction. */
row_shape row_fixture_shape(int index);

/** Makes the rows of a test; false if its family does not implement all that they ask for. */
bool row_fixture_make(row_data *out, const row_shape *shape, int index);

/** Runs them, failing the test if that fails. */
void row_fixture_run(row_result *out, const row_problem *problem);

/** Adds the tests of equal bits (row_bits.c). */
void row_bits_add(Suite *suite, int families);

#endif
