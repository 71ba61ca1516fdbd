/*
 * check_decode.h - runs decode cases through the public interface and says which pass
 */
#ifndef CHECK_DECODE_H
#define CHECK_DECODE_H

#include "check_rows.h"

#include <jansson.h>

typedef struct decode_checker {
    device_memory memory;
    dllm_context *context;
    char tier; /* the last that is run: 'A', 'B' or 'C' */
} decode_checker;

/** Opens a device. False with a message if there is none. */
bool decode_checker_open(decode_checker *out, int device, dllm_message *message);
void decode_checker_close(decode_checker *checker);

/**
 * Runs the runs of a case that decode_shape_check lets pass, up to the first that fails.
 * why      FAIL: the run, what came out and what was wanted; SKIP: what the case needs
 */
check_verdict decode_checker_run(decode_checker *checker, const json_t *from, dllm_message *why);

/** Reads the rule of a selection. */
bool decode_selection_read(dllm_selection *out, const json_t *rule, dllm_message *why);

#endif
