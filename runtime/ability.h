/*
 * ability.h - what a kernel family implements of the problems that the header knows
 *
 * problem.c says what a problem may be; a family that does not do all of it yet says so here, and
 * what it lacks is refused by name.
 */
#ifndef DLLM_ABILITY_H
#define DLLM_ABILITY_H

#include "problem.h"

typedef struct dllm_ability {
    uint32_t outputs;
    uint32_t inputs;
    uint32_t behaviour;
    uint32_t transforms; /* of those that no input bit tells: rounding, scale, softcap, guidance */
} dllm_ability;

/** Everything. */
extern const dllm_ability dllm__able_all;

/** The outputs of the base state, of plain logits. */
extern const dllm_ability dllm__able_plain;

/** DLLM_UNSUPPORTED with the first thing asked for that the family named does not implement. */
dllm_status dllm__check_ability(const char *family, const dllm_ability *able,
                                const dllm_problem *problem);

#endif
