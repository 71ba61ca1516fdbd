/*
 * cpu_case.h - one call of the CPU backend with random data, run on any vector table and thread count
 *
 * Buffers end exactly where their last element ends and begin one element after an aligned address;
 * pads hold NaN, infinity and 99. Outputs lie between canaries and are poisoned before every run.
 */
#ifndef CPU_CASE_H
#define CPU_CASE_H

#include "cpu_head.h"

#include <stdbool.h>

typedef struct cpu_shape {
    const char *name;
    dllm_operation operation;
    dllm_type hidden_type; /* sampler: of the logits */
    dllm_type weight_type;
    dllm_id_type id_type;
    int64_t rows;
    int64_t vocab;
    int64_t valid_vocab;
    int64_t depth;
    int64_t hidden_pad; /* stride less the width of a row */
    int64_t weight_pad;
    int64_t vocab_offset;
    int index_bytes; /* 0: rows in order; 4 or 8: gathered, with repeats and bad indices */
    bool integers;   /* small integers: every sum is exact and ties are frequent */
} cpu_shape;

typedef struct cpu_case {
    cpu_shape shape;
    dllm_problem problem;
    dllm_row_call call;
    char *hidden; /* start of the allocations, not of the data */
    char *weight;
    void *row_index;
    char *argmax;
    float *values[3]; /* max, lse, confidence, each with a canary before and after */
    uint32_t *flags;
} cpu_case;

/** Tables that this machine runs: the index-th, NULL past the last. */
const dllm_cpu_vector *cpu_case_vector(int index);

void cpu_case_create(cpu_case *out, const cpu_shape *shape, uint32_t seed);
void cpu_case_release(cpu_case *c);

/** Sets an element of a hidden row (a logit for the sampler), or of a weight row. */
void cpu_case_set_hidden(cpu_case *c, int64_t row, int64_t column, double value);
void cpu_case_set_weight(cpu_case *c, int64_t row, int64_t column, double value);

/** Poisons the outputs, runs, and checks the canaries. */
void cpu_case_run(cpu_case *c, const dllm_cpu_vector *vector, int threads);

/** Compares every row with the double reference. */
void cpu_case_check(const cpu_case *c, const char *vector_name);

/** A row's argmax as a global id. */
int64_t cpu_case_argmax(const cpu_case *c, int64_t row);

/** Row `a_row` of `a` and `b_row` of `b` have the same bits in every output. */
bool cpu_case_same(const cpu_case *a, int64_t a_row, const cpu_case *b, int64_t b_row);

#endif
