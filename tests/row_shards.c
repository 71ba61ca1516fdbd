/* row_shards.c - a row problem cut into vocabulary shards, run shard by shard and merged */
#include "row_shards.h"

#include "element_type.h"
#include "row_answer.h"
#include "row_driver.h"

#include <stdlib.h>
#include <string.h>

typedef struct shard_run {
    device_memory *memory;
    dllm_context *context;
    const row_data *data;
    int count;
    char *states; /* [count][rows] of row_bytes */
    size_t row_bytes;
    row_result whole;
    dllm_message *why;
} shard_run;

/* Where shard `i` begins: sizes grow like 1, 2, 3, ... */
static int64_t begin_of(const shard_run *run, int64_t i)
{
    const int64_t parts = (int64_t)run->count * (run->count + 1) / 2;
    const int64_t begin = run->data->problem.vocab * (i * (i + 1) / 2) / parts;
    return begin > i ? begin : i; /* one column at least */
}

static row_problem shard_of(const shard_run *run, int64_t i)
{
    row_problem p = run->data->problem;
    const int64_t begin = begin_of(run, i);
    p.vocab = begin_of(run, i + 1) - begin;
    if (i + 1 == run->count) p.vocab = run->data->problem.vocab - begin;
    p.vocab_offset += begin;
    p.behaviour |= DLLM_PARTIAL_STATE;
    if (p.bias) p.bias += begin;
    if (p.is_head) {
        p.weight = (const char *)p.weight +
                   (size_t)(begin * p.weight_stride) * element_bytes(p.weight_type);
        return p;
    }
    p.hidden = (const char *)p.hidden + (size_t)begin * element_bytes(p.hidden_type);
    p.alignment_bytes = (int32_t)element_bytes(p.hidden_type);
    return p;
}

static row_outcome export_shard(shard_run *run, int64_t i)
{
    const row_problem problem = shard_of(run, i);
    const size_t rows = (size_t)problem.rows;
    row_result result;
    const row_outcome outcome = row_run(&result, run->memory, run->context, &problem);
    if (!run->states && outcome == ROW_RAN) {
        run->row_bytes = result.state_bytes;
        run->states = malloc((size_t)run->count * rows * run->row_bytes);
    }
    if (outcome == ROW_RAN && run->states)
        memcpy(run->states + (size_t)i * rows * run->row_bytes, result.data[ROW_STATE],
               rows * run->row_bytes);
    else
        *run->why = result.message;
    row_result_release(&result);
    return outcome;
}

/* Values that follow from equal logits exactly. */
static bool same_choice(const shard_run *run, const row_result *merged, int64_t row,
                        dllm_message *why)
{
    static const int exact[] = {ROW_ARGMAX,    ROW_MAX,       ROW_SECOND,
                                ROW_SECOND_ID, ROW_GUMBEL_ID, ROW_FLAGS};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        if (!merged->data[exact[i]]) continue;
        const double whole = row_result_value(&run->whole, exact[i], row);
        if (!value_matches(row_result_value(merged, exact[i], row), whole, 0))
            return DLLM_REFUSE(why, "row %lld of %d shards: %s is not %.9g", (long long)row,
                               run->count, row_output_name(exact[i]), whole);
    }
    return true;
}

static row_outcome merge(shard_run *run)
{
    const row_problem *p = &run->data->problem;
    const row_problem problem = {.rows = p->rows,
                                 .vocab = p->vocab_offset + p->vocab,
                                 .id_type = p->id_type,
                                 .outputs = p->outputs,
                                 .behaviour = p->behaviour & (uint32_t)DLLM_TEMPERED,
                                 .plan_temperature = p->plan_temperature,
                                 .temperature = p->temperature,
                                 .candidates = p->outputs & DLLM_OUT_CANDIDATES ? p->candidates : 0,
                                 .states = run->states,
                                 .shards = run->count};
    row_result merged;
    row_outcome outcome = row_run(&merged, run->memory, run->context, &problem);
    if (outcome != ROW_RAN) *run->why = merged.message;
    /* the tolerance of a family's products is that of the family which made them */
    merged.plan = run->whole.plan;
    if (outcome == ROW_RAN && !row_data_compare(run->data, &merged, run->why)) outcome = ROW_FAILED;
    for (int64_t r = 0; outcome == ROW_RAN && r < p->rows; r++)
        if (!same_choice(run, &merged, r, run->why)) outcome = ROW_FAILED;
    row_result_release(&merged);
    return outcome;
}

row_outcome row_shards_check(device_memory *memory, dllm_context *context, const row_data *data,
                             int count, dllm_message *why)
{
    shard_run run = {
        .memory = memory, .context = context, .data = data, .count = count, .why = why};
    row_outcome outcome = row_run(&run.whole, memory, context, &data->problem);
    if (outcome != ROW_RAN) *why = run.whole.message;
    for (int64_t i = 0; outcome == ROW_RAN && i < count; i++)
        outcome = export_shard(&run, i);
    if (outcome == ROW_RAN && !run.states) outcome = ROW_NO_MEMORY;
    if (outcome == ROW_RAN) outcome = merge(&run);
    free(run.states);
    row_result_release(&run.whole);
    return outcome;
}
