/* shipped.c - lists kernels by asking the families what they would launch */
#include "shipped.h"

#include "families.h"
#include "status.h"

#include <string.h>

static bool same(const dllm_kernel_spec *a, const dllm_kernel_spec *b)
{
    if (strcmp(a->file, b->file) != 0 || strcmp(a->entry, b->entry) != 0) return false;
    if (strcmp(a->arch, b->arch) != 0 || a->define_count != b->define_count) return false;
    for (int i = 0; i < a->define_count; i++)
        if (a->defines[i].value != b->defines[i].value ||
            strcmp(a->defines[i].name, b->defines[i].name) != 0)
            return false;
    return true;
}

static int append(dllm_kernel_spec *out, int count, int capacity, const dllm_kernel_spec *spec)
{
    for (int i = 0; i < count; i++)
        if (same(&out[i], spec)) return count;
    if (count == capacity) return count;
    out[count] = *spec;
    return count + 1;
}

/* The kernels of one problem, by every family that can do it. */
static int append_problem(dllm_kernel_spec *out, int count, int capacity, const dllm_device *device,
                          const dllm_problem *problem)
{
    for (int f = 0; dllm__family_at(f); f++) {
        const dllm_family *family = dllm__family_at(f);
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        dllm_choice choice = {.family = family, .stages = 1, .splits = 1};
        if (family->operation != problem->operation) continue;
        family->propose(problem, device, &choice);
        if (family->legal(problem, device, &choice) != DLLM_OK) continue;
        const int needed = family->kernels(problem, &choice, specs);
        for (int i = 0; i < needed; i++) {
            memcpy(specs[i].arch, device->arch, sizeof specs[i].arch);
            count = append(out, count, capacity, &specs[i]);
        }
    }
    dllm__clear_error();
    return count;
}

/* Row buckets, id types and outputs of one problem. */
static int append_variants(dllm_kernel_spec *out, int count, int capacity,
                           const dllm_device *device, dllm_problem problem)
{
    static const uint32_t outputs[] = {
        DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE,
        DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
    };
    problem.inputs = DLLM_IN_ROW_INDEX;
    for (int i = 0; i < 4; i++) {
        problem.id_type = i % 2 ? DLLM_INT64 : DLLM_INT32;
        problem.outputs = outputs[i / 2];
        for (problem.rows_max = 1; problem.rows_max <= 16384; problem.rows_max *= 2)
            count = append_problem(out, count, capacity, device, &problem);
    }
    return count;
}

int dllm__head_kernels(dllm_kernel_spec *out, int count, int capacity, const dllm_device *device,
                       int64_t vocab, int64_t depth, dllm_type hidden_type, dllm_type weight_type)
{
    const dllm_head_options head = {.struct_size = sizeof head,
                                    .vocab = vocab,
                                    .depth = depth,
                                    .hidden_type = hidden_type,
                                    .weight_type = weight_type,
                                    .outputs = DLLM_OUT_ARGMAX};
    dllm_problem problem;
    if (dllm__head_problem(&problem, &head) != DLLM_OK) return count;
    count = append_variants(out, count, capacity, device, problem);
    problem.operation = DLLM_OPERATION_SAMPLER;
    count = append_variants(out, count, capacity, device, problem);
    problem.hidden_type = DLLM_FP32;
    return append_variants(out, count, capacity, device, problem);
}

int dllm__shipped_kernels(dllm_kernel_spec *out, int capacity, const char *arch)
{
    static const int64_t depths[] = {4096, 4100, 4098, 4097}; /* bf16 rows keep 16, 8, 4, 2 bytes */
    dllm_device device;
    int count = 0;
    if (dllm__device_typical(&device, arch) != DLLM_OK) return 0;
    for (int hidden = DLLM_BF16; hidden <= DLLM_FP32; hidden++)
        for (int weight = DLLM_BF16; weight <= DLLM_FP32; weight++)
            for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
                count = dllm__head_kernels(out, count, capacity, &device, 126464, depths[i],
                                           (dllm_type)hidden, (dllm_type)weight);
    return count;
}
