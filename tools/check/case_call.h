/*
 * case_call.h - one call of the library that a row case asks for, with its data laid out in memory
 *
 * A case is several calls: all rows at once or one by one, whole or shard by shard, as logits or as
 * a head whose products are those logits.
 */
#ifndef CASE_CALL_H
#define CASE_CALL_H

#include "row_cases.h"

/** Which part of a case is run, and how. */
typedef struct case_view {
    bool is_head;
    bool with_draw; /* ask for the gumbel outputs; one row at a time */
    bool tempered;
    dllm_type type;
    dllm_id_type id_type;
    int64_t depth; /* of a head that is made up, where the case leaves it open */
    bool padded; /* a head's rows are padded with NaN to whole 16 bytes, which some families need */
    int64_t first; /* rows first .. first + count - 1 of the case */
    int64_t count;
    int64_t shard;      /* -1: all columns */
    bool partial;       /* a shard's state instead of its outputs; its answer is the whole row's */
    int64_t large_rows; /* 0: not a large case */
} case_view;

typedef struct case_call {
    row_problem problem;
    uint32_t flags_mask; /* flags that count: TARGET and PARAM only with their inputs */
    void *hidden;
    void *weight;
    int64_t *target;
    float *temperature;
} case_call;

/** True if a head of this case takes all rows in one call, false if each row needs its own weight.
 */
bool case_head_is_joint(const row_case *from);

/** The right values of row `row` of the view. */
const row_answer *case_answer(const row_case *from, const case_view *view, int64_t row);

/**
 * Lays a call out. inputs_built: DLLM_IN_ bits that may be used; the problem's outputs and family
 * are left to the caller. False if memory is short.
 */
bool case_call_build(case_call *out, const row_case *from, const case_view *view,
                     uint32_t inputs_built);

void case_call_release(case_call *call);

#endif
