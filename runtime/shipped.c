/* shipped.c - lists kernels by asking the families what they would launch */
#include "shipped.h"

#include "decode_stages.h"
#include "families.h"
#include "family_parts.h"
#include "status.h"

#include <string.h>

static void append(dllm_kernel_list *list, const dllm_kernel_spec *spec)
{
    for (int i = 0; i < list->count; i++)
        if (dllm__kernel_spec_equal(&list->specs[i], spec)) return;
    if (list->count < DLLM_SHIPPED_MAX) list->specs[list->count++] = *spec;
}

/* The kernels of one problem, by every family that can do it. */
static void append_problem(dllm_kernel_list *list, const dllm_device *device,
                           const dllm_problem *problem)
{
    for (int f = 0; dllm__family_at(f); f++) {
        const dllm_family *family = dllm__family_at(f);
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        dllm_choice choice;
        if (family->operation != problem->operation) continue;
        if (dllm__propose(&choice, family, problem, device) != DLLM_OK) continue;
        const int needed = family->kernels(problem, &choice, specs);
        for (int i = 0; i < needed; i++) {
            memcpy(specs[i].arch, device->arch, sizeof specs[i].arch);
            append(list, &specs[i]);
        }
    }
    dllm__clear_error();
}

/* Every row bucket of one problem. */
static void append_buckets(dllm_kernel_list *list, const dllm_device *device, dllm_problem problem)
{
    /* a tile may change between any two of these */
    static const int rows[] = {1,   8,   16,  32,  64,   96,   128,  160,  192,
                               256, 320, 384, 512, 1024, 2048, 4096, 8192, 16384};
    problem.inputs |= DLLM_IN_ROW_INDEX;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        problem.rows_max = rows[r];
        append_problem(list, device, &problem);
    }
}

enum {
    PLAIN = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
    LIST = 64 /* of candidates; no kernel depends on it */
};

/* What loops ask for beyond plain outputs: the confidences that decoding ranks positions by, a
   likelihood with its context, a draw, a draw with a temperature of each row, a list to filter, and
   guidance. */
static const struct {
    uint32_t outputs;
    uint32_t inputs;
    float temperature;
} requests[] = {
    {DLLM_OUT_ENTROPY | DLLM_OUT_MARGIN, 0, 0},
    {DLLM_OUT_ENTROPY | DLLM_OUT_SECOND | DLLM_OUT_TARGET_LOGPROB, DLLM_IN_TARGET, 0},
    {DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB, 0, 1},
    {DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB, DLLM_IN_TEMPERATURE | DLLM_IN_ROW_KEY, 0},
    {DLLM_OUT_CANDIDATES, 0, 0},
    {0, DLLM_IN_CFG_SCALE, 0},
    {DLLM_OUT_GUMBEL_ID | DLLM_OUT_GUMBEL_LOGPROB,
     DLLM_IN_TEMPERATURE | DLLM_IN_ROW_KEY | DLLM_IN_ROW_SEED | DLLM_IN_SUPPRESS |
         DLLM_IN_CFG_SCALE,
     0},
};

/* The sampler of one type of logits: where it finishes its rows there is a kernel an id type. */
static void append_samplers(dllm_kernel_list *list, const dllm_device *device, dllm_problem problem)
{
    problem.operation = DLLM_OPERATION_SAMPLER;
    for (int id_type = DLLM_INT32; id_type <= DLLM_INT64; id_type++) {
        problem.id_type = (dllm_id_type)id_type;
        append_buckets(list, device, problem);
    }
}

/* What a vocabulary in shards ends with: states out of each, and rows from them in each id type. */
static void append_shards(dllm_kernel_list *list, const dllm_device *device, dllm_problem problem)
{
    dllm_kernel_spec spec;
    for (int id_type = DLLM_INT32; id_type <= DLLM_INT64; id_type++) {
        problem.id_type = (dllm_id_type)id_type;
        problem.behaviour = DLLM_PARTIAL_STATE;
        dllm__combine_spec(&spec, &problem);
        memcpy(spec.arch, device->arch, sizeof spec.arch);
        append(list, &spec);
        dllm_problem logits = problem;
        logits.operation = DLLM_OPERATION_SAMPLER;
        append_buckets(list, device, logits);
        dllm_problem merge = problem;
        merge.operation = DLLM_OPERATION_MERGE;
        merge.behaviour = 0;
        merge.is_guided = false;
        merge.inputs &= DLLM_IN_TEMPERATURE;
        append_problem(list, device, &merge);
    }
}

/* Of heads and logits as models have them: one type of 16 bits, rows aligned. */
static void append_requests(dllm_kernel_list *list, const dllm_device *device, dllm_problem problem)
{
    if (problem.hidden_type != problem.weight_type || problem.hidden_type == DLLM_FP32 ||
        problem.alignment_bytes != 16)
        return;
    problem.outputs = PLAIN;
    append_shards(list, device, problem);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        problem.operation = DLLM_OPERATION_HEAD;
        problem.outputs = PLAIN | requests[i].outputs;
        problem.inputs = requests[i].inputs;
        problem.is_guided = requests[i].inputs & DLLM_IN_CFG_SCALE;
        problem.temperature = requests[i].temperature;
        problem.candidates = requests[i].outputs & DLLM_OUT_CANDIDATES ? LIST : 0;
        append_buckets(list, device, problem);
        append_shards(list, device, problem);
        problem.operation = DLLM_OPERATION_SAMPLER;
        append_buckets(list, device, problem);
    }
}

/* The combine of every set of plain outputs in each id type: an application may ask for any. */
static void append_combines(dllm_kernel_list *list, const dllm_device *device, dllm_problem problem)
{
    const uint32_t known = dllm__able_plain.outputs;
    for (uint32_t outputs = 1; outputs <= known; outputs++) {
        if (outputs & ~known) continue;
        for (int id_type = DLLM_INT32; id_type <= DLLM_INT64; id_type++) {
            dllm_kernel_spec spec;
            problem.outputs = outputs;
            problem.id_type = (dllm_id_type)id_type;
            dllm__combine_spec(&spec, &problem);
            memcpy(spec.arch, device->arch, sizeof spec.arch);
            append(list, &spec);
        }
    }
}

/* Those of the decode loop are the same for every head. */
static void append_decode(dllm_kernel_list *list, const dllm_device *device)
{
    dllm_kernel_spec specs[DLLM_DECODE_KERNELS];
    dllm__decode_kernels(specs);
    for (int i = 0; i < DLLM_DECODE_KERNELS; i++) {
        memcpy(specs[i].arch, device->arch, sizeof specs[i].arch);
        append(list, &specs[i]);
    }
}

static void append_head(dllm_kernel_list *list, const dllm_device *device,
                        const dllm_head_options *head)
{
    dllm_problem problem;
    if (dllm__head_problem(&problem, head) != DLLM_OK) return;
    append_buckets(list, device, problem);
    append_requests(list, device, problem);
    append_samplers(list, device, problem);
    problem.hidden_type = DLLM_FP32;
    append_samplers(list, device, problem);
    append_combines(list, device, problem);
    append_decode(list, device);
}

void dllm__head_kernels(dllm_kernel_list *list, const dllm_device *device,
                        const dllm_head_shape *shape)
{
    dllm_head_options head = {.struct_size = sizeof head,
                              .vocab = shape->vocab,
                              .depth = shape->depth,
                              .hidden_type = shape->hidden_type,
                              .weight_type = shape->weight_type,
                              .outputs = DLLM_OUT_ARGMAX};
    append_head(list, device, &head);
    if (shape->scale == 0.0f && shape->softcap == 0.0f) return;
    head.scale = shape->scale;
    head.softcap = shape->softcap;
    append_head(list, device, &head);
}

void dllm__shipped_kernels(dllm_kernel_list *list, const char *arch)
{
    static const int64_t depths[] = {4096, 4100, 4098, 4097}; /* bf16 rows keep 16, 8, 4, 2 bytes */
    dllm_device device;
    list->count = 0;
    if (dllm__device_typical(&device, arch) != DLLM_OK) return;
    for (int hidden = DLLM_BF16; hidden <= DLLM_FP32; hidden++)
        for (int weight = DLLM_BF16; weight <= DLLM_FP32; weight++)
            for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
                const dllm_head_shape shape = {.vocab = 126464,
                                               .depth = depths[i],
                                               .hidden_type = (dllm_type)hidden,
                                               .weight_type = (dllm_type)weight};
                dllm__head_kernels(list, &device, &shape);
            }
    const dllm_head_shape capped = {.vocab = 262144,
                                    .depth = 4096,
                                    .hidden_type = DLLM_BF16,
                                    .weight_type = DLLM_BF16,
                                    .softcap = 30.0f};
    dllm__head_kernels(list, &device, &capped);
}
