/* row_run.c - one head or sampler call on a device, with everything around it watched */
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
    guarded_block *output[ROW_OUTPUTS];
    void *converted[2]; /* row_index and target in the type asked for */
    dllm_head_buffers head;
    dllm_sampler_buffers sampler;
} session;

/* Leaves the reason in the result, and is false. */
#define REFUSE(run, ...) DLLM_REFUSE(&(run)->result->message, __VA_ARGS__)

/* ---- prepare ---- */

static uint32_t input_bits(const row_problem *problem)
{
    uint32_t bits = 0;
    if (problem->row_index) bits |= DLLM_IN_ROW_INDEX;
    if (problem->rows_device) bits |= DLLM_IN_ROWS_DEVICE;
    if (problem->target) bits |= DLLM_IN_TARGET;
    if (problem->temperature) bits |= DLLM_IN_TEMPERATURE;
    if (problem->bias) bits |= DLLM_IN_BIAS;
    if (problem->suppress) bits |= DLLM_IN_SUPPRESS;
    if (problem->row_key) bits |= DLLM_IN_ROW_KEY;
    if (problem->noise) bits |= DLLM_IN_NOISE;
    return bits;
}

/* Head and sampler options have these fields in common. */
#define FILL_OPTIONS(options, problem, prepare_bits)                                               \
    do {                                                                                           \
        (options).vocab = (problem)->vocab;                                                        \
        (options).rows_max = (problem)->rows_max ? (problem)->rows_max : (problem)->rows;          \
        (options).valid_vocab = (problem)->valid_vocab;                                            \
        (options).vocab_offset = (problem)->vocab_offset;                                          \
        (options).id_type = (problem)->id_type;                                                    \
        (options).index_type = (problem)->index_type;                                              \
        (options).outputs = (problem)->outputs;                                                    \
        (options).inputs = input_bits(problem);                                                    \
        (options).behaviour = (problem)->behaviour;                                                \
        (options).prepare = (prepare_bits);                                                        \
        (options).alignment_bytes = (problem)->alignment_bytes;                                    \
        (options).scale = (problem)->scale;                                                        \
        (options).softcap = (problem)->softcap;                                                    \
        (options).round_logits = (problem)->round_logits;                                          \
        (options).suppress_max = (int32_t)(problem)->suppress_count;                               \
        (options).family = (problem)->family;                                                      \
    } while (0)

dllm_status row_prepare(dllm_plan **out, dllm_context *context, const row_problem *problem,
                        uint32_t prepare_bits)
{
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    if (!problem->is_head) {
        FILL_OPTIONS(sampler, problem, prepare_bits);
        sampler.logits_type = problem->hidden_type;
        return dllm_sampler_prepare(out, context, &sampler);
    }
    FILL_OPTIONS(head, problem, prepare_bits);
    head.depth = problem->depth;
    head.hidden_type = problem->hidden_type;
    head.weight_type = problem->weight_type;
    return dllm_head_prepare(out, context, &head);
}

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
    const int64_t rows = p->row_index ? p->source_rows : p->rows;
    const void *hidden = NULL;
    const void *weight = NULL;
    if (p->rows == 0) return true; /* null pointers are accepted */
    if (p->repeated) {
        if (!add_repeated(run, &hidden, matrix_bytes(p->hidden_type, 1, width, 0), alignment))
            return false;
    } else if (!guarded_input(&run->guarded, &hidden, p->hidden,
                              matrix_bytes(p->hidden_type, rows, width, p->hidden_stride),
                              alignment)) {
        return false;
    }
    run->head.hidden = run->sampler.logits = hidden;
    if (!p->is_head) return true;
    const size_t bytes = matrix_bytes(p->weight_type, p->vocab, p->depth, p->weight_stride);
    if (!guarded_input(&run->guarded, &weight, p->weight, bytes, alignment)) return false;
    run->head.weight = weight;
    return true;
}

/* Sets the field of both buffer structs that lies at these places. */
static void set_buffer(session *run, size_t head_place, size_t sampler_place, const void *pointer)
{
    memcpy((char *)&run->head + head_place, &pointer, sizeof pointer);
    memcpy((char *)&run->sampler + sampler_place, &pointer, sizeof pointer);
}

static bool add_further_inputs(session *run)
{
    const row_problem *p = run->problem;
    if (!convert(run, 0, p->index_type, p->row_index) || !convert(run, 1, p->id_type, p->target))
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
        {p->row_key, p->rows, sizeof *p->row_key, PLACES(row_key)},
        {p->seed, 1, sizeof *p->seed, PLACES(seed)},
        {p->noise, p->rows * p->vocab * 2, sizeof *p->noise, PLACES(noise)},
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

static bool add_outputs(session *run)
{
    const row_problem *problem = run->problem;
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        if (!(problem->outputs & 1u << i)) continue;
        const size_t bytes = row_output_bytes(i, problem->id_type);
        if (!guarded_output(&run->guarded, &run->output[i], (size_t)problem->rows * bytes, bytes))
            return false;
        row_output_bind(i, &run->head, &run->sampler, run->output[i]->data);
        run->result->data[i] = malloc((size_t)problem->rows * bytes + 1);
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
    run->head.rows = run->sampler.rows = problem->rows;
    run->head.source_rows = run->sampler.source_rows = problem->source_rows;
    run->head.suppress_count = run->sampler.suppress_count = problem->suppress_count;
    run->head.workspace = run->sampler.workspace = run->workspace->data;
    run->head.workspace_bytes = run->sampler.workspace_bytes = run->workspace->bytes;
    run->head.hidden_stride = run->sampler.logits_stride = problem->hidden_stride;
    run->head.weight_stride = problem->weight_stride;
    return add_outputs(run) && add_matrices(run) && add_further_inputs(run);
}

/* ---- the call and the checks ---- */

int64_t row_problem_written(const row_problem *problem)
{
    if (!problem->rows_device || *problem->rows_device > problem->rows) return problem->rows;
    return *problem->rows_device < 0 ? 0 : *problem->rows_device;
}

static bool launch(session *run, const dllm_head_buffers *head, const dllm_sampler_buffers *sampler)
{
    const dllm_status status = run->problem->is_head ? dllm_head_run(run->plan, head, NULL)
                                                     : dllm_sampler_run(run->plan, sampler, NULL);
    if (status != DLLM_OK)
        return REFUSE(run, "run: %s: %s", dllm_status_text(status), dllm_last_error());
    return device_wait(run->memory, NULL) || REFUSE(run, "run: %s", run->memory->message);
}

static bool poison_outputs(session *run, int byte)
{
    bool filled = device_fill(run->memory, run->workspace->data, byte, run->workspace->bytes);
    for (int i = 0; filled && i < ROW_OUTPUTS; i++)
        if (run->output[i])
            filled = device_fill(run->memory, run->output[i]->data, byte, run->output[i]->bytes);
    return filled || REFUSE(run, "%s", run->memory->message);
}

/* Reads an output of the first run, or compares that of the second with it; behind the rows that are
   written the poison must have stayed. */
static bool collect(session *run, int output, int round)
{
    const guarded_block *from = run->output[output];
    const size_t written =
        (size_t)row_problem_written(run->problem) * row_output_bytes(output, run->problem->id_type);
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
    const dllm_head_buffers no_head = DLLM_HEAD_BUFFERS_INIT;
    const dllm_sampler_buffers no_sampler = DLLM_SAMPLER_BUFFERS_INIT;
    for (int i = 0; i < 2; i++) {
        if (!poison_outputs(run, poison[i]) || !launch(run, &run->head, &run->sampler))
            return false;
        if (!guarded_holds(&run->guarded, run->workspace, "the workspace")) return false;
        for (int output = 0; output < ROW_OUTPUTS; output++)
            if (run->output[output] && !collect(run, output, i)) return false;
    }
    /* no rows: null pointers everywhere are accepted */
    if (run->problem->rows == 0 && !launch(run, &no_head, &no_sampler)) return false;
    return guarded_inputs_unchanged(&run->guarded);
}

static void end(session *run)
{
    guarded_release(&run->guarded);
    free(run->converted[0]);
    free(run->converted[1]);
    dllm_plan_destroy(run->plan);
}

row_outcome row_run(row_result *out, device_memory *memory, dllm_context *context,
                    const row_problem *problem)
{
    session run = {.memory = memory,
                   .problem = problem,
                   .result = out,
                   .guarded = {.device = memory, .message = &out->message},
                   .head = DLLM_HEAD_BUFFERS_INIT,
                   .sampler = DLLM_SAMPLER_BUFFERS_INIT};
    row_outcome outcome = ROW_FAILED;
    *out = (row_result){.id_type = problem->id_type, .plan = DLLM_PLAN_INFORMATION_INIT};
    const dllm_status status = row_prepare(&run.plan, context, problem, 0);
    if (status != DLLM_OK) {
        (void)REFUSE(&run, "prepare: %s: %s", dllm_status_text(status), dllm_last_error());
        return status == DLLM_UNSUPPORTED ? ROW_UNSUPPORTED : ROW_FAILED;
    }
    if (dllm_plan_info(run.plan, &out->plan) != DLLM_OK)
        (void)REFUSE(&run, "plan info: %s", dllm_last_error());
    else if (build(&run) && run_twice(&run))
        outcome = ROW_RAN;
    if (run.guarded.no_memory) outcome = ROW_NO_MEMORY;
    end(&run);
    return outcome;
}

double row_result_value(const row_result *result, int output, int64_t row)
{
    return row_output_value(output, result->id_type, result->data[output], row);
}

void row_result_release(row_result *result)
{
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        free(result->data[i]);
        result->data[i] = NULL;
    }
}
