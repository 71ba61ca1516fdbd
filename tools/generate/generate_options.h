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

#endif
