/*
 * decode_rows.h - the rows of logits of a decode case as a call of the sampler, and the kind `rows`
 */
#ifndef DECODE_ROWS_H
#define DECODE_ROWS_H

#include "check_decode.h"
#include "decode_fields.h"

/** A sampler call with what it points to; change the problem, then run it. */
typedef struct decode_rows {
    row_problem problem;
    bool is_drawn;                                     /* the run supplies noise */
    float logits[2 * FIELD_LIST_MAX * FIELD_LIST_MAX]; /* behind them the unconditional ones */
    uint32_t noise[FIELD_LIST_MAX * FIELD_LIST_MAX * 2];
    float bias[FIELD_LIST_MAX];
    float cfg_scale[FIELD_LIST_MAX];
    int64_t target[FIELD_LIST_MAX];
    int64_t suppressed[FIELD_LIST_MAX];
} decode_rows;

/** Reads a run's logits, transforms and noise; outputs and behaviour are the caller's. */
bool decode_rows_read(decode_rows *out, const json_t *run, dllm_message *why);

/** One more suppressed id. */
bool decode_rows_suppress(decode_rows *rows, int64_t id, dllm_message *why);

/** Makes the call on the checker's device; release *out whatever is answered. */
bool decode_rows_sample(row_result *out, decode_checker *checker, const row_problem *problem,
                        dllm_message *why);

/** The kind `rows`: statistics of rows, whole or merged from shards. */
bool decode_rows_run(decode_checker *checker, const json_t *run, const json_t *expected,
                     dllm_message *why);

#endif
