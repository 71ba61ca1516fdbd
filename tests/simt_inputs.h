/*
 * simt_inputs.h - what a kernel on the host reads for transforms and further statistics
 *
 * A variant has all it was compiled with; where a problem asks for less, the arrays say so: a bias of
 * zeros, no suppressed id, the plan's temperature in every row.
 */
#ifndef SIMT_INPUTS_H
#define SIMT_INPUTS_H

#include "row_params.h"
#include "row_run.h"
#include "simt_shim.h"

enum { SIMT_ARRAYS = 11 };

typedef struct simt_inputs {
    dllm_row_inputs device; /* but for extras */
    dllm_guidance guidance;
    void *arrays[SIMT_ARRAYS];
    int count;
} simt_inputs;

/** Value of a -D of the variant, `otherwise` if it was left to its default. */
int simt_variant_value(const simt_variant *variant, const char *define, int otherwise);

/** The id type of a kernel that writes ids, `otherwise` of one that leaves that to combine. */
dllm_id_type simt_variant_ids(const simt_variant *variant, dllm_id_type otherwise);

/** The outputs that a state with these statistics finishes to. */
uint32_t simt_outputs(const simt_variant *variant);

/** Can the variant give the problem's outputs, with the problem's transforms and no others? */
bool simt_inputs_fit(const simt_variant *variant, const row_problem *problem);

/** row_index: that of the run, in the index type. */
void simt_inputs_make(simt_inputs *out, const simt_variant *variant, const row_problem *problem,
                      const void *row_index);

void simt_inputs_release(simt_inputs *inputs);

/** The combine for the variant's states; exported: the one that writes states of shards. */
const simt_variant *simt_combine_of(const simt_variant *variant, dllm_id_type id_type,
                                    bool exported);

#endif
