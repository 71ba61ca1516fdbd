/*
 * head_shapes.h - every head of the table at random row counts: each family against cuBLAS
 *
 * Operands are small integers times a power of two, so that every order of summation is exact: ids,
 * maxima and flags of two families are equal, the rest agrees within the contract. Shapes are real,
 * and nothing is computed on the host, so that a hundred of them take seconds.
 */
#ifndef HEAD_SHAPES_H
#define HEAD_SHAPES_H

#include <check.h>

/** Adds the shapes, on CUDA device 0. */
void head_shapes_add(Suite *suite);

#endif
