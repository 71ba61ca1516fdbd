/* large_head.h - tests of a head of real size, too slow for every run */
#ifndef LARGE_HEAD_H
#define LARGE_HEAD_H

#include <check.h>

/** Adds the head of LLaDA-8B (V 126,464, H 4,096, bf16) on CUDA device 0. */
void large_head_add(Suite *suite);

#endif
