/*
 * tensor_fixture.h - writes .safetensors files and small models for tests
 */
#ifndef TENSOR_FIXTURE_H
#define TENSOR_FIXTURE_H

#include "safetensors.h"

#include <stdbool.h>
#include <stddef.h>

/** Writes a file: the header's length, the header, the data, whatever they hold. */
void tensor_fixture_write(const char *path, const char *header, const void *data,
                          size_t data_bytes);

enum { TINY_VOCAB = 11, TINY_HIDDEN = 8, TINY_LAYERS = 2, TINY_HEADS = 2, TINY_MLP = 6 };
enum { TINY_SEQUENCE = 80 };

/** A model of the sizes above and what is peculiar about it; zero is an ordinary bf16 model. */
typedef struct tiny_model {
    const char *omitted;   /* this tensor is left out */
    const char *misshapen; /* this one has its last extent doubled */
    const char *extra;     /* this one is there too */
    const char *config;    /* fields for the end of config.json: ", \"a\": 1" */
    dllm_tensor_type type;
    int mask_id; /* 0: the last id */
} tiny_model;

/**
 * Writes config.json and model.safetensors into a folder. The values are multiples of 1/64 below 1,
 * exact in all three types, and the same in each.
 */
void tiny_model_write(const char *folder, const tiny_model *model);

#endif
