/*
 * row_cases.h - the case file of rows (its format: `meta` in the file itself) as plain structs
 *
 * Rules for logits are expanded, infinities and NaN are numbers, answers and tolerances are indexed
 * by row_output. Everything belongs to the row_cases.
 */
#ifndef ROW_CASES_H
#define ROW_CASES_H

#include "row_answer.h"

/** A row of a case. */
typedef struct case_row {
    const double *logits; /* (vocab); NULL where bad_index */
    bool bad_index;       /* its row_index is outside the source */
    bool has_target;
    bool has_temperature;
    bool has_key;          /* noise: seed and row_key */
    const uint32_t *words; /* noise: (vocab, 2), or NULL */
    int64_t target;
    float temperature;
    uint64_t seed;
    uint64_t row_key;
    row_answer expected;
    row_answer tempered;     /* present = 0: the case has none */
    const row_answer *parts; /* (shard_count) of each shard alone; present = 0: no candidate */
} case_row;

typedef struct row_case {
    const char *id;
    int64_t vocab;
    uint32_t types; /* bit 1 << dllm_type: holds every logit exactly */
    /* transforms */
    float scale;
    float softcap;
    dllm_type round_logits;
    const float *bias;
    const int64_t *suppress;
    int64_t suppress_count;
    int64_t valid_vocab;
    int64_t vocab_offset;
    /* a head of its own, NULL: none */
    int64_t depth;
    const double *hidden; /* (row_count, depth) */
    const double *weight; /* (vocab, depth) */
    /* what lies between the rows: pad_rows rows of stride - vocab values, in turn */
    int64_t stride;
    int64_t pad_rows;
    const double *pads;
    /* gathered rows, NULL: none */
    int64_t source_rows;
    const double *source; /* (source_rows, vocab) */
    const int64_t *row_index;
    /* vocabulary shards, [from, to) each */
    int64_t shard_count;
    const int64_t *shards;
    /* a large case: rows 0 .. R-2 are the background, row R-1 is row[0] */
    bool is_large;
    int64_t large_rows[2];
    case_row background;
    int64_t row_count;
    const case_row *row;
} row_case;

typedef struct row_cases {
    int64_t count;
    const row_case *cases;
    struct arena_piece *pieces; /* all memory of the cases */
} row_cases;

/** Reads a file. False with a message that names the case and what is wrong in it. */
bool row_cases_load(row_cases *out, const char *path, dllm_message *message);

/** Takes cases that were not loaded. */
void row_cases_release(row_cases *cases);

/** The case of that id, NULL if there is none. */
const row_case *row_cases_find(const row_cases *cases, const char *id);

#endif
