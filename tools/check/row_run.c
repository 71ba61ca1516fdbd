/* row_run.c - one head, sampler or merge call on a device, with everything around it watched */
#include "row_run.h"

#include "element_type.h"
#include "guarded_memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ALIGNMENT = 16 };

/* Neither pattern is NaN or a possible index, so neither passes for a result. */
static const int poison[2] = {0xa5, 0x5a};

#define PLACES(field) offsetof(dllm_head_buffers, field), offsetof(dllm_sampler_buffers, field)

/* All that one call holds. */
typedef struct session {
    device_memory *memory;
    const row_problem *problem;
    row_result *result;
    dllm_plan *plan;
    guarded_memory guarded;
    guarded_block *workspace;
    guarded_block *output[ROW_BUFFERS];
    void *converted[3]; /* row_index, target and penalty_id in the type asked for */
    row_buffers buffers;
} session;

/* Leaves the reason in the result, and is false. */
#define REFUSE(run, ...) DLLM_REFUSE(&(run)->result->message, __VA_ARGS__)

/* ---- memory ---- */

/* Elements of a matrix whose last row ends with its last element. */
static size_t matrix_bytes(dllm_type type, int64_t rows, int64_t width, int64_t stride)
{
    if (rows == 0) return 0;
    return (size_t)((rows - 1) * (stride ? stride : width) + width) * element_bytes(type);
}

/* Hidden states that would not fit into host memory: all rows but the last are alike. */
static bool add_repeated(session *run, const void **out, size_t row_bytes, size_t alignment)
{
    const row_problem *problem = run->problem;
    const char *first = problem->hidden;
    const guarded_block *added =
        guarded_reserve(&run->guarded, (size_t)problem->rows * row_bytes, alignment);
    if (!added) return false;
    *out = added->data;
    for (int64_t r = 0; r < problem->rows; r++)
        if (!device_write(run->memory, added->data + (size_t)r * row_bytes,
                          r + 1 < problem->rows ? first : first + row_bytes, row_bytes))
            return REFUSE(run, "%s", run->memory->message);
    return true;
}

/* ids or indices in the type asked for, kept in a slot until the session ends; NULL stays NULL. */
static bool convert(session *run, int slot, dllm_id_type type, const int64_t *ids)
{
    const size_t bytes = row_id_bytes(type);
    if (!ids) return true;
    char *made = malloc((size_t)run->problem->rows * bytes + 1);
    run->converted[slot] = made;
    if (!made) return REFUSE(run, "out of memory");
    for (int64_t i = 0; i < run->problem->rows; i++) {
        const int32_t narrow = (int32_t)ids[i];
        const void *id = type == DLLM_INT64 ? (const void *)&ids[i] : (const void *)&narrow;
        memcpy(made + (size_t)i * bytes, id, bytes);
    }
    return true;
}

static bool add_matrices(session *run)
{
    const row_problem *p = run->problem;
    const size_t alignment = (size_t)(p->alignment_bytes ? p->alignment_bytes : DEFAULT_ALIGNMENT);
    const int64_t width = p->is_head ? p->depth : p->vocab;
    const int64_t rows = row_problem_copies(p) * (p->row_index ? p->source_rows : p->rows);
    const void *hidden = NULL;
    const void *weight = NULL;
    if (p->rows == 0 || p->states) return true; /* null pointers are accepted */
    if (p->repeated) {
        if (!add_repeated(run, &hidden, matrix_bytes(p->hidden_type, 1, width, 0), alignment))
            return false;
    } else if (!guarded_input(&run->guarded, &hidden, p->hidden,
                              matrix_bytes(p->hidden_type, rows, width, p->hidden_stride),
                              alignment)) {
        return false;
    }
    run->buffers.head.hidden = run->buffers.sampler.logits = hidden;
    if (!p->is_head) return true;
    const size_t bytes = matrix_bytes(p->weight_type, p->vocab, p->depth, p->weight_stride);
    if (!guarded_input(&run->guarded, &weight, p->weight, bytes, alignment)) return false;
    run->buffers.head.weight = weight;
    return true;
}

/* Sets the field of both buffer structs that lies at these places. */
static void set_buffer(session *run, size_t head_place, size_t sampler_place, const void *pointer)
{
    memcpy((char *)&run->buffers.head + head_place, &pointer, sizeof pointer);
    memcpy((char *)&run->buffers.sampler + sampler_place, &pointer, sizeof pointer);
}

static bool add_further_inputs(session *run)
{
    const row_problem *p = run->problem;
    const bool drawn = p->outputs & (DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB);
    if (!convert(run, 0, p->index_type, p->row_index) || !convert(run, 1, p->id_type, p->target) ||
        !convert(run, 2, p->id_type, p->penalty_id))
        return false;
    const struct {
        const void *host;
        int64_t count;
        size_t element_bytes;
        size_t head_place;
        size_t sampler_place;
    } inputs[] = {
        {run->converted[0], p->rows, row_id_bytes(p->index_type), PLACES(row_index)},
        {run->converted[1], p->rows, row_id_bytes(p->id_type), PLACES(target)},
        {p->rows_device, 1, sizeof *p->rows_device, PLACES(rows_device)},
        {p->temperature, p->rows, sizeof *p->temperature, PLACES(temperature)},
        {p->bias, p->vocab, sizeof *p->bias, PLACES(bias)},
        {p->suppress, p->suppress_count, sizeof *p->suppress, PLACES(suppress)},
        {run->converted[2], p->rows, row_id_bytes(p->id_type), PLACES(penalty_id)},
        {p->penalty, p->rows, sizeof *p->penalty, PLACES(penalty)},
        {p->row_key, p->rows, sizeof *p->row_key, PLACES(row_key)},
        {drawn ? p->seed : NULL, 1, sizeof *p->seed, PLACES(seed)},
        {drawn ? p->draw : NULL, 1, sizeof *p->draw, PLACES(draw)},
        {p->noise, p->rows * p->vocab * 2, sizeof *p->noise, PLACES(noise)},
        {p->cfg_scale, p->rows, sizeof *p->cfg_scale, PLACES(cfg_scale)},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const void *device = NULL;
        if (!guarded_input(&run->guarded, &device, inputs[i].host,
                           (size_t)inputs[i].count * inputs[i].element_bytes,
                           inputs[i].element_bytes))
            return false; /* NOLINT(clang-analyzer-unix.Malloc): end() frees what was converted */
        set_buffer(run, inputs[i].head_place, inputs[i].sampler_place, device);
    }
    return true;
}

/* What a merge reads. */
static bool add_states(session *run)
{
    const row_problem *p = run->problem;
    const void *states = NULL;
    const size_t bytes = (size_t)(p->shards * p->rows) * dllm_plan_state_bytes(run->plan);
    if (!guarded_input(&run->guarded, &states, p->states, bytes, sizeof(int64_t))) return false;
    run->buffers.merge.rows = p->rows;
    run->buffers.merge.shards = p->shards;
    run->buffers.merge.states = states;
    run->buffers.merge.temperature = run->buffers.head.temperature;
    return true;
}

/* Bytes of a row in an output's buffer. */
static size_t row_bytes(const session *run, int output)
{
    const size_t element = row_output_bytes(output, run->problem->id_type);
    if (output == ROW_STATE) return dllm_plan_state_bytes(run->plan);
    return output < ROW_OUTPUTS ? element : element * (size_t)run->problem->candidates;
}

static bool is_written(const row_problem *problem, int output)
{
    if (problem->behaviour & DLLM_PARTIAL_STATE) return output == ROW_STATE;
    return problem->outputs & row_output_bit(output);
}

static bool add_outputs(session *run)
{
    const row_problem *problem = run->problem;
    for (int i = 0; i < ROW_BUFFERS; i++) {
        if (!is_written(problem, i)) continue;
        const size_t bytes = (size_t)problem->rows * row_bytes(run, i);
        if (!guarded_output(&run->guarded, &run->output[i], bytes,
                            row_output_bytes(i, problem->id_type)))
            return false;
        row_output_bind(i, &run->buffers, run->output[i]->data);
        run->result->data[i] = malloc(bytes + 1);
        if (!run->result->data[i]) return REFUSE(run, "out of memory");
    }
    return true;
}

static bool build(session *run)
{
    const row_problem *problem = run->problem;
    run->result->workspace_bytes = dllm_plan_workspace_bytes(run->plan);
    /* a workspace may lie at any address */
    if (!guarded_output(&run->guarded, &run->workspace, run->result->workspace_bytes, 1))
        return false;
    run->buffers.head.rows = run->buffers.sampler.rows = problem->rows;
    run->buffers.head.source_rows = run->buffers.sampler.source_rows = problem->source_rows;
    run->buffers.head.suppress_count = run->buffers.sampler.suppress_count =
        problem->suppress_count;
    run->buffers.head.workspace = run->buffers.sampler.workspace = run->workspace->data;
    run->buffers.head.workspace_bytes = run->buffers.sampler.workspace_bytes =
        run->workspace->bytes;
    run->buffers.head.hidden_stride = run->buffers.sampler.logits_stride = problem->hidden_stride;
    run->buffers.head.weight_stride = problem->weight_stride;
    return add_outputs(run) && add_matrices(run) && add_further_inputs(run) &&
           (!problem->states || add_states(run));
}

/* ---- the call and the checks ---- */

int row_problem_copies(const row_problem *problem)
{
    return problem->cfg_scale || problem->plan_cfg_scale > 0 ? 2 : 1;
}

int64_t row_problem_written(const row_problem *problem)
{
    if (!problem->rows_device || *problem->rows_device > problem->rows) return problem->rows;
    return *problem->rows_device < 0 ? 0 : *problem->rows_device;
}

static dllm_status call(const session *run, const row_buffers *buffers)
{
    if (run->problem->states) return dllm_merge_run(run->plan, &buffers->merge, NULL);
    if (run->problem->is_head) return dllm_head_run(run->plan, &buffers->head, NULL);
    return dllm_sampler_run(run->plan, &buffers->sampler, NULL);
}

static bool launch(session *run, const row_buffers *buffers)
{
    const dllm_status status = call(run, buffers);
    if (status != DLLM_OK)
        return REFUSE(run, "run: %s: %s", dllm_status_text(status), dllm_last_error());
    return device_wait(run->memory, NULL) || REFUSE(run, "run: %s", run->memory->message);
}

static bool poison_outputs(session *run, int byte)
{
    bool filled = device_fill(run->memory, run->workspace->data, byte, run->workspace->bytes);
    for (int i = 0; filled && i < ROW_BUFFERS; i++)
        if (run->output[i])
            filled = device_fill(run->memory, run->output[i]->data, byte, run->output[i]->bytes);
    return filled || REFUSE(run, "%s", run->memory->message);
}

/* Reads an output of the first run, or compares that of the second with it; behind the rows that are
   written the poison must have stayed. */
static bool collect(session *run, int output, int round)
{
    const guarded_block *from = run->output[output];
    const size_t written = (size_t)row_problem_written(run->problem) * row_bytes(run, output);
    bool equal = true;
    if (!guarded_holds(&run->guarded, from, row_output_name(output))) return false;
    char *bytes = malloc(from->bytes + 1);
    if (!bytes || !device_read(run->memory, bytes, from->data, from->bytes))
        equal = REFUSE(run, "%s", bytes ? run->memory->message : "out of memory");
    for (size_t i = written; equal && i < from->bytes; i++)
        if ((unsigned char)bytes[i] != poison[round])
            equal = REFUSE(run, "%s is written beyond the rows", row_output_name(output));
    if (equal && round == 0)
        memcpy(run->result->data[output], bytes, from->bytes);
    else if (equal && memcmp(bytes, run->result->data[output], written) != 0)
        equal = REFUSE(run, "%s differs between two runs: not written, or not reproducible",
                       row_output_name(output));
    free(bytes);
    return equal;
}

static bool run_twice(session *run)
{
    const row_buffers none = ROW_BUFFERS_INIT;
    for (int i = 0; i < 2; i++) {
        if (!poison_outputs(run, poison[i]) || !launch(run, &run->buffers)) return false;
        if (!guarded_holds(&run->guarded, run->workspace, "the workspace")) return false;
        for (int output = 0; output < ROW_BUFFERS; output++)
            if (run->output[output] && !collect(run, output, i)) return false;
    }
    /* no rows: null pointers everywhere are accepted */
    if (run->problem->rows == 0 && !launch(run, &none)) return false;
    return guarded_inputs_unchanged(&run->guarded);
}

static void end(session *run)
{
    guarded_release(&run->guarded);
    for (size_t i = 0; i < sizeof run->converted / sizeof run->converted[0]; i++)
        free(run->converted[i]);
    dllm_plan_destroy(run->plan);
}

row_outcome row_run(row_result *out, device_memory *memory, dllm_context *context,
                    const row_problem *problem)
{
    session run = {.memory = memory,
                   .problem = problem,
                   .result = out,
                   .guarded = {.device = memory, .message = &out->message},
                   .buffers = ROW_BUFFERS_INIT};
    row_outcome outcome = ROW_FAILED;
    *out = (row_result){.id_type = problem->id_type,
                        .candidates = problem->candidates,
                        .plan = DLLM_PLAN_INFORMATION_INIT};
    const dllm_status status = row_prepare(&run.plan, context, problem, 0);
    if (status != DLLM_OK) {
        (void)REFUSE(&run, "prepare: %s: %s", dllm_status_text(status), dllm_last_error());
        return status == DLLM_UNSUPPORTED ? ROW_UNSUPPORTED : ROW_FAILED;
    }
    out->state_bytes = dllm_plan_state_bytes(run.plan);
    if (dllm_plan_info(run.plan, &out->plan) != DLLM_OK)
        (void)REFUSE(&run, "plan info: %s", dllm_last_error());
    else if (build(&run) && run_twice(&run))
        outcome = ROW_RAN;
    if (run.guarded.no_memory) outcome = ROW_NO_MEMORY;
    end(&run);
    return outcome;
}
