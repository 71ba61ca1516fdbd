/*
 * tune_targets.c - sets and architectures into kernels
 */
#include "tune_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heads.h"
#include "shipped.h"

int tune_fail_unknown_set(const char *name)
{
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    (void)tune_fail(TUNE_USAGE, "set %s is not one of:", name);
    for (int i = 0; i < count; i++)
        (void)fprintf(stderr, "  %-24s %s\n", sets[i].set, sets[i].models);
    return TUNE_USAGE;
}

static bool is_wanted(const tune_names *names, const char *set)
{
    for (int i = 0; i < names->count; i++) {
        if (strcmp(names->text[i], set) == 0) return true;
    }
    return names->count == 0;
}

static bool is_repeated(const tune_names *names, int index)
{
    for (int i = 0; i < index; i++) {
        if (strcmp(names->text[i], names->text[index]) == 0) return true;
    }
    return false;
}

/* The kernels of the wanted sets on one architecture, for hidden states of the weight's type and of
   fp32; returns their number. */
static int collect_arch(dllm_kernel_spec *out, const dllm_device *device, const tune_names *wanted)
{
    static dllm_kernel_list list;
    int set_count = 0;
    const dllm_head_set *sets = dllm__head_sets(&set_count);
    list.count = 0;
    for (int i = 0; i < set_count; i++) {
        dllm_head_shape shape = {.vocab = sets[i].vocab,
                                 .depth = sets[i].depth,
                                 .hidden_type = sets[i].weight_type,
                                 .weight_type = sets[i].weight_type,
                                 .scale = sets[i].scale,
                                 .softcap = sets[i].softcap};
        if (!is_wanted(wanted, sets[i].set)) continue;
        dllm__head_kernels(&list, device, &shape);
        shape.hidden_type = DLLM_FP32;
        shape.scale = shape.softcap = 0.0f;
        dllm__head_kernels(&list, device, &shape);
    }
    memcpy(out, list.specs, (size_t)list.count * sizeof *out);
    return list.count;
}

int tune_targets_collect(dllm_kernel_spec **specs, int *count, const tune_options *options)
{
    const tune_names *arches = &options->arches;
    dllm_device device;
    *count = 0;
    if (arches->count == 0)
        return tune_fail(TUNE_USAGE, "prebuild needs --arch; doctor names that of a GPU here");
    for (int i = 0; i < options->sets.count; i++) {
        if (!dllm__head_set_find(options->sets.text[i]))
            return tune_fail_unknown_set(options->sets.text[i]);
    }
    *specs = calloc((size_t)arches->count * DLLM_SHIPPED_MAX, sizeof **specs);
    if (!*specs) return tune_fail(TUNE_SOME_FAILED, "out of memory");
    for (int i = 0; i < arches->count; i++) {
        if (dllm__device_typical(&device, arches->text[i]) != DLLM_OK)
            return tune_fail(TUNE_USAGE, "%s", dllm_last_error());
        if (!is_repeated(arches, i))
            *count += collect_arch(*specs + *count, &device, &options->sets);
    }
    return TUNE_DONE;
}
