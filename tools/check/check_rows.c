/* check_rows.c - runs row cases through the public interface and says which pass */
#include "check_rows.h"

#include "case_call.h"
#include "element_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Outputs that every row has; the others need a target or a draw. */
static const uint32_t plain_outputs = DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE |
                                      DLLM_OUT_CONFIDENCE | DLLM_OUT_ENTROPY | DLLM_OUT_SECOND |
                                      DLLM_OUT_SECOND_ID | DLLM_OUT_MARGIN | DLLM_OUT_FLAGS;
static const uint32_t draw_outputs = DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB;

/* One case under way. */
typedef struct check_state {
    row_checker *checker;
    const row_case *from;
    const check_family *family;
    bool is_head;
    const check_ability *ability;
    int64_t runs;       /* calls of this case that were compared */
    int64_t merges;     /* of these, rows from the states of shards */
    dllm_message *why;  /* of the failure */
    dllm_message needs; /* the first thing that kept a run from happening */
} check_state;

bool row_checker_open(row_checker *out, int device, dllm_message *message)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = device;
    *out = (row_checker){.operations = CHECK_HEAD | CHECK_SAMPLER};
    if (!device_open(&out->memory, device)) return DLLM_REFUSE(message, "%s", out->memory.message);
    if (dllm_context_create(&out->context, &options) == DLLM_OK) return true;
    dllm_message_set(message, "%s", dllm_last_error());
    row_checker_close(out);
    return false;
}

void row_checker_close(row_checker *checker)
{
    dllm_context_destroy(checker->context);
    checker->context = NULL;
    device_close(&checker->memory);
}

static const check_ability *ability_of(row_checker *checker, const check_family *family,
                                       bool is_head, dllm_type type)
{
    struct check_known *known = checker->known;
    while (known->family &&
           (known->family != family || known->is_head != is_head || known->type != type))
        known++;
    if (!known->family) {
        *known = (struct check_known){.family = family, .is_head = is_head, .type = type};
        check_ability_probe(&known->ability, checker->context, family->name, is_head, type);
    }
    return &known->ability;
}

/* ---- one call ---- */

static bool compare(check_state *state, const case_view *view, const case_call *call,
                    const row_result *result)
{
    for (int64_t r = 0; r < call->problem.rows; r++) {
        double value[ROW_OUTPUTS] = {0};
        dllm_message difference;
        for (int i = 0; i < ROW_OUTPUTS; i++)
            if (result->data[i]) value[i] = row_result_value(result, i, r);
        if (!row_answer_matches(case_answer(state->from, view, r), value, call->problem.outputs,
                                call->flags_mask, &difference))
            return DLLM_REFUSE(state->why, "%s of row %lld (%s, %s, %s, %s ids%s)", difference.text,
                               (long long)(view->first + r), state->is_head ? "head" : "sampler",
                               state->family->name, element_name(view->type),
                               view->id_type == DLLM_INT64 ? "int64" : "int32",
                               view->shard >= 0 ? ", one shard"
                               : view->tempered ? ", tempered"
                                                : "");
    }
    return true;
}

static bool build(check_state *state, case_call *out, const case_view *view)
{
    const uint32_t able = state->ability->outputs;
    if (!case_call_build(out, state->from, view, state->ability->inputs))
        return DLLM_REFUSE(state->why, "out of memory for the inputs");
    out->problem.family = state->family->name;
    out->problem.outputs = plain_outputs & able;
    if (out->problem.target) out->problem.outputs |= DLLM_OUT_TARGET_LOGPROB & able;
    if (view->with_draw) out->problem.outputs |= draw_outputs & able;
    return true;
}

/* Runs and compares one view of the case; false only when that fails. */
static bool check_view(check_state *state, const case_view *view)
{
    case_call call;
    row_result result = {0};
    bool good = true;
    if (!build(state, &call, view)) return false;
    const row_outcome outcome =
        row_run(&result, &state->checker->memory, state->checker->context, &call.problem);
    if (outcome == ROW_RAN) {
        state->runs++;
        state->checker->runs++;
        good = compare(state, view, &call, &result);
    } else if (outcome == ROW_FAILED) {
        good = DLLM_REFUSE(state->why, "got no result, wanted one: %s (%s, %s, %s)",
                           result.message.text, state->is_head ? "head" : "sampler",
                           state->family->name, element_name(view->type));
    } else if (!state->needs.text[0]) {
        dllm_message_set(&state->needs, "%s",
                         outcome == ROW_NO_MEMORY ? "more memory" : result.message.text);
    }
    row_result_release(&result);
    case_call_release(&call);
    return good;
}

/* ---- shards ---- */

/* The state of one shard of a row, written to `out`, unless the family takes no rows of this depth. */
static row_outcome export_shard(check_state *state, const case_view *view, dllm_state *out)
{
    case_call call;
    row_result result = {0};
    if (!build(state, &call, view)) return ROW_FAILED;
    const row_outcome outcome =
        row_run(&result, &state->checker->memory, state->checker->context, &call.problem);
    if (outcome == ROW_RAN)
        memcpy(out, result.data[ROW_STATE], sizeof *out);
    else if (outcome == ROW_UNSUPPORTED)
        dllm_message_set(&state->needs, "%s", result.message.text);
    else
        dllm_message_set(state->why, "got no state, wanted one: %s", result.message.text);
    row_result_release(&result);
    case_call_release(&call);
    return outcome;
}

/* The whole row from the states of its shards. */
static bool check_merge(check_state *state, const case_view *view, const dllm_state *states)
{
    case_call call;
    row_result result = {0};
    if (!build(state, &call, view)) return false;
    const row_problem whole = call.problem;
    call.problem = (row_problem){.rows = 1,
                                 .vocab = state->from->vocab_offset + state->from->vocab,
                                 .id_type = whole.id_type,
                                 .outputs = whole.outputs,
                                 .behaviour = whole.behaviour & (uint32_t)DLLM_TEMPERED,
                                 .temperature = view->tempered ? whole.temperature : NULL,
                                 .states = states,
                                 .shards = state->from->shard_count};
    const bool ran =
        row_run(&result, &state->checker->memory, state->checker->context, &call.problem) ==
            ROW_RAN ||
        DLLM_REFUSE(state->why, "got no row from states, wanted one: %s", result.message.text);
    state->runs += ran;
    state->merges += ran;
    state->checker->runs += ran;
    const bool good = ran && compare(state, view, &call, &result);
    row_result_release(&result);
    case_call_release(&call);
    return good;
}

/* A row from its shards, in the order of ids and in the other. */
static bool check_shards(check_state *state, case_view view)
{
    const int64_t count = state->from->shard_count;
    row_outcome outcome = ROW_RAN;
    bool good = true;
    if (count == 0 || !state->ability->merged) return true;
    dllm_state *states = malloc((size_t)count * sizeof *states);
    if (!states) return DLLM_REFUSE(state->why, "out of memory for states");
    for (int backward = 0; good && outcome == ROW_RAN && backward < 2; backward++) {
        view.partial = true;
        for (view.shard = 0; outcome == ROW_RAN && view.shard < count; view.shard++) {
            const int64_t place = backward ? count - 1 - view.shard : view.shard;
            outcome = export_shard(state, &view, states + place);
        }
        view.partial = false;
        view.shard = -1;
        good = outcome != ROW_RAN || check_merge(state, &view, states);
    }
    free(states);
    return good && (outcome == ROW_RAN || outcome == ROW_UNSUPPORTED);
}

/* ---- the calls of a case ---- */

static bool check_single_rows(check_state *state, case_view view)
{
    const check_ability *ability = state->ability;
    const row_case *from = state->from;
    const bool alone = state->is_head && !case_head_is_joint(from);
    const bool draws = (ability->outputs & draw_outputs) == draw_outputs &&
                       ability->inputs & DLLM_IN_TEMPERATURE && ability->inputs & DLLM_IN_ROW_KEY &&
                       ability->inputs & DLLM_IN_NOISE;
    view.count = 1;
    for (view.first = 0; view.first < from->row_count; view.first++) {
        const case_row *row = &from->row[view.first];
        view.with_draw = draws && (row->has_key || row->words);
        if ((alone || view.with_draw) && !check_view(state, &view)) return false;
        view.tempered = ability->tempered && ability->inputs & DLLM_IN_TEMPERATURE &&
                        row->tempered.present != 0;
        if (view.tempered && !check_view(state, &view)) return false;
        if (!check_shards(state, view)) return false;
        view.with_draw = view.tempered = false;
        for (view.shard = 0; view.shard < from->shard_count; view.shard++)
            if (row->parts[view.shard].present && !check_view(state, &view)) return false;
        view.shard = -1;
    }
    return true;
}

/* A run that the machine would only begin is not begun: memory that is promised is not there. */
static bool fits(const check_state *state, const case_view *view)
{
    if (state->checker->memory.device != DLLM_DEVICE_CPU || state->is_head) return true;
    const double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return (double)view->large_rows * (double)state->from->vocab *
               (double)element_bytes(view->type) <
           0.9 * free_bytes;
}

static bool check_large(check_state *state, case_view view)
{
    if (!state->checker->large) {
        dllm_message_set(&state->needs, "--large");
        return true;
    }
    for (int i = 0; i < 2; i++) {
        view.large_rows = state->from->large_rows[i];
        if (!fits(state, &view))
            dllm_message_set(&state->needs, "more memory");
        else if (!check_view(state, &view))
            return false;
    }
    return true;
}

static bool check_typed(check_state *state, dllm_type type)
{
    static const int64_t depths[] = {1, 8, 10, 13}; /* 13 and pads of 3 keep 16 bytes */
    const row_case *from = state->from;
    state->ability = ability_of(state->checker, state->family, state->is_head, type);
    /* a family whose library is missing fails if it was asked for by name, else it is passed over
     */
    if (!state->ability->is_usable || (state->ability->is_missing && !state->checker->family)) {
        if (!state->needs.text[0]) dllm_message_set(&state->needs, "%s", element_name(type));
        return true;
    }
    const char *missing = check_missing_transform(from, state->ability);
    if (missing) {
        if (!state->needs.text[0]) dllm_message_set(&state->needs, "%s", missing);
        return true;
    }
    /* a made-up head in four depths, a given one as it is and with padded rows */
    const size_t forms = !state->is_head || from->is_large ? 1 : from->weight ? 2 : 4;
    const int64_t merges = state->merges;
    for (int id_type = DLLM_INT32; id_type <= (int)DLLM_INT64; id_type++)
        for (size_t d = 0; d < forms; d++) {
            case_view view = {.is_head = state->is_head,
                              .type = type,
                              .id_type = (dllm_id_type)id_type,
                              .depth = depths[d],
                              .padded = from->weight && d == 1,
                              .count = from->row_count,
                              .shard = -1};
            if (from->is_large) return check_large(state, view); /* once is enough */
            const bool joint = !state->is_head || case_head_is_joint(from);
            if (joint && !check_view(state, &view)) return false;
            if (!check_single_rows(state, view)) return false;
        }
    return from->shard_count == 0 || !state->ability->merged || state->merges > merges ||
           DLLM_REFUSE(state->why, "no shards ran (%s, %s): %s", state->family->name,
                       element_name(type), state->needs.text);
}

static bool check_operation(check_state *state, unsigned operation)
{
    const row_checker *checker = state->checker;
    const bool on_cpu = checker->memory.device == DLLM_DEVICE_CPU;
    /* a family's name says nothing about an operation that has no family of that name */
    const bool named = checker->family && check_family_exists(checker->family, on_cpu, operation);
    state->is_head = operation == CHECK_HEAD;
    for (state->family = check_families(); state->family->name; state->family++) {
        if (state->family->on_cpu != on_cpu || !(state->family->operations & operation) ||
            (named && strcmp(checker->family, state->family->name) != 0))
            continue;
        for (int type = DLLM_BF16; type <= (int)DLLM_FP32; type++) {
            /* a head of its own is exact in every type */
            const bool exact =
                state->from->types & 1u << type || (state->is_head && state->from->weight);
            if (exact && !check_typed(state, (dllm_type)type)) return false;
        }
    }
    return true;
}

check_verdict row_checker_run(row_checker *checker, const row_case *from, dllm_message *why)
{
    static const unsigned operations[] = {CHECK_HEAD, CHECK_SAMPLER};
    check_state state = {.checker = checker, .from = from, .why = why};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (checker->operations & operations[i] && !check_operation(&state, operations[i]))
            return CHECK_FAIL;
    if (state.runs) return CHECK_PASS;
    dllm_message_set(why, "%s",
                     state.needs.text[0] ? state.needs.text : "a family that can take it");
    return CHECK_SKIP;
}
