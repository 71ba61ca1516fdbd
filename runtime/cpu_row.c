/* cpu_row.c - one row of a call on the CPU: what it brings along, and where its values go */
#include "cpu_row.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- read ---- */

static int64_t read_id(const void *array, dllm_id_type type, int64_t i)
{
    return type == DLLM_INT64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* The column of a global id; -1 stands for the ids before the first column. */
static int64_t column_of(const dllm_problem *problem, int64_t id)
{
    return id < problem->vocab_offset ? -1 : id - problem->vocab_offset;
}

/* 0 = greedy */
static float read_temperature(const dllm_problem *problem, const dllm_row_call *call,
                              uint32_t transforms, int64_t number)
{
    if (!(transforms & DLLM_TRANSFORM_ROW_TEMPERATURE)) return problem->temperature;
    const float asked = call->temperature[number];
    return isfinite(asked) && asked >= FLT_MIN ? asked : 0.0f;
}

/* 0 = none */
static float read_guidance(const dllm_problem *problem, const dllm_row_call *call, int64_t number)
{
    if (!(problem->inputs & DLLM_IN_CFG_SCALE)) return problem->cfg_scale;
    const float asked = call->cfg_scale[number];
    return isfinite(asked) && asked > 0 ? asked : 0.0f;
}

static float sum_temperature(float temperature, uint32_t transforms)
{
    return transforms & DLLM_TRANSFORM_TEMPERED && temperature > 0 ? temperature : 1.0f;
}

float dllm__cpu_sum_temperature(const dllm_problem *problem, const dllm_row_call *call,
                                int64_t number)
{
    const uint32_t transforms = dllm__transforms(problem);
    return sum_temperature(read_temperature(problem, call, transforms, number), transforms);
}

static void read_noise(dllm_cpu_row *row, const dllm_problem *problem, const dllm_row_call *call,
                       uint32_t transforms)
{
    if (transforms & DLLM_TRANSFORM_NOISE) {
        row->noise = call->noise + row->number * problem->vocab * 2;
        return;
    }
    const int64_t place = transforms & DLLM_TRANSFORM_ROW_SEED ? row->number : 0;
    row->stream.seed = call->seed[place];
    if (call->draw) row->stream.draw = call->draw[place];
    if (transforms & DLLM_TRANSFORM_ROW_KEY) row->stream.row_key = call->row_key[row->number];
}

/* The unconditional row, and how far it is left behind. */
static void read_unconditional(dllm_cpu_row *row, const dllm_problem *problem,
                               const dllm_row_call *call)
{
    row->unconditional = row->source + call->source_rows * call->hidden_stride *
                                           dllm__type_bytes(problem->hidden_type);
    row->guidance = read_guidance(problem, call, row->number);
    if (problem->inputs & DLLM_IN_CFG_SCALE && problem->outputs & DLLM_OUT_FLAGS &&
        !isfinite(call->cfg_scale[row->number]))
        row->bits |= DLLM_STATE_PARAM;
}

dllm_cpu_row dllm__cpu_row_read(const dllm_problem *problem, const dllm_row_call *call,
                                uint32_t statistics, uint32_t transforms, int64_t number)
{
    dllm_cpu_row row = {.number = number,
                        .rule = {.statistics = statistics, .temperature = 1.0f},
                        .target = -1,
                        .penalty_place = -1};
    int64_t source = number;
    if (call->row_index) source = read_id(call->row_index, problem->index_type, number);
    if (source < 0 || source >= call->source_rows) {
        row.bits = DLLM_STATE_ROW;
        return row;
    }
    row.source = (const char *)call->hidden +
                 source * call->hidden_stride * dllm__type_bytes(problem->hidden_type);
    if (!(statistics | transforms)) return row;
    if (transforms & DLLM_TRANSFORM_GUIDANCE) read_unconditional(&row, problem, call);
    row.temperature = read_temperature(problem, call, transforms, number);
    row.rule.temperature = sum_temperature(row.temperature, transforms);
    if (transforms & DLLM_TRANSFORM_ROW_TEMPERATURE && !isfinite(call->temperature[number]))
        row.bits |= DLLM_STATE_PARAM;
    row.stream.row_key = (uint64_t)source;
    if (statistics & DLLM_STATISTIC_GUMBEL) read_noise(&row, problem, call, transforms);
    if (statistics & DLLM_STATISTIC_TARGET) {
        row.target = column_of(problem, read_id(call->target, problem->id_type, number));
        row.bits |= DLLM_STATE_ASKED;
        if (row.target >= 0 && row.target < problem->vocab) row.bits |= DLLM_STATE_TARGET;
    }
    if (transforms & DLLM_TRANSFORM_PENALTY) {
        row.penalty_place = column_of(problem, read_id(call->penalty_id, problem->id_type, number));
        row.penalty = call->penalty[number];
    }
    return row;
}

/* ---- write ---- */

static void write_id(void *array, dllm_id_type type, int64_t i, int64_t value)
{
    if (type == DLLM_INT64)
        ((int64_t *)array)[i] = value;
    else
        ((int32_t *)array)[i] = (int32_t)value;
}

/* A row that is not finite has no order: its list is empty, with NaN for values. */
static void write_candidates(const dllm_problem *problem, const dllm_row_call *call, int64_t number,
                             const dllm_row_values *values, const dllm_state_candidate *list)
{
    const bool ordered = !(values->flags & (DLLM_FLAG_NONFINITE | DLLM_FLAG_ROW));
    for (int64_t k = 0; k < problem->candidates; k++) {
        const int64_t i = number * problem->candidates + k;
        call->candidate_values[i] = ordered ? list[k].value : NAN;
        write_id(call->candidate_ids, problem->id_type, i, ordered ? list[k].id : -1);
    }
}

void dllm__cpu_row_write(const dllm_problem *problem, const dllm_row_call *call, int64_t number,
                         const dllm_row_values *values, const dllm_state_candidate *list)
{
    const struct {
        void *array;
        int64_t value;
        uint32_t bit;
    } ids[] = {{call->argmax, values->argmax, DLLM_OUT_ARGMAX},
               {call->second_id, values->second_id, DLLM_OUT_SECOND_ID},
               {call->gumbel_id, values->gumbel_id, DLLM_OUT_GUMBEL_ID}};
    const struct {
        float *array;
        float value;
        uint32_t bit;
    } floats[] = {{call->max, values->max, DLLM_OUT_MAX},
                  {call->lse, values->lse, DLLM_OUT_LSE},
                  {call->confidence, values->confidence, DLLM_OUT_CONFIDENCE},
                  {call->entropy, values->entropy, DLLM_OUT_ENTROPY},
                  {call->second, values->second, DLLM_OUT_SECOND},
                  {call->margin, values->margin, DLLM_OUT_MARGIN},
                  {call->target_logprob, values->target_logprob, DLLM_OUT_TARGET_LOGPROB},
                  {call->gumbel_logprob, values->gumbel_logprob, DLLM_OUT_GUMBEL_LOGPROB}};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (problem->outputs & ids[i].bit)
            write_id(ids[i].array, problem->id_type, number, ids[i].value);
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        if (problem->outputs & floats[i].bit) floats[i].array[number] = floats[i].value;
    if (problem->outputs & DLLM_OUT_FLAGS) call->flags[number] = values->flags;
    if (list) write_candidates(problem, call, number, values, list);
}
