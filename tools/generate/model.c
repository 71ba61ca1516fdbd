/*
 * model.c - see model.h
 */
#include "model.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_PREFIX "model.transformer."
#define LAYERS_MAX 4096
#define SEQUENCE_MAX (1 << 24)

enum extent { NONE, HIDDEN, MLP };

#define TENSOR_ROW(place, name, rows, columns) {name, rows, columns},
static const struct {
    const char *name;
    enum extent rows;
    enum extent columns;
} block_tensors[DLLM_BLOCK_TENSORS] = {DLLM_MODEL_BLOCK_LIST(TENSOR_ROW)};
#undef TENSOR_ROW

/* ---- config.json ----------------------------------------------------------------------------- */

static bool read_integer(int64_t *out, const json_t *config, const char *name, int64_t lowest,
                         int64_t highest, dllm_message *message)
{
    const json_t *field = json_object_get(config, name);
    if (!json_is_integer(field))
        return DLLM_REFUSE(message, "config.json: %s is missing or no integer", name);
    const int64_t value = json_integer_value(field);
    if (value < lowest || value > highest)
        return DLLM_REFUSE(message, "config.json: %s %jd is outside %jd .. %jd", name,
                           (intmax_t)value, (intmax_t)lowest, (intmax_t)highest);
    *out = value;
    return true;
}

static bool read_number(double *out, const json_t *config, const char *name, dllm_message *message)
{
    const json_t *field = json_object_get(config, name);
    *out = json_number_value(field);
    if (!json_is_number(field) || !(*out > 0.0))
        return DLLM_REFUSE(message, "config.json: %s is missing or not above 0", name);
    return true;
}

/** The name that this config uses for a field that goes by two names. */
static const char *name_of(const json_t *config, const char *name, const char *other)
{
    return !json_object_get(config, name) && json_object_get(config, other) ? other : name;
}

static bool read_fields(dllm_model_config *out, const json_t *config, dllm_message *message)
{
    const char *hidden = name_of(config, "hidden_size", "d_model");
    if (!read_integer(&out->vocab, config, "vocab_size", 2, INT32_MAX, message) ||
        !read_integer(&out->hidden, config, hidden, 2, INT32_MAX, message) ||
        !read_integer(&out->layers, config, "n_layers", 1, LAYERS_MAX, message) ||
        !read_integer(&out->heads, config, "n_heads", 1, out->hidden, message) ||
        !read_integer(&out->mlp, config, "mlp_hidden_size", 1, INT32_MAX, message) ||
        !read_integer(&out->max_sequence, config, "max_sequence_length", 1, SEQUENCE_MAX,
                      message) ||
        !read_integer(&out->mask_id, config, "mask_token_id", 0, out->vocab - 1, message) ||
        !read_number(&out->rope_theta, config, "rope_theta", message) ||
        !read_number(&out->norm_epsilon, config, "rms_norm_eps", message))
        return false;
    out->eos_id = -1;
    if (json_object_get(config, "eos_token_id") &&
        !read_integer(&out->eos_id, config, "eos_token_id", 0, out->vocab - 1, message))
        return false;
    out->weight_tying = json_is_true(json_object_get(config, "weight_tying"));
    if (out->hidden % out->heads != 0 || out->hidden / out->heads % 2 != 0)
        return DLLM_REFUSE(message,
                           "config.json: n_heads %jd does not cut %s %jd into an even number of "
                           "elements each",
                           (intmax_t)out->heads, hidden, (intmax_t)out->hidden);
    int64_t kv_heads = out->heads;
    if (json_is_integer(json_object_get(config, "n_kv_heads")) &&
        !read_integer(&kv_heads, config, "n_kv_heads", 1, INT32_MAX, message))
        return false;
    if (kv_heads != out->heads)
        return DLLM_REFUSE(message,
                           "config.json: n_kv_heads %jd differs from n_heads %jd, grouped "
                           "attention is not built",
                           (intmax_t)kv_heads, (intmax_t)out->heads);
    return true;
}

static bool make_path(char *out, size_t out_bytes, const char *folder, const char *name,
                      dllm_message *message)
{
    const int written = snprintf(out, out_bytes, "%s/%s", folder, name);
    if (written < 0 || (size_t)written >= out_bytes)
        return DLLM_REFUSE(message, "the path of the folder is longer than %zu bytes",
                           out_bytes - 1);
    return true;
}

static bool read_config(dllm_model_config *out, const char *folder, dllm_message *message)
{
    char path[PATH_MAX];
    if (!make_path(path, sizeof path, folder, "config.json", message)) return false;
    json_error_t error;
    json_t *config = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!config && json_error_code(&error) == json_error_cannot_open_file)
        return DLLM_REFUSE(message, "%s cannot be opened: %s", path, strerror(errno));
    if (!config)
        return error.line > 0
                   ? DLLM_REFUSE(message, "%s: %s (line %d)", path, error.text, error.line)
                   : DLLM_REFUSE(message, "%s: %s", path, error.text);
    const bool done = read_fields(out, config, message);
    json_decref(config);
    return done;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/** Finds a tensor of that shape and of a type that the trunk and the head read. */
static bool find_tensor(const dllm_tensor **out, const dllm_model *model, const char *name,
                        int64_t rows, int64_t columns, dllm_message *message)
{
    const int64_t shape[2] = {rows, columns};
    const int rank = columns ? 2 : 1;
    if (!dllm_tensor_file_require(out, model->file, name, rank, shape, message)) return false;
    const dllm_tensor_type type = (*out)->type;
    if (type == DLLM_TENSOR_BF16 || type == DLLM_TENSOR_FP16 || type == DLLM_TENSOR_FP32)
        return true;
    return DLLM_REFUSE(message, "tensor %s has type %s, wanted BF16, F16 or F32", name,
                       dllm_tensor_type_name(type));
}

static bool find_block(dllm_model *model, int64_t layer, dllm_message *message)
{
    const int64_t extents[] = {
        [NONE] = 0, [HIDDEN] = model->config.hidden, [MLP] = model->config.mlp};
    for (int i = 0; i < DLLM_BLOCK_TENSORS; i++) {
        char name[96];
        if (snprintf(name, sizeof name, NAME_PREFIX "blocks.%jd.%s.weight", (intmax_t)layer,
                     block_tensors[i].name) < 0)
            return DLLM_REFUSE(message, "the name of a tensor cannot be written");
        if (!find_tensor(&model->blocks[layer].tensor[i], model, name,
                         extents[block_tensors[i].rows], extents[block_tensors[i].columns],
                         message))
            return false;
    }
    return true;
}

static bool find_tensors(dllm_model *model, dllm_message *message)
{
    const dllm_model_config *config = &model->config;
    const char *head_name = NAME_PREFIX "ff_out.weight";
    const bool has_head = dllm_tensor_file_find(model->file, head_name) != NULL;
    model->blocks = calloc((size_t)config->layers, sizeof *model->blocks);
    if (!model->blocks) return DLLM_REFUSE(message, "out of memory");
    if (!find_tensor(&model->embedding, model, NAME_PREFIX "wte.weight", config->vocab,
                     config->hidden, message) ||
        !find_tensor(&model->final_norm, model, NAME_PREFIX "ln_f.weight", config->hidden, 0,
                     message))
        return false;
    model->head = model->embedding;
    if ((has_head || !config->weight_tying) &&
        !find_tensor(&model->head, model, head_name, config->vocab, config->hidden, message))
        return false;
    for (int64_t layer = 0; layer < config->layers; layer++)
        if (!find_block(model, layer, message)) return false;
    /* A bias or a further norm that is not applied would spoil the text without a word. */
    const size_t known = 2 + has_head + DLLM_BLOCK_TENSORS * (size_t)config->layers;
    const size_t found = dllm_tensor_file_count(model->file);
    if (found != known)
        return DLLM_REFUSE(message,
                           "model.safetensors has %zu tensors, the layout of %jd layers has %zu: "
                           "biases and further norms are not built",
                           found, (intmax_t)config->layers, known);
    return true;
}

bool dllm_model_open(dllm_model **out, const char *folder, dllm_message *message)
{
    char path[PATH_MAX];
    dllm_model *model = calloc(1, sizeof *model);
    if (!model) return DLLM_REFUSE(message, "out of memory");
    if (!read_config(&model->config, folder, message) ||
        !make_path(path, sizeof path, folder, "model.safetensors", message) ||
        !dllm_tensor_file_open(&model->file, path, message) || !find_tensors(model, message)) {
        dllm_model_close(model);
        return false;
    }
    *out = model;
    return true;
}

void dllm_model_close(dllm_model *model)
{
    if (!model) return;
    free(model->blocks);
    dllm_tensor_file_close(model->file);
    free(model);
}
