/*
 * decode_team.h - the threads that take a step of one sequence: one on the host, a block on a GPU
 *
 * decode_step.h is written for a team: each thread takes every size-th element, all meet where one
 * needs what another wrote. A team of one is the plain loop. The device's team is decode_team.cuh.
 */
#ifndef DLLM_DECODE_TEAM_H
#define DLLM_DECODE_TEAM_H

#include "decode_rules.h"

/** The calling thread's number, and how many there are. */
DLLM_RULE int32_t dllm_team_rank(void)
{
    return 0;
}

DLLM_RULE int32_t dllm_team_size(void)
{
    return 1;
}

/** All meet; what was written before is seen after it. */
DLLM_RULE void dllm_team_meet(void) {}

/** Sum, sums of several numbers at once, and minimum over the team, for all of it. count: 1 .. 4 */
DLLM_RULE int32_t dllm_team_sum(int32_t value)
{
    return value;
}

DLLM_RULE void dllm_team_sums(int32_t *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        values[i] = dllm_team_sum(values[i]);
}

DLLM_RULE int32_t dllm_team_least(int32_t value)
{
    return value;
}

/** How many threads of lower number say 1; *total is that of all. value: 0 or 1. */
DLLM_RULE int32_t dllm_team_place(int32_t value, int32_t *total)
{
    *total = value;
    return 0;
}

/** Adds to what other teams add to as well; returns what was there. */
DLLM_RULE int64_t dllm_team_claim(int64_t *counter, int64_t value)
{
    const int64_t before = *counter;
    *counter += value;
    return before;
}

DLLM_RULE void dllm_team_add(int32_t *counter, int32_t value)
{
    *counter += value;
}

#endif
