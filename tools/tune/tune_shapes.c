/* tune_shapes.c - sets, files and row counts into problems */
#include "tune_shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heads.h"
#include "plan.h"
#include "status.h"
#include "tune_targets.h"
#include "tuned.h"

enum { ROWS_ALL = 16384, WORDS_MAX = 64 };

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

/* A line's pairs, by name. */
typedef struct word_list {
    int count;
    char *words[WORDS_MAX];
} word_list;

static const char *value_of(const word_list *line, const char *name)
{
    for (int i = 1; i + 1 < line->count; i += 2)
        if (strcmp(line->words[i], name) == 0) return line->words[i + 1];
    return NULL;
}

static bool take_number(int64_t *out, const word_list *line, const char *name, int64_t otherwise)
{
    const char *value = value_of(line, name);
    *out = otherwise;
    return !value || read_number(out, value);
}

static bool take_type(dllm_type *out, const word_list *line, const char *name)
{
    static const char *const names[] = {"", "bf16", "fp16", "fp32"};
    const char *value = value_of(line, name);
    *out = DLLM_BF16;
    if (!value) return true;
    for (int i = DLLM_BF16; i <= DLLM_FP32; i++)
        if (strcmp(names[i], value) == 0) *out = (dllm_type)i;
    return strcmp(names[*out], value) == 0;
}

static bool take_head(dllm_problem *out, const word_list *line)
{
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    int64_t alignment = 0;
    head.outputs = DLLM_OUT_ARGMAX;
    const bool is_read = take_number(&head.vocab, line, "vocab", 0) &&
                         take_number(&head.depth, line, "depth", 0) &&
                         take_number(&head.rows_max, line, "rows_max", ROWS_ALL) &&
                         take_number(&head.valid_vocab, line, "valid_vocab", 0) &&
                         take_number(&alignment, line, "alignment_bytes", 0) &&
                         take_type(&head.hidden_type, line, "hidden_type") &&
                         take_type(&head.weight_type, line, "weight_type");
    head.alignment_bytes = (int32_t)alignment;
    return is_read && dllm__head_problem(out, &head) == DLLM_OK;
}

static bool take_sampler(dllm_problem *out, const word_list *line)
{
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    int64_t alignment = 0;
    sampler.outputs = DLLM_OUT_ARGMAX;
    const bool is_read = take_number(&sampler.vocab, line, "vocab", 0) &&
                         take_number(&sampler.rows_max, line, "rows_max", ROWS_ALL) &&
                         take_number(&sampler.valid_vocab, line, "valid_vocab", 0) &&
                         take_number(&alignment, line, "alignment_bytes", 0) &&
                         take_type(&sampler.logits_type, line, "logits_type");
    sampler.alignment_bytes = (int32_t)alignment;
    return is_read && dllm__sampler_problem(out, &sampler) == DLLM_OK;
}

static int add_line(tune_shape_list *list, char *text, const char *name,
                    const tune_options *options)
{
    word_list line = {0};
    dllm_problem problem;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word && line.count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r\n", &rest))
        line.words[line.count++] = word;
    if (line.count == 0 || line.words[0][0] == '#') return TUNE_DONE;
    const bool head = strcmp(line.words[0], "head") == 0;
    dllm__clear_error();
    if (!head && strcmp(line.words[0], "sampler") != 0)
        return tune_fail(TUNE_USAGE, "%s: %s is not head or sampler", name, line.words[0]);
    if (head ? !take_head(&problem, &line) : !take_sampler(&problem, &line))
        return tune_fail(TUNE_USAGE, "%s: %s", name,
                         dllm_last_error()[0] ? dllm_last_error() : "a value is no number or type");
    return add_buckets(list, name, &problem, options);
}

static int add_file(tune_shape_list *list, const char *path, const tune_options *options)
{
    char text[1024], name[32];
    int status = TUNE_DONE, number = 0;
    FILE *file = fopen(path, "re");
    if (!file) return tune_fail(TUNE_USAGE, "%s cannot be read: %s", path, strerror(errno));
    while (status == TUNE_DONE && fgets(text, sizeof text, file)) {
        (void)snprintf(name, sizeof name, "line %d", ++number);
        status = add_line(list, text, name, options);
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
