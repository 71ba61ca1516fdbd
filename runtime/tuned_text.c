/* tuned_text.c - a tuned choice as sorted lines, and back */
#include "tuned.h"

#include "status.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers of a choice, by their names in the text, sorted. */
#define CHOICE_FIELDS(X)                                                                           \
    X(chunk_rows)                                                                                  \
    X(chunk_vocab)                                                                                 \
    X(finishes)                                                                                    \
    X(split_columns)                                                                               \
    X(splits)                                                                                      \
    X(stages)                                                                                      \
    X(tile_depth)                                                                                  \
    X(tile_rows)                                                                                   \
    X(tile_vocab)

static const struct {
    const char *name;
    size_t offset;
} whole[] = {
#define CHOICE_FIELD(name) {#name, offsetof(dllm_choice, name)},
    CHOICE_FIELDS(CHOICE_FIELD)
#undef CHOICE_FIELD
};

static const struct {
    const char *name;
    size_t offset;
} times[] = {{"default_us", offsetof(dllm_tuned, default_us)},
             {"median_us", offsetof(dllm_tuned, median_us)},
             {"spread_us", offsetof(dllm_tuned, spread_us)}};

enum {
    WHOLE = sizeof whole / sizeof whole[0],
    TIMES = sizeof times / sizeof times[0],
    LINES = WHOLE + TIMES + 2, /* and family, revision */
    LINE_BYTES = 64
};

static int compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

void dllm__tuned_text(char out[DLLM_TUNED_TEXT_BYTES], const dllm_tuned *tuned)
{
    char lines[LINES][LINE_BYTES];
    int count = 0;
    const dllm_family *family = tuned->choice.family;
    (void)snprintf(lines[count++], LINE_BYTES, "family %s\n", family->name);
    (void)snprintf(lines[count++], LINE_BYTES, "revision %d\n", family->space->revision);
    for (int i = 0; i < WHOLE; i++) {
        int value;
        memcpy(&value, (const char *)&tuned->choice + whole[i].offset, sizeof value);
        (void)snprintf(lines[count++], LINE_BYTES, "%s %d\n", whole[i].name, value);
    }
    for (int i = 0; i < TIMES; i++) {
        double value;
        memcpy(&value, (const char *)tuned + times[i].offset, sizeof value);
        (void)snprintf(lines[count++], LINE_BYTES, "%s %.3f\n", times[i].name, value);
    }
    qsort(lines, (size_t)count, LINE_BYTES, compare);
    out[0] = '\0';
    for (int i = 0; i < count; i++)
        memcpy(out + strlen(out), lines[i], strlen(lines[i]) + 1);
}

/* ---- back ---- */

static dllm_status refuse(const char *line)
{
    return dllm__fail(DLLM_INVALID_ARGUMENT, "tuned choice: line \"%.*s\" is not understood",
                      (int)strcspn(line, "\n"), line);
}

/* The value of a line of that name, or NULL. */
static const char *value_of(const char *line, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static bool read_whole(int *out, const char *text)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    *out = (int)value;
    return !errno && end != text && *end == '\n' && value >= 0 && value <= INT32_MAX;
}

static bool read_time(double *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return !errno && end != text && *end == '\n' && *out >= 0.0 && *out < 1e12;
}

/* Reads one line into its field; returns the field's number, -1 if there is none or the value is
   wrong. */
static int read_line(dllm_tuned *out, int *revision, const char *line, dllm_operation operation)
{
    const char *value = value_of(line, "family");
    if (value) {
        char name[24] = "";
        const size_t length = strcspn(value, "\n");
        if (length < sizeof name) memcpy(name, value, length);
        out->choice.family = dllm__family_find(name, operation);
        return out->choice.family && out->choice.family->space ? 0 : -1;
    }
    value = value_of(line, "revision");
    if (value) return read_whole(revision, value) ? 1 : -1;
    for (int i = 0; i < WHOLE; i++) {
        int number;
        value = value_of(line, whole[i].name);
        if (!value) continue;
        if (!read_whole(&number, value)) return -1;
        memcpy((char *)&out->choice + whole[i].offset, &number, sizeof number);
        return 2 + i;
    }
    for (int i = 0; i < TIMES; i++) {
        double us;
        value = value_of(line, times[i].name);
        if (!value) continue;
        if (!read_time(&us, value)) return -1;
        memcpy((char *)out + times[i].offset, &us, sizeof us);
        return 2 + WHOLE + i;
    }
    return -1;
}

dllm_status dllm__tuned_parse(dllm_tuned *out, const char *text, dllm_operation operation)
{
    unsigned seen = 0;
    int revision = 0;
    memset(out, 0, sizeof *out);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        if (!strchr(line, '\n')) return refuse(line);
        const int field = read_line(out, &revision, line, operation);
        if (field < 0 || seen & 1u << field) return refuse(line);
        seen |= 1u << field;
    }
    if (seen != (1u << LINES) - 1)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "tuned choice: lines are missing");
    if (revision != out->choice.family->space->revision)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "tuned choice: revision %d of %s is not %d",
                          revision, out->choice.family->name, out->choice.family->space->revision);
    return DLLM_OK;
}
