/* check_decode.c - runs decode cases through the public interface and says which pass */
#include "check_decode.h"

#include "decode_fields.h"
#include "decode_filtering.h"
#include "decode_looping.h"
#include "decode_rows.h"
#include "decode_shape.h"
#include "decode_stepping.h"

#include <math.h>
#include <string.h>

static bool refuse_status(dllm_message *why, const char *call)
{
    return DLLM_REFUSE(why, "%s: %s", call, dllm_last_error());
}

/* ---- schedule ----------------------------------------------------------------------------- */

static bool run_schedule(decode_checker *checker, const json_t *run, const json_t *expected,
                         dllm_message *why)
{
    int64_t counts[FIELD_LIST_MAX];
    float fractions[FIELD_LIST_MAX];
    field_list got = {0}, shares = {0};
    (void)checker;
    const dllm_schedule schedule = {.struct_size = sizeof schedule,
                                    .dream = field_word(run, "rule", decode_schedules),
                                    .steps = field_integer(run, "steps", 0),
                                    .masks = field_integer(run, "masks", 0),
                                    .eps = (float)field_number(run, "eps", 0)};
    if (schedule.dream > 1)
        return DLLM_REFUSE(why, "rule \"%s\" is not offered",
                           json_string_value(json_object_get(run, "rule")));
    if (schedule.steps > FIELD_LIST_MAX)
        return DLLM_REFUSE(why, "%d steps are above %d", schedule.steps, FIELD_LIST_MAX);
    if (dllm_decode_schedule(counts, fractions, &schedule) != DLLM_OK)
        return refuse_status(why, "dllm_decode_schedule");
    got.count = shares.count = schedule.steps;
    for (int i = 0; i < schedule.steps; i++) {
        got.values[i] = (double)counts[i];
        shares.values[i] = (double)fractions[i];
    }
    if (!field_same(expected, "counts", &got, why)) return false;
    return field_all_near(expected, "transfer_probability", &shares, 1e-6, why);
}

/* ---- select ------------------------------------------------------------------------------- */

bool decode_selection_read(dllm_selection *out, const json_t *rule, dllm_message *why)
{
    if (!json_is_string(json_object_get(rule, "name")))
        return DLLM_REFUSE(why, "the rule has no name");
    *out = (dllm_selection){
        .struct_size = sizeof *out,
        .name = (dllm_select_name)field_word(rule, "name", decode_selections),
        .count = field_integer(rule, "k", 0),
        .inclusive = field_integer(rule, "inclusive", 0),
        .variant = field_word(rule, "variant", decode_variants),
        .by_key = field_word(rule, "order", decode_entropy_orders),
        .run_ties = field_word(rule, "run_ties", decode_run_ties),
        .threshold = (float)field_number(rule, "threshold", (double)INFINITY),
        .near_tie = (float)field_number(rule, "near_tie", 0),
        .factor = (float)field_number(rule, "factor", 1),
        .gamma = (float)field_number(rule, "gamma", 0),
        .low_threshold = (float)field_number(rule, "low_threshold", 0),
    };
    return true;
}

static bool run_select(decode_checker *checker, const json_t *run, const json_t *expected,
                       dllm_message *why)
{
    dllm_selection selection;
    field_list confidence, entropy, got = {0};
    float keys[FIELD_LIST_MAX], entropies[FIELD_LIST_MAX];
    uint8_t masked[FIELD_LIST_MAX], chosen[FIELD_LIST_MAX];
    (void)checker;
    const bool has_keys = field_numbers(&confidence, run, "confidence");
    const bool has_entropy = field_numbers(&entropy, run, "entropy");
    const field_list *list = has_keys ? &confidence : &entropy;
    if (!has_keys && !has_entropy) return DLLM_REFUSE(why, "neither confidence nor entropy");
    if (has_keys && has_entropy && confidence.count != entropy.count)
        return DLLM_REFUSE(why, "%d confidences and %d entropies", confidence.count, entropy.count);
    if (!decode_selection_read(&selection, json_object_get(run, "rule"), why)) return false;
    for (int q = 0; q < list->count; q++) {
        masked[q] = (uint8_t)(isnan(list->values[q]) ? 0 : 1);
        keys[q] = (float)list->values[q];
        entropies[q] = has_entropy ? (float)entropy.values[q] : 0.0f;
    }
    const dllm_block_keys block = {.struct_size = sizeof block,
                                   .positions = list->count,
                                   .key = has_keys ? keys : NULL,
                                   .entropy = has_entropy ? entropies : NULL,
                                   .masked = masked};
    memset(chosen, 0xee, sizeof chosen);
    if (dllm_decode_select(chosen, &selection, &block) != DLLM_OK)
        return refuse_status(why, "dllm_decode_select");
    for (int q = 0; q < list->count; q++)
        if (chosen[q]) got.values[got.count++] = q;
    return field_same(expected, "selected", &got, why);
}

/* ---- end of sequence, rows ---------------------------------------------------------------- */

static bool read_canvas(int64_t *canvas, field_list *list, const json_t *run, dllm_message *why)
{
    if (!field_numbers(list, run, "canvas")) return DLLM_REFUSE(why, "canvas is no list");
    for (int q = 0; q < list->count; q++)
        canvas[q] = field_whole(list->values[q]);
    return true;
}

/* Marks the positions of the field just_committed. */
static bool read_committed(uint8_t *committed, const json_t *run, int length, dllm_message *why)
{
    field_list just;
    if (!field_numbers(&just, run, "just_committed"))
        return DLLM_REFUSE(why, "just_committed is no list");
    for (int i = 0; i < just.count; i++) {
        const int position = field_whole(just.values[i]);
        if (position < 0 || position >= length)
            return DLLM_REFUSE(why, "just_committed %d is outside 0 .. %d", position, length - 1);
        committed[position] = 1;
    }
    return true;
}

static bool run_eos(decode_checker *checker, const json_t *run, const json_t *expected,
                    dllm_message *why)
{
    int64_t canvas[FIELD_LIST_MAX];
    uint8_t eligible[FIELD_LIST_MAX], committed[FIELD_LIST_MAX] = {0};
    field_list ids, block, got = {0};
    const int64_t eos = field_integer(run, "eos", -1);
    int32_t stop = -1;
    (void)checker;
    if (!read_canvas(canvas, &ids, run, why) || !read_committed(committed, run, ids.count, why))
        return false;
    if (!field_numbers(&block, run, "block") || block.count != 2)
        return DLLM_REFUSE(why, "block is no list of two positions");
    const dllm_sequence_state state = {
        .struct_size = sizeof state,
        .canvas = canvas,
        .chosen = committed,
        .eos = &eos,
        .eos_count = 1,
        .length = ids.count,
        .prompt = field_integer(run, "prompt_len", 0),
        .low = field_whole(block.values[0]),
        .high = field_whole(block.values[1]),
        .mask_id = field_integer(run, "mask_id", -1),
        .rule = (dllm_eos_rule)field_word(run, "eos_rule", decode_eos_rules)};
    if (dllm_decode_end(&stop, eligible, &state) != DLLM_OK)
        return refuse_status(why, "dllm_decode_end");
    if (stop != json_is_true(json_object_get(expected, "stop")))
        return DLLM_REFUSE(why, "stop %d, wanted the other", stop);
    for (int q = 0; q < ids.count; q++) {
        ids.values[q] = (double)canvas[q];
        if (eligible[q]) got.values[got.count++] = q;
    }
    return field_same(expected, "canvas", &ids, why) && field_same(expected, "eligible", &got, why);
}

static bool run_gather(decode_checker *checker, const json_t *run, const json_t *expected,
                       dllm_message *why)
{
    int64_t positions[FIELD_LIST_MAX], rows[FIELD_LIST_MAX];
    field_list masked, got = {0};
    (void)checker;
    if (!field_numbers(&masked, run, "masked")) return DLLM_REFUSE(why, "masked is no list");
    const int64_t length = field_integer(run, "block_length", 0);
    const int64_t low = field_integer(run, "prompt_len", 0) +
                        (int64_t)field_integer(run, "block_index", 0) * length;
    const int64_t starts[] = {0, low, low > 0 ? low - 1 : 0};
    const int window = field_word(run, "window", decode_windows);
    for (int i = 0; i < masked.count; i++)
        positions[i] = field_whole(masked.values[i]);
    const dllm_status status =
        dllm_decode_rows(rows, positions, masked.count, field_integer(run, "shift", 0),
                         starts[window], low + length);
    const bool wants_error = json_is_true(json_object_get(expected, "error"));
    if (wants_error != (status != DLLM_OK))
        return DLLM_REFUSE(why, "status %d, wanted %s", (int)status,
                           wants_error ? "an error" : "none");
    got.count = masked.count;
    for (int i = 0; status == DLLM_OK && i < masked.count; i++)
        got.values[i] = (double)rows[i];
    return wants_error || field_same(expected, "rows", &got, why);
}

/* ---- cases -------------------------------------------------------------------------------- */

static const struct kind {
    const char *name;
    bool (*run)(decode_checker *, const json_t *, const json_t *, dllm_message *);
} kinds[] = {{"schedule", run_schedule},       {"rows", decode_rows_run},
             {"select", run_select},           {"step", decode_stepping_run},
             {"filter", decode_filtering_run}, {"eos", run_eos},
             {"gather", run_gather},           {"loop", decode_looping_run}};

static const struct kind *find_kind(const json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "kind"));
    for (size_t i = 0; name && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

/* What a case asks for that the library does not offer; NULL: nothing. */
static const char *find_lack(const json_t *from)
{
    const char *rule = json_string_value(json_object_get(json_object_get(from, "common"), "rule"));
    if (rule && strcmp(rule, "dllm_linear") == 0) return "schedule dllm_linear";
    return NULL;
}

bool decode_checker_open(decode_checker *out, int device, dllm_message *message)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    *out = (decode_checker){.tier = 'B'};
    options.device = device;
    if (!device_open(&out->memory, device)) return DLLM_REFUSE(message, "%s", out->memory.message);
    if (dllm_context_create(&out->context, &options) == DLLM_OK) return true;
    device_close(&out->memory);
    return DLLM_REFUSE(message, "%s", dllm_last_error());
}

void decode_checker_close(decode_checker *checker)
{
    dllm_context_destroy(checker->context);
    device_close(&checker->memory);
}

/* Does an answer say something, and nowhere null? */
static bool is_answer(const json_t *expected, dllm_message *why)
{
    const char *name;
    json_t *value, *member;
    size_t i;
    if (json_object_size(expected) == 0) return DLLM_REFUSE(why, "nothing is expected of it");
    json_object_foreach((json_t *)expected, name, value)
    {
        if (json_is_null(value)) return DLLM_REFUSE(why, "expected %.60s is null", name);
        json_array_foreach(value, i, member)
        {
            if (json_is_object(member) && !is_answer(member, why)) return false;
        }
    }
    return true;
}

check_verdict decode_checker_run(decode_checker *checker, const json_t *from, dllm_message *why)
{
    const struct kind *kind = find_kind(from);
    const char *tier = json_string_value(json_object_get(from, "tier"));
    const json_t *runs = json_object_get(from, "runs");
    if (tier && tier[0] > checker->tier) {
        dllm_message_set(why, "tier %s", tier);
        return CHECK_SKIP;
    }
    if (find_lack(from)) {
        dllm_message_set(why, "%s", find_lack(from));
        return CHECK_SKIP;
    }
    if (!kind) {
        dllm_message_set(why, "kind %s", json_string_value(json_object_get(from, "kind")));
        return CHECK_SKIP;
    }
    for (size_t i = 0; i < json_array_size(runs); i++) {
        dllm_message reason;
        json_t *run = decode_run_of(from, i);
        const json_t *expected = json_object_get(run, "expected");
        const bool passed =
            kind->run(checker, run, expected, &reason) && is_answer(expected, &reason);
        json_decref(run);
        if (passed) continue;
        dllm_message_set(why, "run %zu: %.400s", i, reason.text);
        return CHECK_FAIL;
    }
    return CHECK_PASS;
}
