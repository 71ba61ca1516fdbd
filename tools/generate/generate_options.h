/*
 * generate_options.h - the command line of dllm-generate
 */
#ifndef DLLM_TOOL_GENERATE_OPTIONS_H
#define DLLM_TOOL_GENERATE_OPTIONS_H

#include "decoder.h"
#include "message.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct dllm_generate_options {
    const char *model;
    const char *prompt;
    const char *family; /* NULL: the library chooses */
    int device;         /* an ordinal or DLLM_DEVICE_CPU */
    int threads;        /* 0: all processors */
    bool ids;
    bool help;
    const char *trace; /* file for the trace, NULL: none */
    dllm_decode_options decode;
    dllm_sequence sequence; /* without prompt */
} dllm_generate_options;

/** Prints what --help says; false if it cannot be written. */
bool dllm_generate_help(FILE *to);

/**
 * Reads the command line; with --help nothing else counts. False with a message that names the
 * option, its value and the rule.
 */
bool dllm_generate_options_read(dllm_generate_options *out, int count, char **arguments,
                                dllm_message *message);

/**
 * Fits the filter to the model: a top_k of the whole vocabulary is off, and the list of candidates is
 * as long as the filter needs, at most 256. False with a message if that is too short for top_k.
 */
bool dllm_generate_options_fit(dllm_generate_options *options, int64_t vocab,
                               dllm_message *message);

#endif
