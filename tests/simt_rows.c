/* simt_rows.c - one head or sampler call by kernels on the host: copies, launches, checks */
#include "simt_rows.h"

#include "element_type.h"
#include "row_params.h"
#include "simt_inputs.h"
#include "simt_sanitizer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { WARP_ROWS = 4, SAMPLER_STEP = 16, SPARE_STATES = 3, POISON = 0xa5 };

/* A copy of an input that ends with its last byte. */
typedef struct input {
    const void *host;
    size_t bytes;
    char *base;
    char *data;
} input;

typedef struct session {
    const row_problem *problem;
    const simt_choice *choice;
    row_result *result;
    input hidden;
    input weight;
    input row_index;
    int64_t hidden_stride;
    int64_t weight_stride;
    int64_t state_stride;
    int32_t valid_vocab;
    int32_t split_columns;
    int32_t splits;
    dllm_row_state *states;
    simt_inputs inputs;
} session;

#define REFUSE(run, ...) DLLM_REFUSE(&(run)->result->message, __VA_ARGS__)

/* ---- variants ---- */

const simt_variant *simt_variant_find(const char *name)
{
    for (int i = 0; i < simt_variant_count; i++)
        if (strcmp(simt_variants[i]->name, name) == 0) return simt_variants[i];
    ck_abort_msg("there is no variant %s", name);
    return NULL;
}

bool simt_variant_is_head(const simt_variant *variant)
{
    return strncmp(variant->kernel, "head", 4) == 0;
}

bool simt_variant_finishes(const simt_variant *variant)
{
    return strcmp(variant->kernel, "sampler_finish") == 0;
}

static bool ends_in_outputs(const simt_variant *variant)
{
    return simt_variant_is_head(variant) || strcmp(variant->kernel, "sampler_stream") == 0 ||
           (simt_variant_finishes(variant) &&
            simt_variant_value(variant, "DLLM_OUTPUTS", 0) != DLLM_STATE_OUTPUT);
}

const simt_variant *simt_variant_of_rows(int number)
{
    for (int i = 0; i < simt_variant_count; i++) {
        const simt_variant *variant = simt_variants[i];
        if (!ends_in_outputs(variant)) continue;
        if (number-- == 0) return variant;
    }
    return NULL;
}

int simt_variant_alignment(const simt_variant *variant)
{
    return simt_variant_value(variant, "DLLM_ALIGN_BYTES", 1);
}

static int64_t stride_of(int64_t stride, int64_t width)
{
    return stride ? stride : width;
}

bool simt_variant_takes(const simt_variant *variant, const row_problem *p)
{
    const bool is_head = simt_variant_is_head(variant);
    const int64_t align = simt_variant_alignment(variant);
    const int hidden =
        simt_variant_value(variant, is_head ? "DLLM_HIDDEN_TYPE" : "DLLM_LOGITS_TYPE", DLLM_BF16);
    if (p->is_head != is_head || (int)p->hidden_type != hidden) return false;
    if (simt_variant_ids(variant, p->id_type) != p->id_type) return false;
    if (!simt_inputs_fit(variant, p)) return false;
    if (!is_head) return true;
    const int64_t hidden_bytes =
        stride_of(p->hidden_stride, p->depth) * (int64_t)element_bytes(p->hidden_type);
    const int64_t weight_bytes =
        stride_of(p->weight_stride, p->depth) * (int64_t)element_bytes(p->weight_type);
    return (int)p->weight_type == simt_variant_value(variant, "DLLM_WEIGHT_TYPE", DLLM_BF16) &&
           hidden_bytes % align == 0 && weight_bytes % align == 0;
}

/* ---- inputs ---- */

/* Eight bytes below the data and more are forbidden, as far as a sanitizer can tell bytes apart. */
static void copy_input(input *out, const void *host, size_t bytes, size_t alignment)
{
    enum { FORBIDDEN = 24 };
    const size_t lead = alignment < 8 ? FORBIDDEN + alignment : alignment == 8 ? FORBIDDEN : 16;
    if (!host) return;
    out->host = host;
    out->bytes = bytes;
    out->base = malloc(lead + bytes);
    ck_assert_ptr_nonnull(out->base);
    out->data = out->base + lead;
    memcpy(out->data, host, bytes);
    SIMT_FORBID(out->base, lead < FORBIDDEN ? lead : (size_t)FORBIDDEN);
}

static size_t matrix_bytes(dllm_type type, int64_t rows, int64_t width, int64_t stride)
{
    return (size_t)((rows - 1) * stride + width) * element_bytes(type);
}

/* Row starts keep what the variant asks, or an element's own alignment if that is more. */
static size_t alignment_of(const simt_variant *variant, dllm_type type)
{
    const size_t wanted = (size_t)simt_variant_alignment(variant);
    return wanted < element_bytes(type) ? element_bytes(type) : wanted;
}

static void copy_index(session *run)
{
    const row_problem *p = run->problem;
    const size_t bytes = p->index_type == DLLM_INT64 ? 8 : 4;
    char *narrow = malloc((size_t)p->rows * bytes);
    ck_assert_ptr_nonnull(narrow);
    for (int64_t r = 0; r < p->rows; r++)
        memcpy(narrow + (size_t)r * bytes, &p->row_index[r], bytes); /* little-endian */
    copy_input(&run->row_index, narrow, (size_t)p->rows * bytes, bytes);
    run->row_index.host = NULL;
    free(narrow);
}

/* The rows as lines of kernel_src/pairs.cuh: 8 of them, then their unconditional ones; NaN for none. */
static void pack_lines(session *run)
{
    enum { GROUP = 8 };
    const row_problem *p = run->problem;
    const size_t bytes = (size_t)run->hidden_stride * element_bytes(p->hidden_type);
    const int64_t lines = (p->rows + GROUP - 1) / GROUP * GROUP * 2;
    char *base = malloc((size_t)lines * bytes);
    ck_assert_ptr_nonnull(base);
    memset(base, 0xff, (size_t)lines * bytes);
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t copy = 0; copy < 2; copy++) {
            const char *row = (const char *)p->hidden + (size_t)(copy * p->rows + r) * bytes;
            const int64_t line = r / GROUP * GROUP * 2 + copy * GROUP + r % GROUP;
            memcpy(base + (size_t)line * bytes, row,
                   (size_t)p->vocab * element_bytes(p->hidden_type));
        }
    free(run->hidden.base);
    run->hidden = (input){.base = base, .data = base};
}

static void copy_inputs(session *run)
{
    const row_problem *p = run->problem;
    const simt_variant *kernel = run->choice->kernel;
    const int64_t width = p->is_head ? p->depth : p->vocab;
    const int64_t rows = row_problem_copies(p) * (p->row_index ? p->source_rows : p->rows);
    run->hidden_stride = stride_of(p->hidden_stride, width);
    run->weight_stride = stride_of(p->weight_stride, p->depth);
    copy_input(&run->hidden, p->hidden,
               matrix_bytes(p->hidden_type, rows, width, run->hidden_stride),
               alignment_of(kernel, p->hidden_type));
    if (p->is_head)
        copy_input(&run->weight, p->weight,
                   matrix_bytes(p->weight_type, p->vocab, p->depth, run->weight_stride),
                   alignment_of(kernel, p->weight_type));
    if (p->row_index) copy_index(run);
    if (run->choice->is_packed) pack_lines(run);
}

static bool is_unchanged(const input *copy)
{
    return !copy->host || memcmp(copy->data, copy->host, copy->bytes) == 0;
}

/* ---- launches ---- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool launch(session *run, const simt_variant *variant, const void *params, int64_t blocks)
{
    const char *wrong =
        simt_run(variant->body, params, (unsigned)blocks, variant->threads, run->choice->order);
    return !wrong || REFUSE(run, "%s: %s", variant->name, wrong);
}

static int64_t splits_most(const simt_variant *variant)
{
    if (!simt_variant_finishes(variant)) return INT64_MAX;
    return simt_variant_value(variant, "DLLM_CLUSTERED", 0) ? SIMT_CLUSTER_MAX : 1;
}

/* Of all columns, or of each chunk: then the last chunk's last splits may have no columns. */
static void split_vocab(session *run)
{
    const simt_variant *kernel = run->choice->kernel;
    const int64_t lanes = simt_variant_is_head(kernel) ? SIMT_LANES : SAMPLER_STEP;
    const int64_t step = simt_variant_value(kernel, "DLLM_TILE_VOCAB", (int)lanes);
    const int64_t wanted = run->choice->splits ? run->choice->splits : 1;
    const int64_t most = splits_most(kernel);
    const int64_t splits = wanted < most ? wanted : most;
    const int64_t chunk = run->choice->chunk_columns;
    const int64_t vocab = chunk ? chunk : run->valid_vocab;
    const int64_t columns = ceil_div(ceil_div(vocab, splits), step) * step;
    run->split_columns = (int32_t)columns;
    run->splits = (int32_t)ceil_div(vocab, columns);
}

static bool run_head(session *run)
{
    const row_problem *p = run->problem;
    const simt_variant *kernel = run->choice->kernel;
    /* a tile has its rows' unconditional ones too, a warp has both of a row */
    const int64_t tile_rows =
        simt_variant_value(kernel, "DLLM_TILE_ROWS", WARP_ROWS * row_problem_copies(p)) /
        row_problem_copies(p);
    const dllm_head_params params = {.hidden = run->hidden.data,
                                     .weight = run->weight.data,
                                     .row_index = run->row_index.data,
                                     .rows_device = p->rows_device,
                                     .states = run->states,
                                     .hidden_stride = run->hidden_stride,
                                     .weight_stride = run->weight_stride,
                                     .rows = p->rows,
                                     .source_rows = p->row_index ? p->source_rows : p->rows,
                                     .state_stride = run->state_stride,
                                     .row_index_is_64 = p->index_type == DLLM_INT64,
                                     .valid_vocab = run->valid_vocab,
                                     .depth = (int32_t)p->depth,
                                     .split_columns = run->split_columns,
                                     .further = run->inputs.device,
                                     .guidance = run->inputs.guidance};
    return launch(run, kernel, &params, run->splits * ceil_div(p->rows, tile_rows));
}

/* A block of columns, all rows at once or chunk by chunk. */
static bool run_sampler_rows(session *run, dllm_sampler_params params)
{
    const row_problem *p = run->problem;
    const int64_t chunk = run->choice->chunk_rows ? run->choice->chunk_rows : p->rows;
    for (int64_t begin = 0; begin < p->rows; begin += chunk) {
        const int64_t rest = p->rows - begin;
        params.logits =
            run->hidden.data + (size_t)(begin * run->hidden_stride + params.column_begin) *
                                   element_bytes(p->hidden_type);
        params.row_begin = begin;
        params.row_limit = (int32_t)(rest < chunk ? rest : chunk);
        if (!launch(run, run->choice->kernel, &params, (int64_t)run->splits * params.row_limit))
            return false;
    }
    return true;
}

static dllm_sampler_params sampler_params(const session *run)
{
    const row_problem *p = run->problem;
    return (dllm_sampler_params){.row_index = run->row_index.data,
                                 .rows_device = p->rows_device,
                                 .states = run->states,
                                 .logits_stride = run->hidden_stride,
                                 .rows = p->rows,
                                 .source_rows = p->row_index ? p->source_rows : p->rows,
                                 .state_stride = run->state_stride,
                                 .row_index_is_64 = p->index_type == DLLM_INT64,
                                 .split_columns = run->split_columns,
                                 .further = run->inputs.device,
                                 .guidance = run->inputs.guidance};
}

/* All columns at once, or chunk by chunk, each merged with the states of those before it. */
static bool run_sampler(session *run)
{
    const int64_t chunk =
        run->choice->chunk_columns ? run->choice->chunk_columns : run->valid_vocab;
    dllm_sampler_params params = sampler_params(run);
    for (int64_t begin = 0; begin < run->valid_vocab; begin += chunk) {
        const int64_t rest = run->valid_vocab - begin;
        params.column_begin = (int32_t)begin;
        params.columns = (int32_t)(rest < chunk ? rest : chunk);
        params.continues = begin > 0;
        if (!run_sampler_rows(run, params)) return false;
    }
    return true;
}

/* Elements of a row of an output. */
static int64_t row_elements(const row_problem *p, int output)
{
    return output < ROW_OUTPUTS ? 1 : p->candidates;
}

static void make_outputs(session *run)
{
    const row_problem *p = run->problem;
    const uint32_t left_out = run->choice->plain ? DLLM_PLAIN_OUTPUTS & ~run->choice->plain : 0;
    const uint32_t outputs = simt_outputs(run->choice->kernel) & ~left_out;
    for (int i = 0; i <= ROW_CANDIDATE_IDS; i++) {
        const size_t bytes =
            (size_t)(p->rows * row_elements(p, i)) * row_output_bytes(i, p->id_type);
        if (!(outputs & row_output_bit(i))) continue;
        run->result->data[i] = malloc(bytes);
        ck_assert_ptr_nonnull(run->result->data[i]);
        memset(run->result->data[i], POISON, bytes);
    }
}

static dllm_combine_params combine_params(const session *run)
{
    const row_problem *p = run->problem;
    void *const *data = run->result->data;
    return (dllm_combine_params){.states = run->states,
                                 .row_index = run->row_index.data,
                                 .rows_device = p->rows_device,
                                 .argmax = data[ROW_ARGMAX],
                                 .max = data[ROW_MAX],
                                 .lse = data[ROW_LSE],
                                 .confidence = data[ROW_CONFIDENCE],
                                 .flags = data[ROW_FLAGS],
                                 .rows = p->rows,
                                 .source_rows = p->row_index ? p->source_rows : p->rows,
                                 .state_stride = run->state_stride,
                                 .vocab_offset = p->vocab_offset,
                                 .row_index_is_64 = p->index_type == DLLM_INT64,
                                 .splits = run->splits,
                                 .further = {.inputs = run->inputs.device,
                                             .entropy = data[ROW_ENTROPY],
                                             .second = data[ROW_SECOND],
                                             .second_id = data[ROW_SECOND_ID],
                                             .margin = data[ROW_MARGIN],
                                             .target_logprob = data[ROW_TARGET_LOGPROB],
                                             .gumbel_id = data[ROW_GUMBEL_ID],
                                             .gumbel_logprob = data[ROW_GUMBEL_LOGPROB],
                                             .candidate_values = data[ROW_CANDIDATE_VALUES],
                                             .candidate_ids = data[ROW_CANDIDATE_IDS],
                                             .state = run->choice->states,
                                             .state_bytes = run->choice->state_bytes},
                                 .guidance = run->inputs.guidance};
}

static bool run_combine(session *run)
{
    const row_problem *p = run->problem;
    make_outputs(run);
    const dllm_combine_params params = combine_params(run);
    const simt_variant *combine =
        simt_combine_of(run->choice->kernel, p->id_type, run->choice->states != NULL);
    const int block_rows = DLLM_COMBINE_ROWS(simt_variant_value(combine, "DLLM_STATISTICS", 0));
    return launch(run, combine, &params, ceil_div(p->rows, block_rows));
}

/* The sampler and what it leaves to combine elsewhere, in one launch that touches no state. */
static bool run_finishing(session *run)
{
    make_outputs(run);
    dllm_sampler_params params = sampler_params(run);
    dllm_combine_params to = combine_params(run);
    params.logits = run->hidden.data;
    params.row_limit = (int32_t)run->problem->rows;
    params.columns = run->valid_vocab;
    params.states = NULL;
    to.states = NULL;
    const void *const arguments[] = {&params, &to};
    const simt_clusters grid = {.variant = run->choice->kernel,
                                .params = arguments,
                                .blocks = (unsigned)(run->problem->rows * run->splits),
                                .cluster = (unsigned)run->splits,
                                .order = run->choice->order};
    const char *wrong = simt_run_clusters(&grid);
    return !wrong || REFUSE(run, "%s: %s", run->choice->kernel->name, wrong);
}

/* A kernel writes states of existing rows and nothing else. */
static bool spare_states_hold(session *run, const void *states, size_t state_bytes)
{
    const int64_t written = row_problem_written(run->problem);
    const size_t spare_bytes = (size_t)(run->state_stride - written) * state_bytes;
    for (int32_t split = 0; split < run->splits; split++) {
        const unsigned char *spare = (const unsigned char *)states +
                                     (size_t)(split * run->state_stride + written) * state_bytes;
        for (size_t i = 0; i < spare_bytes; i++)
            if (spare[i] != POISON) return REFUSE(run, "split %d: states beyond the rows", split);
    }
    return true;
}

/* As states, so outputs. */
static bool spare_outputs_hold(session *run)
{
    const row_problem *p = run->problem;
    for (int i = 0; i <= ROW_CANDIDATE_IDS; i++) {
        const size_t bytes = (size_t)row_elements(p, i) * row_output_bytes(i, p->id_type);
        const unsigned char *data = run->result->data[i];
        for (size_t at = (size_t)row_problem_written(p) * bytes;
             data && at < (size_t)p->rows * bytes; at++)
            if (data[at] != POISON) return REFUSE(run, "%s beyond the rows", row_output_name(i));
    }
    return true;
}

static void *poisoned_states(const session *run, size_t state_bytes)
{
    const size_t bytes = (size_t)(run->splits * run->state_stride) * state_bytes;
    void *made = aligned_alloc(16, (bytes + 15) / 16 * 16 + 16);
    ck_assert_ptr_nonnull(made);
    return memset(made, POISON, bytes);
}

/* States, then outputs. */
static bool run_in_two(session *run)
{
    return (run->problem->is_head ? run_head(run) : run_sampler(run)) &&
           spare_states_hold(run, run->states, sizeof *run->states) &&
           spare_states_hold(run, run->inputs.device.extras, sizeof(dllm_row_extra)) &&
           run_combine(run);
}

row_outcome simt_row_run(row_result *out, const row_problem *problem, const simt_choice *choice)
{
    session run = {.problem = problem, .choice = choice, .result = out};
    *out = (row_result){.id_type = problem->id_type, .candidates = problem->candidates};
    (void)strncpy(out->plan.family, choice->kernel->kernel, sizeof out->plan.family - 1);
    run.valid_vocab = (int32_t)stride_of(problem->valid_vocab, problem->vocab);
    run.state_stride = problem->rows + SPARE_STATES;
    copy_inputs(&run);
    split_vocab(&run);
    run.states = poisoned_states(&run, sizeof *run.states);
    simt_inputs_make(&run.inputs, choice->kernel, problem, run.row_index.data);
    run.inputs.guidance.is_packed = choice->is_packed;
    run.inputs.device.extras = poisoned_states(&run, sizeof *run.inputs.device.extras);
    const dllm_row_inputs *device = &run.inputs.device;
    const size_t list_bytes = (size_t)device->list_stride * sizeof(dllm_candidate);
    run.inputs.device.lists = poisoned_states(&run, (size_t)device->sharers * list_bytes);
    const bool ran = simt_variant_finishes(choice->kernel) ? run_finishing(&run) : run_in_two(&run);
    const bool held = is_unchanged(&run.hidden) && is_unchanged(&run.weight);
    if (ran && !held) (void)REFUSE(&run, "an input was changed");
    free(run.states);
    free(run.inputs.device.extras);
    free(run.inputs.device.lists);
    simt_inputs_release(&run.inputs);
    free(run.hidden.base);
    free(run.weight.base);
    free(run.row_index.base);
    return ran && held && spare_outputs_hold(&run) ? ROW_RAN : ROW_FAILED;
}
