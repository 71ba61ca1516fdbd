/*
 * tensor_fixture.c - see tensor_fixture.h
 */
#include "tensor_fixture.h"

#include <check.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORS_MAX 64

/** A file while it is made. */
typedef struct draft {
    const tiny_model *model;
    char header[16384];
    size_t header_used;
    unsigned char data[65536];
    size_t data_used;
    uint32_t random;
} draft;

void tensor_fixture_write(const char *path, const char *header, const void *data, size_t data_bytes)
{
    FILE *stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    const size_t header_bytes = strlen(header);
    unsigned char length[8] = {0};
    for (unsigned i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)(header_bytes >> (8 * i));
    ck_assert_uint_eq(fwrite(length, 1, sizeof length, stream), sizeof length);
    ck_assert_uint_eq(fwrite(header, 1, header_bytes, stream), header_bytes);
    if (data_bytes > 0) ck_assert_uint_eq(fwrite(data, 1, data_bytes, stream), data_bytes);
    ck_assert_int_eq(fclose(stream), 0);
}

/** The bits of a multiple of 1/64, which no type rounds. */
static void append_value(draft *out, float value)
{
    const size_t bytes = dllm_tensor_type_bytes(out->model->type);
    ck_assert_uint_le(out->data_used + bytes, sizeof out->data);
    const double wide = (double)value;
    uint32_t single;
    uint64_t bits;
    memcpy(&single, &value, sizeof single);
    memcpy(&bits, &wide, sizeof bits);
    if (out->model->type == DLLM_TENSOR_FP32) bits = single;
    if (out->model->type == DLLM_TENSOR_BF16) bits = single >> 16;
    if (out->model->type == DLLM_TENSOR_FP16) {
        const uint32_t sign = single >> 16 & 0x8000u;
        const uint32_t magnitude =
            single & 0x7fffffffu; /* bias 127 to 15, fraction 23 to 10 bits */
        bits = sign | (magnitude ? (magnitude - (112u << 23)) >> 13 : 0u);
    }
    memcpy(out->data + out->data_used, &bits, bytes); /* little endian, as the format */
    out->data_used += bytes;
}

static void append_tensor(draft *out, const char *name, int rows, int columns)
{
    const tiny_model *model = out->model;
    if (model->omitted && strcmp(model->omitted, name) == 0) return;
    const bool wide = model->misshapen && strcmp(model->misshapen, name) == 0;
    const int last = (columns ? columns : rows) * (wide ? 2 : 1);
    char shape[32];
    const int used = columns ? snprintf(shape, sizeof shape, "%d, %d", rows, last)
                             : snprintf(shape, sizeof shape, "%d", last);
    ck_assert_int_gt(used, 0);
    const size_t begin = out->data_used;
    for (int i = 0; i < (columns ? rows : 1) * last; i++) {
        out->random = out->random * 1664525u + 1013904223u;
        append_value(out, (float)((int)(out->random >> 25) - 64) / 64.0f);
    }
    const int written =
        snprintf(out->header + out->header_used, sizeof out->header - out->header_used,
                 "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
                 out->header_used > 1 ? ", " : "", name, dllm_tensor_type_name(model->type), shape,
                 begin, out->data_used);
    ck_assert_int_gt(written, 0);
    out->header_used += (size_t)written;
    ck_assert_uint_lt(out->header_used + 1, sizeof out->header);
}

static void append_block(draft *out, int layer)
{
    static const struct {
        const char *name;
        int rows;
        int columns;
    } tensors[] = {{"attn_norm", TINY_HIDDEN, 0},        {"q_proj", TINY_HIDDEN, TINY_HIDDEN},
                   {"k_proj", TINY_HIDDEN, TINY_HIDDEN}, {"v_proj", TINY_HIDDEN, TINY_HIDDEN},
                   {"ff_norm", TINY_HIDDEN, 0},          {"attn_out", TINY_HIDDEN, TINY_HIDDEN},
                   {"ff_proj", TINY_MLP, TINY_HIDDEN},   {"up_proj", TINY_MLP, TINY_HIDDEN},
                   {"ff_out", TINY_HIDDEN, TINY_MLP}};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        char name[96];
        const int used = snprintf(name, sizeof name, "model.transformer.blocks.%d.%s.weight", layer,
                                  tensors[i].name);
        ck_assert_int_gt(used, 0);
        append_tensor(out, name, tensors[i].rows, tensors[i].columns);
    }
}

static void write_config(const char *folder, const tiny_model *model)
{
    char path[PATH_MAX];
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/config.json", folder), PATH_MAX);
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    const int written = fprintf(
        stream,
        "{\"vocab_size\": %d, \"hidden_size\": %d, \"n_layers\": %d, \"n_heads\": %d,"
        " \"mlp_hidden_size\": %d, \"max_sequence_length\": %d, \"rope_theta\": 10000.0,"
        " \"rms_norm_eps\": 1e-5, \"mask_token_id\": %d%s}\n",
        TINY_VOCAB, TINY_HIDDEN, TINY_LAYERS, TINY_HEADS, TINY_MLP, TINY_SEQUENCE,
        model->mask_id ? model->mask_id : TINY_VOCAB - 1, model->config ? model->config : "");
    ck_assert_int_gt(written, 0);
    ck_assert_int_eq(fclose(stream), 0);
}

void tiny_model_write(const char *folder, const tiny_model *model)
{
    draft *out = calloc(1, sizeof *out);
    ck_assert_ptr_nonnull(out);
    out->model = model;
    out->header[out->header_used++] = '{';
    append_tensor(out, "model.transformer.wte.weight", TINY_VOCAB, TINY_HIDDEN);
    for (int layer = 0; layer < TINY_LAYERS; layer++)
        append_block(out, layer);
    append_tensor(out, "model.transformer.ln_f.weight", TINY_HIDDEN, 0);
    append_tensor(out, "model.transformer.ff_out.weight", TINY_VOCAB, TINY_HIDDEN);
    if (model->extra) append_tensor(out, model->extra, TINY_HIDDEN, 0);
    out->header[out->header_used++] = '}';
    while ((out->header_used + 8) % 8 != 0) /* keeps the tensors aligned, as writers do */
        out->header[out->header_used++] = ' ';
    char path[PATH_MAX];
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/model.safetensors", folder), PATH_MAX);
    tensor_fixture_write(path, out->header, out->data, out->data_used);
    write_config(folder, model);
    free(out);
}
