/*
 * heads.h - the heads of published models that the library prebuilds for, tunes and tests on
 */
#ifndef DLLM_HEADS_H
#define DLLM_HEADS_H

#include "dllm.h"

#include <stdbool.h>

/** An id that a model does not have. */
#define DLLM_NO_ID (-1)

/** The shape of one output head, and what decoding with it needs to know. */
typedef struct dllm_head_set {
    const char *set;     /* name on command lines, kebab-case, unique */
    const char *models;  /* the models that share this head */
    int64_t vocab;       /* rows of the weight */
    int64_t depth;       /* columns of the weight */
    int64_t valid_vocab; /* columns from here on are no real ids; 0 = all are, or it is not known */
    int64_t mask_id;     /* DLLM_NO_ID: not a masked-diffusion model, or one without a mask id */
    int64_t eos_id;      /* DLLM_NO_ID: not recorded */
    bool shifted;        /* position q is read from hidden row q - 1 */
    float scale;         /* multiplies the product; 0 = none */
    float softcap;       /* 0 = none */
    dllm_type weight_type; /* hidden states have the same type */
} dllm_head_set;

/** All sets, `*count` of them; "llada-8b" is the first, "austen" the last. */
const dllm_head_set *dllm__head_sets(int *count);

/** The set of that name, or NULL. */
const dllm_head_set *dllm__head_set_find(const char *name);

#endif
