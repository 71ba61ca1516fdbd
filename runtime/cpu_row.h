/*
 * cpu_row.h - one row of a call on the CPU: what it brings along, and where its values go
 */
#ifndef DLLM_CPU_ROW_H
#define DLLM_CPU_ROW_H

#include "cpu_noise.h"
#include "cpu_state.h"
#include "problem.h"

/** A row of a head or sampler call. What nothing asks for is neutral. */
typedef struct dllm_cpu_row {
    int64_t number;            /* row of the call */
    const char *source;        /* its first element, NULL if the source row does not exist */
    const char *unconditional; /* that of the row that guides it; NULL: none does */
    float guidance;            /* s; 0: it is not guided after all */
    dllm_cpu_rule rule;        /* how its states are merged */
    uint32_t bits;             /* of its state: DLLM_STATE_ */
    float temperature;         /* of its draw, 0 = greedy */
    int64_t target;            /* column, outside the call's if there is none */
    int64_t penalty_place;     /* column of the penalty, likewise */
    float penalty;
    dllm_cpu_stream stream;
    const uint32_t *noise; /* two words a column, NULL: from the stream */
} dllm_cpu_row;

/** The temperature of a row's sums: 1 unless it is tempered and not greedy. */
float dllm__cpu_sum_temperature(const dllm_problem *problem, const dllm_row_call *call,
                                int64_t number);

/** Reads row `number`; statistics and transforms are those of the problem. */
dllm_cpu_row dllm__cpu_row_read(const dllm_problem *problem, const dllm_row_call *call,
                                uint32_t statistics, uint32_t transforms, int64_t number);

/** Writes the outputs that were asked for; list: the row's candidates, NULL without them. */
void dllm__cpu_row_write(const dllm_problem *problem, const dllm_row_call *call, int64_t number,
                         const dllm_row_values *values, const dllm_state_candidate *list);

#endif
