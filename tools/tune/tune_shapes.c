/* tune_shapes.c - sets, files and row counts into problems */
#include "tune_shapes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heads.h"
#include "plan.h"
#include "status.h"
#include "tune_targets.h"
#include "tuned.h"

enum { ROWS_ALL = 16384 };

static const char blanks[] = " \t\r\n";

/* Problems with one key are one shape. */
static bool is_listed(const tune_shape_list *list, const dllm_problem *problem)
{
    static const dllm_device nowhere;
    char wanted[DLLM_TUNED_TEXT_BYTES], key[DLLM_TUNED_TEXT_BYTES];
    dllm__tuned_key(wanted, problem, &nowhere);
    for (int i = 0; i < list->count; i++) {
        dllm__tuned_key(key, &list->shapes[i].problem, &nowhere);
        if (strcmp(key, wanted) == 0) return true;
    }
    return false;
}

static int add_shape(tune_shape_list *list, const char *name, const dllm_problem *problem)
{
    if (is_listed(list, problem)) return TUNE_DONE;
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 64;
        tune_shape *more = realloc(list->shapes, (size_t)room * sizeof *more);
        if (!more) return tune_fail(TUNE_SOME_FAILED, "out of memory");
        list->shapes = more;
        list->room = room;
    }
    tune_shape *shape = &list->shapes[list->count++];
    shape->problem = *problem;
    (void)snprintf(shape->name, sizeof shape->name, "%s", name);
    return TUNE_DONE;
}

static bool read_number(int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

/* The buckets that --rows names, or all up to rows_max. */
static int add_buckets(tune_shape_list *list, const char *name, const dllm_problem *asked,
                       const tune_options *options)
{
    int64_t rows[DLLM_PLAN_ENTRIES_MAX];
    int count = dllm__row_buckets(rows, asked);
    if (options->rows.count) count = options->rows.count;
    for (int i = 0; i < count; i++) {
        dllm_problem problem = *asked, tuned;
        problem.rows_max = options->rows.count ? 0 : rows[i];
        if (options->rows.count &&
            (!read_number(&problem.rows_max, options->rows.text[i]) || problem.rows_max < 1))
            return tune_fail(TUNE_USAGE, "--rows %s is not a number from 1 up",
                             options->rows.text[i]);
        dllm__tuned_problem(&tuned, &problem);
        const int status = add_shape(list, name, &tuned);
        if (status != TUNE_DONE) return status;
    }
    return TUNE_DONE;
}

/* ---- sets ---- */

static int add_set(tune_shape_list *list, const dllm_head_set *set, const tune_options *options)
{
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm_problem problem;
    head.vocab = set->vocab;
    head.depth = set->depth;
    head.valid_vocab = set->valid_vocab;
    head.hidden_type = head.weight_type = set->weight_type;
    head.rows_max = ROWS_ALL;
    head.outputs = DLLM_OUT_ARGMAX;
    if (dllm__head_problem(&problem, &head) != DLLM_OK)
        return tune_fail(TUNE_SOME_FAILED, "set %s: %s", set->set, dllm_last_error());
    return add_buckets(list, set->set, &problem, options);
}

static int add_sets(tune_shape_list *list, const tune_options *options)
{
    for (int i = 0; i < options->sets.count; i++) {
        const dllm_head_set *set = dllm__head_set_find(options->sets.text[i]);
        if (!set) return tune_fail_unknown_set(options->sets.text[i]);
        const int status = add_set(list, set, options);
        if (status != TUNE_DONE) return status;
    }
    return TUNE_DONE;
}

/* ---- files ---- */

/* What a line may name: numbers, then types. */
enum {
    VOCAB,
    DEPTH,
    VALID_VOCAB,
    ROWS_MAX,
    ALIGNMENT_BYTES,
    HIDDEN_TYPE,
    WEIGHT_TYPE,
    LOGITS_TYPE,
    FIELDS
};
enum { OF_HEAD = 1, OF_SAMPLER = 2 };

static const struct field {
    const char *name;
    int operations; /* OF_ bits of the lines that may have it */
    int64_t otherwise;
} fields[FIELDS] = {[VOCAB] = {"vocab", OF_HEAD | OF_SAMPLER, 0},
                    [DEPTH] = {"depth", OF_HEAD, 0},
                    [VALID_VOCAB] = {"valid_vocab", OF_HEAD | OF_SAMPLER, 0},
                    [ROWS_MAX] = {"rows_max", OF_HEAD | OF_SAMPLER, ROWS_ALL},
                    [ALIGNMENT_BYTES] = {"alignment_bytes", OF_HEAD | OF_SAMPLER, 0},
                    [HIDDEN_TYPE] = {"hidden_type", OF_HEAD, DLLM_BF16},
                    [WEIGHT_TYPE] = {"weight_type", OF_HEAD, DLLM_BF16},
                    [LOGITS_TYPE] = {"logits_type", OF_SAMPLER, DLLM_BF16}};

typedef struct shape_line {
    const char *where; /* "FILE: line 3" */
    int operation;     /* an OF_ bit */
    bool is_given[FIELDS];
    int64_t value[FIELDS];
} shape_line;

static int field_of(const shape_line *line, const char *word)
{
    int i = 0;
    while (i < FIELDS &&
           (!(fields[i].operations & line->operation) || strcmp(fields[i].name, word) != 0))
        i++;
    return i;
}

static int fail_unknown(const shape_line *line, const char *word)
{
    char list[128] = "";
    for (int i = 0, used = 0; i < FIELDS; i++)
        if (fields[i].operations & line->operation)
            used += snprintf(list + used, sizeof list - (size_t)used, " %s", fields[i].name);
    return tune_fail(TUNE_USAGE, "%s: %s is not one of:%s", line->where, word, list);
}

static int take_type(int64_t *out, const shape_line *line, const char *name, const char *text)
{
    for (int type = DLLM_BF16; type <= DLLM_FP32; type++) {
        if (strcmp(dllm__type_name((dllm_type)type), text) != 0) continue;
        *out = type;
        return TUNE_DONE;
    }
    return tune_fail(TUNE_USAGE, "%s: %s %s is not bf16, fp16 or fp32", line->where, name, text);
}

static int take_pair(shape_line *line, const char *name, const char *text)
{
    const int field = field_of(line, name);
    if (field == FIELDS) return fail_unknown(line, name);
    if (line->is_given[field])
        return tune_fail(TUNE_USAGE, "%s: %s is given twice", line->where, name);
    if (!text) return tune_fail(TUNE_USAGE, "%s: %s has no value", line->where, name);
    line->is_given[field] = true;
    int64_t *value = &line->value[field];
    if (field >= HIDDEN_TYPE) return take_type(value, line, name, text);
    if (!read_number(value, text) || *value < 0 || *value > INT32_MAX)
        return tune_fail(TUNE_USAGE, "%s: %s %s is not a number from 0 to %d", line->where, name,
                         text, INT32_MAX);
    return TUNE_DONE;
}

static dllm_status make_head(dllm_problem *out, const int64_t *value)
{
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    head.vocab = value[VOCAB];
    head.depth = value[DEPTH];
    head.rows_max = value[ROWS_MAX];
    head.valid_vocab = value[VALID_VOCAB];
    head.alignment_bytes = (int32_t)value[ALIGNMENT_BYTES];
    head.hidden_type = (dllm_type)value[HIDDEN_TYPE];
    head.weight_type = (dllm_type)value[WEIGHT_TYPE];
    head.outputs = DLLM_OUT_ARGMAX;
    return dllm__head_problem(out, &head);
}

static dllm_status make_sampler(dllm_problem *out, const int64_t *value)
{
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    sampler.vocab = value[VOCAB];
    sampler.rows_max = value[ROWS_MAX];
    sampler.valid_vocab = value[VALID_VOCAB];
    sampler.alignment_bytes = (int32_t)value[ALIGNMENT_BYTES];
    sampler.logits_type = (dllm_type)value[LOGITS_TYPE];
    sampler.outputs = DLLM_OUT_ARGMAX;
    return dllm__sampler_problem(out, &sampler);
}

static int read_line(dllm_problem *out, shape_line *line, char **rest)
{
    for (int i = 0; i < FIELDS; i++)
        line->value[i] = fields[i].otherwise;
    for (char *word; (word = strtok_r(NULL, blanks, rest));) {
        const int status = take_pair(line, word, strtok_r(NULL, blanks, rest));
        if (status != TUNE_DONE) return status;
    }
    dllm__clear_error();
    if ((line->operation == OF_HEAD ? make_head : make_sampler)(out, line->value) != DLLM_OK)
        return tune_fail(TUNE_USAGE, "%s: %s", line->where, dllm_last_error());
    return TUNE_DONE;
}

/* where   ends with the name that the shape gets */
static int add_line(tune_shape_list *list, char *text, const char *where, const char *name,
                    const tune_options *options)
{
    char *rest = NULL;
    dllm_problem problem;
    const char *operation = strtok_r(text, blanks, &rest);
    if (!operation || operation[0] == '#') return TUNE_DONE;
    shape_line line = {.where = where,
                       .operation = strcmp(operation, "head") == 0      ? OF_HEAD
                                    : strcmp(operation, "sampler") == 0 ? OF_SAMPLER
                                                                        : 0};
    if (!line.operation)
        return tune_fail(TUNE_USAGE, "%s: %s is not head or sampler", where, operation);
    const int status = read_line(&problem, &line, &rest);
    return status == TUNE_DONE ? add_buckets(list, name, &problem, options) : status;
}

static int add_file(tune_shape_list *list, const char *path, const tune_options *options)
{
    char text[1024], where[PATH_MAX + 32];
    int status = TUNE_DONE, number = 0;
    FILE *file = fopen(path, "re");
    if (!file) return tune_fail(TUNE_USAGE, "%s cannot be read: %s", path, strerror(errno));
    while (status == TUNE_DONE && fgets(text, sizeof text, file)) {
        (void)snprintf(where, sizeof where, "%s: line %d", path, ++number);
        status = add_line(list, text, where, where + strlen(path) + 2, options);
    }
    if (status == TUNE_DONE && ferror(file))
        status = tune_fail(TUNE_USAGE, "%s cannot be read: %s", path, strerror(errno));
    (void)fclose(file);
    return status;
}

int tune_shapes_collect(tune_shape_list *list, const tune_options *options)
{
    *list = (tune_shape_list){0};
    int status = add_sets(list, options);
    if (status == TUNE_DONE && options->shapes) status = add_file(list, options->shapes, options);
    if (status == TUNE_DONE && options->capture) status = add_file(list, options->capture, options);
    if (status == TUNE_DONE && list->count == 0)
        status = options->shapes || options->capture
                     ? tune_fail(TUNE_USAGE, "%s names no problem",
                                 options->shapes ? options->shapes : options->capture)
                     : tune_fail(TUNE_USAGE, "tune needs --set, --shapes or --capture");
    return status;
}
