/*
 * decode_filtering.c - the kind `filter` of a decode case: candidates from the sampler, then a filter
 *
 * The row's logits go to the sampler on the checker's device, in fp32; its list of candidates and its
 * confidence at the temperature are what the filter gets.
 */
#include "decode_filtering.h"

#include "decode_fields.h"
#include "decode_shape.h"

#include <math.h>
#include <stdlib.h>

/* What the sampler says of the row. */
typedef struct best {
    int count;
    float confidence;
    float values[FIELD_LIST_MAX];
    int32_t ids[FIELD_LIST_MAX];
} best;

/* What a run reads and writes; the workspace follows. */
typedef struct device_block {
    float logits[FIELD_LIST_MAX];
    float values[FIELD_LIST_MAX];
    int32_t ids[FIELD_LIST_MAX];
    float confidence[FIELD_LIST_MAX];
} device_block;

static bool prepare(dllm_plan **out, const decode_checker *checker, int count, float temperature,
                    dllm_message *why)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    options.vocab = options.candidates = count;
    options.rows_max = 1;
    options.logits_type = DLLM_FP32;
    options.outputs = DLLM_OUT_CANDIDATES | DLLM_OUT_CONFIDENCE;
    options.behaviour = temperature > 0 ? DLLM_TEMPERED : 0;
    options.temperature = temperature;
    options.prepare = DLLM_PREPARE_NO_DISK;
    return dllm_sampler_prepare(out, checker->context, &options) == DLLM_OK ||
           DLLM_REFUSE(why, "%s", dllm_last_error());
}

static bool sample(best *out, decode_checker *checker, const dllm_plan *plan, const float *logits,
                   dllm_message *why)
{
    device_memory *memory = &checker->memory;
    const size_t workspace_bytes = dllm_plan_workspace_bytes(plan);
    device_block *block = device_allocate(memory, sizeof *block + workspace_bytes);
    if (!block) return DLLM_REFUSE(why, "%s", memory->message);
    dllm_sampler_buffers buffers = DLLM_SAMPLER_BUFFERS_INIT;
    buffers.rows = 1;
    buffers.logits = block->logits;
    buffers.candidate_values = block->values;
    buffers.candidate_ids = block->ids;
    buffers.confidence = block->confidence;
    buffers.workspace = block + 1;
    buffers.workspace_bytes = workspace_bytes;
    const size_t bytes = (size_t)out->count * 4;
    bool done = device_write(memory, block, logits, bytes);
    const bool ran = done && dllm_sampler_run(plan, &buffers, NULL) == DLLM_OK;
    if (done && !ran) dllm_message_set(why, "%s", dllm_last_error());
    if (!done) dllm_message_set(why, "%s", memory->message);
    done = ran && device_wait(memory, NULL) &&
           device_read(memory, out->values, buffers.candidate_values, bytes) &&
           device_read(memory, out->ids, buffers.candidate_ids, bytes) &&
           device_read(memory, &out->confidence, buffers.confidence, sizeof out->confidence);
    if (ran && !done) dllm_message_set(why, "%s", memory->message);
    device_free(memory, block);
    return done;
}

static bool find_best(best *out, decode_checker *checker, const field_list *logits,
                      float temperature, dllm_message *why)
{
    float row[FIELD_LIST_MAX];
    dllm_plan *plan = NULL;
    out->count = logits->count;
    for (int i = 0; i < logits->count; i++)
        row[i] = (float)logits->values[i];
    if (!prepare(&plan, checker, logits->count, temperature, why)) return false;
    const bool done = sample(out, checker, plan, row, why);
    dllm_plan_destroy(plan);
    return done;
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool compare(const best *row, const dllm_filter_result *result, const json_t *expected,
                    dllm_message *why)
{
    field_list kept = {.count = (int)result->kept};
    for (int i = 0; i < kept.count; i++)
        kept.values[i] = row->ids[i];
    qsort(kept.values, (size_t)kept.count, sizeof kept.values[0], ascending);
    return field_same(expected, "kept", &kept, why) &&
           field_near(expected, "confidence", (double)result->confidence, 2e-6, why) &&
           field_near(expected, "margin", (double)result->margin, 2e-6, why) &&
           field_near(expected, "entropy", (double)result->entropy, 1e-5, why) &&
           field_near(expected, "token", row->ids[result->drawn], 0, why) &&
           field_near(expected, "token_confidence", (double)result->drawn_confidence, 2e-6, why);
}

bool decode_filtering_run(decode_checker *checker, const json_t *run, const json_t *expected,
                          dllm_message *why)
{
    field_list logits, uniforms;
    best row;
    float gumbel[FIELD_LIST_MAX];
    const float temperature = (float)field_number(run, "temperature", 0);
    const double denominator = field_number(run, "uniform_den", 1);
    if (!field_numbers(&logits, run, "logits")) return DLLM_REFUSE(why, "logits is no list");
    const bool drawn = field_numbers(&uniforms, run, "uniforms");
    if (drawn && uniforms.count != logits.count)
        return DLLM_REFUSE(why, "%d uniforms of %d logits", uniforms.count, logits.count);
    if (!find_best(&row, checker, &logits, temperature, why)) return false;
    for (int i = 0; drawn && i < row.count; i++) {
        if (row.ids[i] < 0)
            return DLLM_REFUSE(why, "a draw among %d candidates of %d logits", i, row.count);
        gumbel[i] = (float)-log(-log(uniforms.values[row.ids[i]] / denominator + 0x1p-53));
    }
    const dllm_filter_options options = {.struct_size = sizeof options,
                                         .k_first =
                                             field_word(run, "filter_order", decode_filter_orders),
                                         .top_k = field_integer(run, "top_k", 0),
                                         .top_p = (float)field_number(run, "top_p", 1),
                                         .temperature = temperature};
    const dllm_filter_candidates candidates = {.struct_size = sizeof candidates,
                                               .logits = row.values,
                                               .gumbel = drawn ? gumbel : NULL,
                                               .count = row.count,
                                               .complete = 1,
                                               .confidence = row.confidence};
    dllm_filter_result result = {.struct_size = sizeof result};
    if (dllm_decode_filter(&result, &options, &candidates) != DLLM_OK)
        return DLLM_REFUSE(why, "%s", dllm_last_error());
    return compare(&row, &result, expected, why);
}
