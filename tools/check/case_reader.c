/* case_reader.c - numbers, lists and logits rules of a case file, read into memory of one owner */
#include "case_reader.h"

#include "known_words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct arena_piece {
    struct arena_piece *next;
    max_align_t data[];
} arena_piece;

void case_wrong(case_reader *reader, const char *what)
{
    if (!reader->failed)
        dllm_message_set(reader->message, "case \"%.60s\": %.400s", reader->id ? reader->id : "?",
                         what);
    reader->failed = true;
}

void case_fields(case_reader *reader, const json_t *object, const char *const *names,
                 const char *what)
{
    dllm_message why, reason;
    if (known_fields_check(object, names, &reason)) return;
    dllm_message_set(&why, "%s: %.400s", what, reason.text);
    case_wrong(reader, why.text);
}

bool case_truth(case_reader *reader, const json_t *value, const char *what)
{
    if (value && !json_is_boolean(value)) case_wrong(reader, what);
    return json_is_true(value);
}

void *case_memory(case_reader *reader, int64_t count, size_t bytes)
{
    if (reader->failed) return NULL;
    arena_piece *piece = calloc(1, sizeof *piece + (size_t)count * bytes);
    if (!piece) {
        case_wrong(reader, "out of memory");
        return NULL;
    }
    piece->next = reader->pieces;
    reader->pieces = piece;
    return piece->data;
}

void case_pieces_release(struct arena_piece *pieces)
{
    while (pieces) {
        arena_piece *next = pieces->next;
        free(pieces);
        pieces = next;
    }
}

double case_number(case_reader *reader, const json_t *value, const char *what)
{
    static const struct {
        const char *name;
        double value;
    } words[] = {{"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}, {"nan", (double)NAN}};
    if (json_is_number(value)) return json_number_value(value);
    for (size_t i = 0; json_is_string(value) && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(json_string_value(value), words[i].name) == 0) return words[i].value;
    case_wrong(reader, what);
    return 0;
}

int64_t case_integer(case_reader *reader, const json_t *value, int64_t from, int64_t to,
                     const char *what)
{
    if (json_is_integer(value) && json_integer_value(value) >= from &&
        json_integer_value(value) <= to)
        return json_integer_value(value);
    case_wrong(reader, what);
    return from;
}

uint64_t case_word(case_reader *reader, const json_t *value, const char *what)
{
    char *end = NULL;
    errno = 0;
    const char *text = json_string_value(value);
    const uint64_t word = text ? strtoull(text, &end, 16) : 0;
    if (!text || end == text || *end || errno) case_wrong(reader, what);
    return word;
}

int64_t *case_integers(case_reader *reader, const json_t *list, int64_t *count, const char *what)
{
    if (!json_is_array(list)) case_wrong(reader, what);
    *count = (int64_t)json_array_size(list);
    int64_t *out = case_memory(reader, *count, sizeof *out);
    for (int64_t i = 0; out && i < *count; i++)
        out[i] = case_integer(reader, json_array_get(list, (size_t)i), INT64_MIN, INT64_MAX, what);
    return out;
}

static void read_row(case_reader *reader, double *out, const json_t *list, int64_t columns,
                     const char *what)
{
    if (!json_is_array(list) || (int64_t)json_array_size(list) != columns) {
        case_wrong(reader, what);
        return;
    }
    for (int64_t i = 0; i < columns; i++)
        out[i] = case_number(reader, json_array_get(list, (size_t)i), what);
}

double *case_matrix(case_reader *reader, const json_t *list, int64_t rows, int64_t columns,
                    const char *what)
{
    if (!json_is_array(list) || (int64_t)json_array_size(list) != rows) case_wrong(reader, what);
    double *out = case_memory(reader, rows * columns, sizeof *out);
    for (int64_t i = 0; out && i < rows; i++)
        read_row(reader, out + i * columns, json_array_get(list, (size_t)i), columns, what);
    return out;
}

static void apply_base(case_reader *reader, double *out, const json_t *rule, int64_t vocab)
{
    const json_t *cycle = json_object_get(rule, "cycle");
    const size_t period = json_array_size(cycle);
    if (cycle && period == 0) {
        case_wrong(reader, "cycle is not a list of numbers");
        return;
    }
    for (int64_t v = 0; v < vocab; v++)
        out[v] = cycle ? case_number(reader, json_array_get(cycle, (size_t)v % period), "cycle")
                       : case_number(reader, json_object_get(rule, "fill"), "fill");
}

static void apply_ranges(case_reader *reader, double *out, const json_t *ranges, int64_t vocab)
{
    size_t i;
    const json_t *range;
    if (ranges && !json_is_array(ranges)) case_wrong(reader, "ranges is no list");
    json_array_foreach(ranges, i, range)
    {
        const char *what = "ranges is not a list of [from, to, value] inside the vocabulary";
        const int64_t from = case_integer(reader, json_array_get(range, 0), 0, vocab, what);
        const int64_t to = case_integer(reader, json_array_get(range, 1), from, vocab, what);
        const double value = case_number(reader, json_array_get(range, 2), what);
        for (int64_t v = from; v < to; v++)
            out[v] = value;
    }
}

static void apply_set(case_reader *reader, double *out, json_t *set, int64_t vocab)
{
    const char *column;
    json_t *value;
    if (set && !json_is_object(set)) case_wrong(reader, "set is no object");
    json_object_foreach(set, column, value)
    {
        char *end = NULL;
        const long long v = strtoll(column, &end, 10);
        if (end == column || *end || v < 0 || v >= vocab)
            case_wrong(reader, "set names a column outside the vocabulary");
        else
            out[v] = case_number(reader, value, "set");
    }
}

void case_logits(case_reader *reader, double *out, const json_t *rule, int64_t vocab)
{
    static const char *const names[] = {"count", "fill", "cycle", "ranges", "set", NULL};
    if (!out) return;
    if (!json_is_object(rule)) {
        read_row(reader, out, rule, vocab, "logits are not a rule or a list of V numbers");
        return;
    }
    case_fields(reader, rule, names, "logits");
    (void)case_integer(reader, json_object_get(rule, "count"), vocab, vocab,
                       "count of the logits is not V");
    apply_base(reader, out, rule, vocab);
    apply_ranges(reader, out, json_object_get(rule, "ranges"), vocab);
    apply_set(reader, out, json_object_get(rule, "set"), vocab);
}
