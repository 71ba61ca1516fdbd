/*
 * model.h - a model folder in LLaDA's layout: config.json, model.safetensors and their agreement
 *
 * Opening finds every tensor of the layout and checks its type and shape against the config, so
 * that the trunk and the head can be run without further checks.
 */
#ifndef DLLM_TOOL_MODEL_H
#define DLLM_TOOL_MODEL_H

#include "message.h"
#include "safetensors.h"

#include <stdint.h>

typedef struct dllm_model_config {
    int64_t vocab;
    int64_t hidden;
    int64_t layers;
    int64_t heads; /* divides hidden into an even number of elements each */
    int64_t mlp;
    int64_t max_sequence;
    int64_t mask_id;
    int64_t eos_id; /* -1: the config names none */
    double rope_theta;
    double norm_epsilon;
    bool weight_tying; /* the embedding may stand for a head that is absent */
} dllm_model_config;

/* tensor of a block, its name, rows, columns (NONE: a vector); linear weights are (out, in) */
#define DLLM_MODEL_BLOCK_LIST(X)                                                                   \
    X(DLLM_BLOCK_ATTN_NORM, "attn_norm", HIDDEN, NONE)                                             \
    X(DLLM_BLOCK_Q_PROJ, "q_proj", HIDDEN, HIDDEN)                                                 \
    X(DLLM_BLOCK_K_PROJ, "k_proj", HIDDEN, HIDDEN)                                                 \
    X(DLLM_BLOCK_V_PROJ, "v_proj", HIDDEN, HIDDEN)                                                 \
    X(DLLM_BLOCK_ATTN_OUT, "attn_out", HIDDEN, HIDDEN)                                             \
    X(DLLM_BLOCK_FF_NORM, "ff_norm", HIDDEN, NONE)                                                 \
    X(DLLM_BLOCK_FF_PROJ, "ff_proj", MLP, HIDDEN)                                                  \
    X(DLLM_BLOCK_UP_PROJ, "up_proj", MLP, HIDDEN)                                                  \
    X(DLLM_BLOCK_FF_OUT, "ff_out", HIDDEN, MLP)

#define DLLM_MODEL_ENUMERATOR(place, name, rows, columns) place,
enum { DLLM_MODEL_BLOCK_LIST(DLLM_MODEL_ENUMERATOR) DLLM_BLOCK_TENSORS };
#undef DLLM_MODEL_ENUMERATOR

/** The tensors of one transformer block, by the names above. */
typedef struct dllm_model_block {
    const dllm_tensor *tensor[DLLM_BLOCK_TENSORS];
} dllm_model_block;

/** An open model; read only, for any number of threads. */
typedef struct dllm_model {
    dllm_model_config config;
    dllm_tensor_file *file;
    const dllm_tensor *embedding;  /* (vocab, hidden) */
    const dllm_tensor *final_norm; /* (hidden) */
    const dllm_tensor *head;       /* (vocab, hidden) */
    dllm_model_block *blocks;      /* (layers) */
} dllm_model;

/**
 * Opens the model in a folder. False with a message: a file cannot be read, a field of the config
 * is missing or breaks a rule, a tensor is missing or has another shape or type.
 * Owner    release with dllm_model_close.
 */
bool dllm_model_open(dllm_model **out, const char *folder, dllm_message *message);

/** Releases a model; takes NULL. */
void dllm_model_close(dllm_model *model);

#endif
