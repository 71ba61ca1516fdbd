/* decode_shape.c - see decode_shape.h */
#include "decode_shape.h"

#include "dllm.h"
#include "known_words.h"
#include "row_output.h"

#include <string.h>

enum { FIELDS_MAX = 64 };

/* ---- words -------------------------------------------------------------------------------- */

const char *const decode_schedules[] = {"even", "dream", "dllm_linear", NULL};
const char *const decode_selections[] = {"top_k",      "threshold",     "factor",    "dynamic",
                                         "sequential", "entropy_bound", "hierarchy", NULL};
const char *const decode_variants[] = {"paper", "first_failure", "drop_last", NULL};
const char *const decode_entropy_orders[] = {"entropy", "confidence", NULL};
const char *const decode_run_ties[] = {"lowest", "all", NULL};
const char *const decode_eos_rules[] = {"never", "gap_closed", "after_block", "fill", "step", NULL};
const char *const decode_windows[] = {"canvas", "block", "block_minus_1", NULL};
const char *const decode_filter_orders[] = {"p_then_k", "k_then_p", NULL};
const char *const decode_mask_rules[] = {"suppress", "exclude", "allow", NULL};
const char *const decode_eos_confidences[] = {"off", "intended", "published", NULL};
const char *const decode_scores[] = {"confidence", "margin", "neg_entropy", "entropy", NULL};
const char *const decode_roundings[] = {"fp32", "bf16", NULL};
const char *const decode_flags[] = {"", "NONFINITE", "EMPTY", NULL};
const char *const decode_states[] = {"running", "done", "no_progress", "unusable_row", NULL};
const char *const decode_algs[] = {"origin", "maskgit_plus", "topk_margin", "entropy", NULL};
const char *const decode_eligibles[] = {"block", "prefix", NULL};
const char *const decode_remaskings[] = {"low_confidence", "random", NULL};

static const char *const number_words[] = {"inf", "-inf", "nan", NULL};
static const char *const tiers[] = {"A", "B", "C", NULL};

/* ---- fields ------------------------------------------------------------------------------- */

typedef enum form {
    FORM_NUMBER,  /* null is none */
    FORM_NUMBERS, /* a list of them, of lists of them ... */
    FORM_OFF,     /* null alone: the kind has no use for it */
    FORM_TEXT,
    FORM_TRUTH,
    FORM_WORD, /* of words */
    FORM_WORDS,
    FORM_PRESET, /* a name that dllm_decode_preset knows */
    FORM_OBJECT, /* of fields */
    FORM_OBJECTS,
    FORM_ROWS, /* a list of objects whose fields are outputs of a row */
    FORM_ALSO  /* no field: those of another list */
} form;

typedef struct field {
    const char *name; /* NULL ends a list */
    form form;
    const char *const *words;
    const struct field *fields;
} field;

/* clang-format off */
#define NUMBER(field) {.name = (field), .form = FORM_NUMBER}
#define NUMBERS(field) {.name = (field), .form = FORM_NUMBERS}
#define OFF(field) {.name = (field), .form = FORM_OFF}
#define TEXT(field) {.name = (field), .form = FORM_TEXT}
#define TRUTH(field) {.name = (field), .form = FORM_TRUTH}
#define WORD(field, list) {.name = (field), .form = FORM_WORD, .words = (list)}
#define WORDS(field, list) {.name = (field), .form = FORM_WORDS, .words = (list)}
#define PRESET(field) {.name = (field), .form = FORM_PRESET}
#define OBJECT(field, list) {.name = (field), .form = FORM_OBJECT, .fields = (list)}
#define OBJECTS(field, list) {.name = (field), .form = FORM_OBJECTS, .fields = (list)}
#define ROWS(field) {.name = (field), .form = FORM_ROWS}
#define ALSO(list) {.name = "", .form = FORM_ALSO, .fields = (list)}
#define END {.name = NULL}
/* clang-format on */

static const field rule_fields[] = {WORD("name", decode_selections),
                                    WORD("variant", decode_variants),
                                    WORD("order", decode_entropy_orders),
                                    WORD("run_ties", decode_run_ties),
                                    NUMBER("k"),
                                    NUMBER("inclusive"),
                                    NUMBER("threshold"),
                                    NUMBER("near_tie"),
                                    NUMBER("factor"),
                                    NUMBER("gamma"),
                                    NUMBER("low_threshold"),
                                    END};

static const field schedule_answer[] = {NUMBERS("counts"), NUMBERS("transfer_probability"), END};
static const field schedule_fields[] = {TEXT("name"),
                                        WORD("rule", decode_schedules),
                                        NUMBER("steps"),
                                        NUMBER("masks"),
                                        NUMBER("eps"),
                                        OBJECT("expected", schedule_answer),
                                        END};

static const field select_answer[] = {NUMBERS("selected"), END};
static const field select_fields[] = {TEXT("name"),
                                      NUMBERS("confidence"),
                                      NUMBERS("entropy"),
                                      OBJECT("rule", rule_fields),
                                      OBJECT("expected", select_answer),
                                      END};

/* What a row comes from, in the kinds rows and step. */
static const field row_fields[] = {TEXT("name"),
                                   NUMBERS("logits"),
                                   NUMBERS("uncond"),
                                   NUMBER("cfg_scale"),
                                   WORD("cfg_round", decode_roundings),
                                   NUMBER("scale"),
                                   NUMBER("softcap"),
                                   NUMBERS("bias"),
                                   NUMBER("valid_vocab"),
                                   NUMBERS("suppress"),
                                   NUMBERS("target"),
                                   NUMBER("temperature"),
                                   NUMBERS("uniforms"),
                                   NUMBER("uniform_den"),
                                   END};
static const field rows_answer[] = {ROWS("rows"), END};
static const field rows_fields[] = {ALSO(row_fields), NUMBERS("shards"),
                                    OBJECT("expected", rows_answer), END};

static const field step_answer[] = {NUMBERS("tokens"),
                                    NUMBERS("key"),
                                    NUMBERS("entropy"),
                                    NUMBERS("selected"),
                                    NUMBERS("eligible"),
                                    WORDS("flags", decode_flags),
                                    WORD("status", decode_states),
                                    END};
static const field step_fields[] = {ALSO(row_fields),
                                    NUMBERS("masked"),
                                    NUMBER("mask_id"),
                                    WORD("mask_rule", decode_mask_rules),
                                    NUMBER("eos"),
                                    NUMBER("eot"),
                                    WORD("eos_confidence", decode_eos_confidences),
                                    WORD("confidence_round", decode_roundings),
                                    WORD("score", decode_scores),
                                    WORD("filter_order", decode_filter_orders),
                                    NUMBER("top_k"),
                                    NUMBER("top_p"),
                                    OBJECT("rule", rule_fields),
                                    OBJECT("expected", step_answer),
                                    END};

static const field filter_answer[] = {NUMBERS("kept"),
                                      NUMBER("confidence"),
                                      NUMBER("margin"),
                                      NUMBER("entropy"),
                                      NUMBER("token"),
                                      NUMBER("token_confidence"),
                                      END};
static const field filter_fields[] = {TEXT("name"),
                                      NUMBERS("logits"),
                                      NUMBER("temperature"),
                                      WORD("filter_order", decode_filter_orders),
                                      NUMBER("top_k"),
                                      NUMBER("top_p"),
                                      NUMBERS("uniforms"),
                                      NUMBER("uniform_den"),
                                      OBJECT("expected", filter_answer),
                                      END};

static const field eos_answer[] = {TRUTH("stop"), NUMBERS("canvas"), NUMBERS("eligible"), END};
static const field eos_fields[] = {TEXT("name"),
                                   NUMBERS("canvas"),
                                   NUMBERS("just_committed"),
                                   NUMBERS("block"),
                                   NUMBER("eos"),
                                   WORD("eos_rule", decode_eos_rules),
                                   NUMBER("mask_id"),
                                   NUMBER("prompt_len"),
                                   OBJECT("expected", eos_answer),
                                   END};

static const field gather_answer[] = {TRUTH("error"), NUMBERS("rows"), END};
static const field gather_fields[] = {TEXT("name"),
                                      NUMBERS("masked"),
                                      NUMBER("shift"),
                                      WORD("window", decode_windows),
                                      NUMBER("prompt_len"),
                                      NUMBER("block_index"),
                                      NUMBER("block_length"),
                                      OBJECT("expected", gather_answer),
                                      END};

/* What each sequence of a loop may have of its own. */
static const field lane_fields[] = {NUMBERS("prompt"),
                                    NUMBER("gen_length"),
                                    NUMBERS("canvas"),
                                    NUMBERS("prompt_positions"),
                                    NUMBER("block_length"),
                                    NUMBERS("table"),
                                    NUMBERS("uncond_table"),
                                    NUMBERS("forwards_tables"),
                                    NUMBER("steps"),
                                    NUMBER("steps_per_block"),
                                    NUMBER("eps"),
                                    NUMBER("threshold"),
                                    NUMBER("inclusive"),
                                    NUMBER("factor"),
                                    WORD("variant", decode_variants),
                                    NUMBER("num_to_transfer"),
                                    NUMBER("edit_threshold"),
                                    NUMBER("max_post_steps"),
                                    NUMBER("penalty_lambda"),
                                    NUMBER("cfg_scale"),
                                    NUMBER("temperature"),
                                    END};
static const field lane_answer[] = {NUMBERS("final"),
                                    NUMBERS("selected"),
                                    NUMBERS("mask_to_token"),
                                    NUMBERS("token_to_token"),
                                    NUMBERS("read"),
                                    NUMBERS("counts"),
                                    END};
static const field loop_answer[] = {ALSO(lane_answer),
                                    OBJECTS("batch", lane_answer),
                                    NUMBERS("batch_final"),
                                    NUMBERS("canvases"),
                                    NUMBER("forwards"),
                                    NUMBERS("uncond_canvas_at_start"),
                                    END};
static const field loop_fields[] = {ALSO(lane_fields),
                                    TEXT("name"),
                                    PRESET("family"),
                                    OBJECTS("batch", lane_fields),
                                    NUMBERS("canvases"),
                                    NUMBERS("tables"),
                                    NUMBER("vocab"),
                                    NUMBER("mask_id"),
                                    WORD("mask_rule", decode_mask_rules),
                                    WORD("eligible", decode_eligibles),
                                    NUMBER("fixed_steps"),
                                    WORD("remasking", decode_remaskings),
                                    WORD("alg", decode_algs),
                                    OFF("top_k"),
                                    OFF("top_p"),
                                    WORD("cfg_round", decode_roundings),
                                    NUMBERS("uniforms"),
                                    NUMBERS("order_uniforms"),
                                    NUMBER("uniform_den"),
                                    OBJECT("expected", loop_answer),
                                    END};

static const char *const kinds[] = {"schedule", "rows", "select", "step",       "filter", "eos",
                                    "gather",   "loop", "wino",   "likelihood", NULL};
/* In the order of kinds; NULL: the kind is not offered, its runs may hold anything. */
static const field *const fields_of_kind[] = {
    schedule_fields, rows_fields,   select_fields, step_fields, filter_fields,
    eos_fields,      gather_fields, loop_fields,   NULL,        NULL};

/* ---- checks ------------------------------------------------------------------------------- */

static bool is_number(const json_t *value)
{
    const char *word = json_string_value(value);
    return json_is_number(value) || json_is_null(value) ||
           (word && known_word(word, number_words) >= 0);
}

/* Whether all that lies in a list, and in lists within it, are numbers. */
static bool are_numbers(const json_t *list)
{
    size_t i;
    const json_t *value;
    json_array_foreach(list, i, value)
    {
        if (json_is_array(value) ? !are_numbers(value) : !is_number(value)) return false;
    }
    return true;
}

static bool check_words(const field *shape, const json_t *list, dllm_message *why)
{
    size_t i;
    const json_t *value;
    if (!json_is_array(list)) return DLLM_REFUSE(why, "%s is no list of words", shape->name);
    json_array_foreach(list, i, value)
    {
        const char *word = json_string_value(value);
        if (!word) return DLLM_REFUSE(why, "%s %zu is no word", shape->name, i);
        if (!known_word_check(shape->name, word, shape->words, why)) return false;
    }
    return true;
}

static bool check_word(const field *shape, const json_t *value, dllm_message *why)
{
    const char *word = json_string_value(value);
    if (json_is_null(value)) return true; /* as one that is missing */
    if (!word) return DLLM_REFUSE(why, "%s is no word", shape->name);
    return known_word_check(shape->name, word, shape->words, why);
}

static bool check_preset(const field *shape, const json_t *value, dllm_message *why)
{
    dllm_decode_options options;
    dllm_sequence sequence;
    if (!json_is_string(value)) return DLLM_REFUSE(why, "%s is no word", shape->name);
    return dllm_decode_preset(&options, &sequence, json_string_value(value)) == DLLM_OK ||
           DLLM_REFUSE(why, "%s: %s", shape->name, dllm_last_error());
}

static bool check_rows(const json_t *list, dllm_message *why)
{
    const char *names[ROW_FLAGS + 1] = {NULL};
    size_t i;
    const json_t *row;
    for (int output = 0; output < ROW_FLAGS; output++)
        names[output] = row_output_name(output);
    if (!json_is_array(list)) return DLLM_REFUSE(why, "rows is no list");
    json_array_foreach(list, i, row)
    {
        if (!known_fields_check(row, names, why)) return false;
        for (int output = 0; output < ROW_FLAGS; output++) {
            const json_t *value = json_object_get(row, names[output]);
            if (value && !is_number(value))
                return DLLM_REFUSE(why, "%s is no number", names[output]);
        }
    }
    return true;
}

static bool check_plain(const field *shape, const json_t *value, dllm_message *why)
{
    const bool is_list = json_is_array(value) && are_numbers(value);
    if (shape->form == FORM_NUMBER && !is_number(value))
        return DLLM_REFUSE(why, "%s is no number", shape->name);
    if (shape->form == FORM_NUMBERS && !is_list && !json_is_null(value))
        return DLLM_REFUSE(why, "%s is no list of numbers", shape->name);
    if (shape->form == FORM_OFF && !json_is_null(value))
        return DLLM_REFUSE(why, "%s is not null, which alone is offered", shape->name);
    if (shape->form == FORM_TRUTH && !json_is_boolean(value))
        return DLLM_REFUSE(why, "%s is not true or false", shape->name);
    if (shape->form == FORM_TEXT && !json_is_string(value))
        return DLLM_REFUSE(why, "%s is no text", shape->name);
    return true;
}

static bool check_object(const json_t *object, const field *fields, dllm_message *why);

static bool check_objects(const field *shape, const json_t *list, dllm_message *why)
{
    size_t i;
    const json_t *object;
    if (!json_is_array(list)) return DLLM_REFUSE(why, "it is no list of objects");
    json_array_foreach(list, i, object)
    {
        if (!check_object(object, shape->fields, why)) return false;
    }
    return true;
}

/* A field whose value has fields of its own, with its name before what is wrong with one. */
static bool check_nested(const field *shape, const json_t *value, dllm_message *why)
{
    dllm_message reason;
    const bool done = shape->form == FORM_OBJECT    ? check_object(value, shape->fields, &reason)
                      : shape->form == FORM_OBJECTS ? check_objects(shape, value, &reason)
                                                    : check_rows(value, &reason);
    return done || DLLM_REFUSE(why, "%s: %.400s", shape->name, reason.text);
}

static bool check_value(const field *shape, const json_t *value, dllm_message *why)
{
    switch (shape->form) {
    case FORM_WORD:
        return check_word(shape, value, why);
    case FORM_WORDS:
        return check_words(shape, value, why);
    case FORM_PRESET:
        return check_preset(shape, value, why);
    case FORM_OBJECT:
    case FORM_OBJECTS:
    case FORM_ROWS:
        return check_nested(shape, value, why);
    case FORM_NUMBER:
    case FORM_NUMBERS:
    case FORM_OFF:
    case FORM_TEXT:
    case FORM_TRUTH:
    case FORM_ALSO:
        break;
    }
    return check_plain(shape, value, why);
}

/* Appends the fields of a list, those of lists within it too. */
static int list_fields(const field **out, int count, const field *fields)
{
    for (; fields->name; fields++)
        if (fields->form == FORM_ALSO)
            count = list_fields(out, count, fields->fields);
        else if (count < FIELDS_MAX)
            out[count++] = fields;
    return count;
}

static bool check_object(const json_t *object, const field *fields, dllm_message *why)
{
    const field *known[FIELDS_MAX];
    const char *names[FIELDS_MAX + 1] = {NULL};
    const int count = list_fields(known, 0, fields);
    for (int i = 0; i < count; i++)
        names[i] = known[i]->name;
    if (!known_fields_check(object, names, why)) return false;
    for (int i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, names[i]);
        if (value && !check_value(known[i], value, why)) return false;
    }
    return true;
}

/* ---- cases -------------------------------------------------------------------------------- */

json_t *decode_run_of(const json_t *from, size_t run)
{
    json_t *out = json_object();
    (void)json_object_update(out, json_object_get(from, "common"));
    (void)json_object_update(out, json_array_get(json_object_get(from, "runs"), run));
    return out;
}

static bool check_runs(const json_t *from, const field *fields, dllm_message *why)
{
    const json_t *common = json_object_get(from, "common");
    const json_t *runs = json_object_get(from, "runs");
    if (common && !json_is_object(common)) return DLLM_REFUSE(why, "common is no object");
    if (json_array_size(runs) == 0) return DLLM_REFUSE(why, "runs is no list that has any");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        dllm_message reason;
        json_t *run = decode_run_of(from, i);
        const bool is_object = json_is_object(json_array_get(runs, i));
        const bool done = is_object ? check_object(run, fields, &reason)
                                    : DLLM_REFUSE(&reason, "it is no object with fields");
        json_decref(run);
        if (!done) return DLLM_REFUSE(why, "run %zu: %.400s", i, reason.text);
    }
    return true;
}

static bool check_case(const json_t *from, dllm_message *why)
{
    static const char *const names[] = {"id",   "kind",   "tier", "title",  "notes",
                                        "core", "source", "runs", "common", NULL};
    const char *kind = json_string_value(json_object_get(from, "kind"));
    const json_t *given_tier = json_object_get(from, "tier");
    const char *tier = json_string_value(given_tier);
    if (given_tier && !tier) return DLLM_REFUSE(why, "tier is no word");
    if (!known_fields_check(from, names, why) || !known_word_check("kind", kind, kinds, why) ||
        (tier && !known_word_check("tier", tier, tiers, why)))
        return false;
    const field *fields = fields_of_kind[known_word(kind, kinds)];
    return !fields || check_runs(from, fields, why);
}

bool decode_shape_check(const json_t *cases, dllm_message *message)
{
    size_t i;
    const json_t *from;
    if (json_array_size(cases) == 0)
        return DLLM_REFUSE(message, "no list \"cases\" that has any, with id and kind");
    json_array_foreach(cases, i, from)
    {
        dllm_message why;
        const char *id = json_string_value(json_object_get(from, "id"));
        if (!id || !json_is_string(json_object_get(from, "kind")))
            return DLLM_REFUSE(message, "no list \"cases\" whose members have id and kind");
        if (!check_case(from, &why))
            return DLLM_REFUSE(message, "case \"%.60s\": %.400s", id, why.text);
    }
    return true;
}
