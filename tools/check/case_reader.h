/*
 * case_reader.h - numbers, lists and logits rules of a case file, read into memory of one owner
 *
 * A reader remembers the first thing that was wrong; from then on every call answers nothing, so
 * that callers check once, at the end.
 */
#ifndef CASE_READER_H
#define CASE_READER_H

#include "message.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef struct case_reader {
    struct arena_piece *pieces; /* memory handed out */
    const char *id;             /* the case being read, for messages */
    dllm_message *message;
    bool failed;
} case_reader;

/** Remembers that something is wrong, unless something was before. */
void case_wrong(case_reader *reader, const char *what);

/** An object, none of whose fields is other than the names, a list that ends with NULL. */
void case_fields(case_reader *reader, const json_t *object, const char *const *names,
                 const char *what);

/** true or false; false if it is missing. */
bool case_truth(case_reader *reader, const json_t *value, const char *what);

/** Zeroed memory that lives as long as the cases; NULL once the reader has failed. */
void *case_memory(case_reader *reader, int64_t count, size_t bytes);

void case_pieces_release(struct arena_piece *pieces);

/** A number, or one of the strings inf, -inf, nan. */
double case_number(case_reader *reader, const json_t *value, const char *what);

/** An integer from `from` to `to`. */
int64_t case_integer(case_reader *reader, const json_t *value, int64_t from, int64_t to,
                     const char *what);

/** A 64-bit number written as a hexadecimal string. */
uint64_t case_word(case_reader *reader, const json_t *value, const char *what);

/** A list of integers; *count is its length. */
int64_t *case_integers(case_reader *reader, const json_t *list, int64_t *count, const char *what);

/** A list of `rows` lists of `columns` numbers. */
double *case_matrix(case_reader *reader, const json_t *list, int64_t rows, int64_t columns,
                    const char *what);

/** A row of logits: a list, or a rule {count, fill | cycle, ranges, set}. */
void case_logits(case_reader *reader, double *out, const json_t *rule, int64_t vocab);

#endif
