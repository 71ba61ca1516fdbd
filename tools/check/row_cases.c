/* row_cases.c - the case file of rows (its format: `meta` in the file itself) as plain structs */
#include "row_cases.h"

#include "case_reader.h"
#include "element_type.h"
#include "known_words.h"

#include <math.h>
#include <string.h>

enum { SIZE_MAX_32 = INT32_MAX };

/* Fields of a case and of what lies in it; those that are not read say what the case is about. */
static const char *const case_names[] = {
    "id",   "V",     "exact_in", "params",   "head",       "ld",     "pads",  "gather", "shards",
    "rows", "large", "R",        "R_larger", "background", "guards", "rules", "source", NULL};
static const char *const row_names[] = {
    "logits",   "bad_index", "target", "temperature", "noise", "expected", "tol",
    "tempered", "partials",  "at",     "score_gap",   "wrong", NULL};
static const char *const params_names[] = {"scale",    "softcap",     "round_logits", "bias",
                                           "suppress", "valid_vocab", "vocab_offset", NULL};
static const char *const head_names[] = {"H", "x", "W", "rule", "x_rule", "w_rule", NULL};
static const char *const gather_names[] = {"source_rows", "row_index", NULL};
static const char *const noise_names[] = {"words", "seed", "row_key", NULL};
static const char *const tempered_names[] = {"expected", "tol", NULL};
static const char *const partial_names[] = {"argmax", "max",   "second", "second_id",
                                            "d",      "count", "offset", NULL};

static const char *const flag_names[] = {"NONFINITE", "EMPTY", "TARGET", "PARAM",
                                         "ROW",       "COVER", NULL};
static const uint32_t flag_bits[] = {DLLM_FLAG_NONFINITE, DLLM_FLAG_EMPTY, DLLM_FLAG_TARGET,
                                     DLLM_FLAG_PARAM,     DLLM_FLAG_ROW,   DLLM_FLAG_COVER};

static double read_flags(case_reader *reader, const json_t *names)
{
    size_t i;
    const json_t *name;
    uint32_t flags = 0;
    if (!json_is_array(names)) case_wrong(reader, "flags is no list");
    json_array_foreach(names, i, name)
    {
        const char *word = json_is_string(name) ? json_string_value(name) : "";
        dllm_message why;
        if (known_word_check("flags", word, flag_names, &why))
            flags |= flag_bits[known_word(word, flag_names)];
        else
            case_wrong(reader, why.text);
    }
    return (double)flags;
}

/* Values by output, and the tolerances of them. */
static void check_outputs(case_reader *reader, const json_t *expected, const json_t *tolerances)
{
    const char *names[ROW_OUTPUTS + 1] = {NULL};
    for (int i = 0; i < ROW_OUTPUTS; i++)
        names[i] = row_output_name(i);
    case_fields(reader, expected, names, "expected");
    names[ROW_CONFIDENCE] = "confidence_rel";
    if (tolerances) case_fields(reader, tolerances, names, "tol");
}

static void read_answer(case_reader *reader, row_answer *out, const json_t *holder)
{
    const json_t *expected = json_object_get(holder, "expected");
    const json_t *tolerances = json_object_get(holder, "tol");
    if (!json_is_object(expected)) case_wrong(reader, "a row has no expected values");
    check_outputs(reader, expected, tolerances);
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        const json_t *value = json_object_get(expected, row_output_name(i));
        const json_t *tolerance = json_object_get(
            tolerances, i == ROW_CONFIDENCE ? "confidence_rel" : row_output_name(i));
        if (!value) continue;
        out->present |= 1u << i;
        out->value[i] = i == ROW_FLAGS ? read_flags(reader, value)
                                       : case_number(reader, value, row_output_name(i));
        if (tolerance) out->tolerance[i] = case_number(reader, tolerance, "tol");
    }
    if (!out->present) case_wrong(reader, "a row has no expected values");
}

/* What a shard gives when it is run as a vocabulary of its own. */
static void read_parts(case_reader *reader, case_row *out, const json_t *partials, int64_t count)
{
    if ((int64_t)json_array_size(partials) != count)
        case_wrong(reader, "partials are not one a shard");
    row_answer *parts = case_memory(reader, count, sizeof *parts);
    for (int64_t i = 0; parts && i < count; i++) {
        static const int given[] = {ROW_ARGMAX, ROW_MAX, ROW_SECOND, ROW_SECOND_ID};
        const json_t *partial = json_array_get(partials, (size_t)i);
        case_fields(reader, partial, partial_names, "partials");
        const double d = case_number(reader, json_object_get(partial, "d"), "d of a partial");
        for (size_t g = 0; g < sizeof given / sizeof given[0]; g++) {
            const char *name = row_output_name(given[g]);
            parts[i].value[given[g]] = case_number(reader, json_object_get(partial, name), name);
            parts[i].present |= 1u << given[g];
        }
        parts[i].value[ROW_CONFIDENCE] = d > 0 ? 1 / d : 0;
        parts[i].tolerance[ROW_CONFIDENCE] = out->expected.tolerance[ROW_CONFIDENCE];
        parts[i].present |= DLLM_OUT_CONFIDENCE;
        if (parts[i].value[ROW_ARGMAX] < 0) parts[i].present = 0;
    }
    out->parts = parts;
}

static void read_noise(case_reader *reader, case_row *out, const json_t *noise, int64_t vocab)
{
    const json_t *words = json_object_get(noise, "words");
    case_fields(reader, noise, noise_names, "noise");
    if (!words) {
        out->has_key = true;
        out->seed = case_word(reader, json_object_get(noise, "seed"), "seed");
        out->row_key = case_word(reader, json_object_get(noise, "row_key"), "row_key");
        return;
    }
    const double *pairs = case_matrix(reader, words, vocab, 2, "words are not V pairs");
    uint32_t *converted = case_memory(reader, vocab * 2, sizeof *converted);
    for (int64_t i = 0; pairs && converted && i < vocab * 2; i++)
        converted[i] = (uint32_t)pairs[i];
    out->words = converted;
}

static void read_row(case_reader *reader, case_row *out, const json_t *row, const row_case *of)
{
    const json_t *target = json_object_get(row, "target");
    const json_t *temperature = json_object_get(row, "temperature");
    case_fields(reader, row, row_names, "a row");
    out->bad_index =
        case_truth(reader, json_object_get(row, "bad_index"), "bad_index is not true or false");
    if (out->bad_index && !of->source)
        case_wrong(reader, "a row has bad_index, and there is no gather whose index it could be");
    if (!out->bad_index) {
        double *logits = case_memory(reader, of->vocab, sizeof *logits);
        case_logits(reader, logits, json_object_get(row, "logits"), of->vocab);
        out->logits = logits;
    }
    out->has_target = target != NULL;
    if (target) out->target = case_integer(reader, target, INT64_MIN, INT64_MAX, "target");
    out->has_temperature = temperature != NULL;
    if (temperature) out->temperature = (float)case_number(reader, temperature, "temperature");
    if (json_object_get(row, "noise"))
        read_noise(reader, out, json_object_get(row, "noise"), of->vocab);
    read_answer(reader, &out->expected, row);
    if (json_object_get(row, "tempered")) {
        case_fields(reader, json_object_get(row, "tempered"), tempered_names, "tempered");
        out->tempered = out->expected;
        read_answer(reader, &out->tempered, json_object_get(row, "tempered"));
    }
    if (of->shard_count) read_parts(reader, out, json_object_get(row, "partials"), of->shard_count);
}

static void wrong_type(case_reader *reader, const char *what, const json_t *value)
{
    dllm_message why;
    const char *word = json_string_value(value);
    dllm_message_set(&why, "%s \"%.100s\" is none of bf16, fp16, fp32", what, word ? word : "");
    case_wrong(reader, why.text);
}

static uint32_t read_types(case_reader *reader, const json_t *names)
{
    size_t i;
    const json_t *name;
    uint32_t types = 0;
    if (!names) return 1u << DLLM_BF16 | 1u << DLLM_FP16 | 1u << DLLM_FP32;
    if (!json_is_array(names)) case_wrong(reader, "exact_in is no list of types");
    json_array_foreach(names, i, name)
    {
        const dllm_type type = json_is_string(name) ? element_type_of(json_string_value(name)) : 0;
        if (type == DLLM_TYPE_NONE) wrong_type(reader, "exact_in", name);
        types |= 1u << type;
    }
    return types;
}

static void read_params(case_reader *reader, row_case *out, const json_t *params)
{
    const json_t *scale = json_object_get(params, "scale");
    const json_t *softcap = json_object_get(params, "softcap");
    const json_t *round = json_object_get(params, "round_logits");
    const json_t *bias = json_object_get(params, "bias");
    const json_t *suppress = json_object_get(params, "suppress");
    const json_t *valid = json_object_get(params, "valid_vocab");
    const json_t *offset = json_object_get(params, "vocab_offset");
    if (params) case_fields(reader, params, params_names, "params");
    if (scale) out->scale = (float)case_number(reader, scale, "scale");
    if (softcap) out->softcap = (float)case_number(reader, softcap, "softcap");
    if (round)
        out->round_logits = element_type_of(json_is_string(round) ? json_string_value(round) : "");
    if (round && out->round_logits == DLLM_TYPE_NONE) wrong_type(reader, "round_logits", round);
    if (valid) out->valid_vocab = case_integer(reader, valid, 0, out->vocab, "valid_vocab");
    if (offset) out->vocab_offset = case_integer(reader, offset, 0, SIZE_MAX_32, "vocab_offset");
    if (suppress) out->suppress = case_integers(reader, suppress, &out->suppress_count, "suppress");
    if (bias) {
        float *converted = case_memory(reader, out->vocab, sizeof *converted);
        if ((int64_t)json_array_size(bias) != out->vocab)
            case_wrong(reader, "bias has not V numbers");
        for (int64_t v = 0; converted && v < out->vocab; v++)
            converted[v] = (float)case_number(reader, json_array_get(bias, (size_t)v), "bias");
        out->bias = converted;
    }
}

static void read_shards(case_reader *reader, row_case *out, const json_t *list)
{
    const char *what = "shards is not a list of [from, to) inside the vocabulary";
    if (list && !json_is_array(list)) case_wrong(reader, what);
    out->shard_count = (int64_t)json_array_size(list);
    int64_t *ends = case_memory(reader, out->shard_count * 2, sizeof *ends);
    for (int64_t i = 0; ends && i < out->shard_count; i++) {
        const json_t *shard = json_array_get(list, (size_t)i);
        ends[2 * i] = case_integer(reader, json_array_get(shard, 0), 0, out->vocab - 1, what);
        ends[2 * i + 1] =
            case_integer(reader, json_array_get(shard, 1), ends[2 * i] + 1, out->vocab, what);
    }
    out->shards = ends;
}

static void read_gather(case_reader *reader, row_case *out, const json_t *gather)
{
    const json_t *rules = json_object_get(gather, "source_rows");
    int64_t count = 0;
    case_fields(reader, gather, gather_names, "gather");
    out->source_rows = (int64_t)json_array_size(rules);
    double *source = case_memory(reader, out->source_rows * out->vocab, sizeof *source);
    for (int64_t r = 0; source && r < out->source_rows; r++)
        case_logits(reader, source + r * out->vocab, json_array_get(rules, (size_t)r), out->vocab);
    out->source = source;
    out->row_index =
        case_integers(reader, json_object_get(gather, "row_index"), &count, "row_index");
    if (count != out->row_count) case_wrong(reader, "row_index is not one a row");
}

/* Where the numbers of the case lie in memory. */
static void read_memory(case_reader *reader, row_case *out, const json_t *from)
{
    const json_t *head = json_object_get(from, "head");
    const json_t *stride = json_object_get(from, "ld");
    const json_t *gather = json_object_get(from, "gather");
    const json_t *shards = json_object_get(from, "shards");
    if (head) {
        case_fields(reader, head, head_names, "head");
        out->depth = case_integer(reader, json_object_get(head, "H"), 1, SIZE_MAX_32, "H");
        out->hidden =
            case_matrix(reader, json_object_get(head, "x"), out->row_count, out->depth, "x");
        out->weight = case_matrix(reader, json_object_get(head, "W"), out->vocab, out->depth, "W");
    }
    if (stride) {
        const json_t *pads = json_object_get(from, "pads");
        out->stride = case_integer(reader, stride, out->vocab + 1, SIZE_MAX_32, "ld");
        out->pad_rows = (int64_t)json_array_size(pads);
        out->pads = case_matrix(reader, pads, out->pad_rows, out->stride - out->vocab, "pads");
        if (out->pad_rows == 0) case_wrong(reader, "ld without pads");
    }
    if (gather) read_gather(reader, out, gather);
    if (shards) read_shards(reader, out, shards);
}

static void read_large(case_reader *reader, row_case *out, const json_t *from)
{
    out->is_large =
        case_truth(reader, json_object_get(from, "large"), "large is not true or false");
    if (!out->is_large) return;
    out->large_rows[0] = case_integer(reader, json_object_get(from, "R"), 2, SIZE_MAX_32, "R");
    out->large_rows[1] = case_integer(reader, json_object_get(from, "R_larger"), out->large_rows[0],
                                      SIZE_MAX_32, "R_larger");
    read_row(reader, &out->background, json_object_get(from, "background"), out);
    if (out->row_count != 1) case_wrong(reader, "a large case has other than one row of its own");
}

static void read_case(case_reader *reader, row_case *out, const json_t *from)
{
    const json_t *rows = json_object_get(from, "rows");
    out->id = json_string_value(json_object_get(from, "id"));
    reader->id = out->id;
    if (!out->id) {
        case_wrong(reader, "it has no id");
        return;
    }
    char *id = case_memory(reader, (int64_t)strlen(out->id) + 1, 1);
    if (id) memcpy(id, out->id, strlen(out->id));
    out->id = id;
    case_fields(reader, from, case_names, "the case");
    out->vocab = case_integer(reader, json_object_get(from, "V"), 1, SIZE_MAX_32, "V");
    out->types = read_types(reader, json_object_get(from, "exact_in"));
    out->row_count = (int64_t)json_array_size(rows);
    if (!json_is_array(rows)) case_wrong(reader, "rows is not a list");
    read_params(reader, out, json_object_get(from, "params"));
    read_memory(reader, out, from);
    read_large(reader, out, from);
    case_row *made = case_memory(reader, out->row_count, sizeof *made);
    for (int64_t r = 0; made && r < out->row_count; r++)
        read_row(reader, &made[r], json_array_get(rows, (size_t)r), out);
    out->row = made;
}

bool row_cases_load(row_cases *out, const char *path, dllm_message *message)
{
    json_error_t error;
    dllm_message reason;
    case_reader reader = {.message = &reason};
    *out = (row_cases){0};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return error.line > 0 ? DLLM_REFUSE(message, "%s:%d: %s", path, error.line, error.text)
                              : DLLM_REFUSE(message, "%s: %s", path, error.text);
    const json_t *list = json_object_get(root, "cases");
    const json_t *format = json_object_get(json_object_get(root, "meta"), "format");
    if (json_array_size(list) == 0 || json_integer_value(format) != 1) {
        json_decref(root);
        return DLLM_REFUSE(
            message, "%s is not a case file of format 1 with a list \"cases\" that has any", path);
    }
    out->count = (int64_t)json_array_size(list);
    row_case *made = case_memory(&reader, out->count, sizeof *made);
    for (int64_t i = 0; made && !reader.failed && i < out->count; i++)
        read_case(&reader, &made[i], json_array_get(list, (size_t)i));
    json_decref(root);
    out->cases = made;
    out->pieces = reader.pieces;
    if (!reader.failed) return true;
    row_cases_release(out);
    return DLLM_REFUSE(message, "%s: %.470s", path, reason.text);
}

void row_cases_release(row_cases *cases)
{
    case_pieces_release(cases->pieces);
    *cases = (row_cases){0};
}

const row_case *row_cases_find(const row_cases *cases, const char *id)
{
    for (int64_t i = 0; i < cases->count; i++)
        if (strcmp(cases->cases[i].id, id) == 0) return &cases->cases[i];
    return NULL;
}
