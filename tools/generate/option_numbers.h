/*
 * option_numbers.h - a number of the command line, or a message with option, value and rule
 *
 * Nothing but digits and what belongs to them: no blanks, no letters behind. A number that its type
 * cannot hold is refused, not held within what it can.
 */
#ifndef DLLM_TOOL_OPTION_NUMBERS_H
#define DLLM_TOOL_OPTION_NUMBERS_H

#include "message.h"

#include <stdbool.h>
#include <stdint.h>

/** The value as a message shows it: "" where it is empty. */
const char *dllm_option_shown(const char *text);

/** An integer from `least` to `most`; false without a message. */
bool dllm_option_parse(int64_t *out, const char *text, int64_t least, int64_t most);

/** An integer from `least` to `most`. */
bool dllm_option_integer(int64_t *out, const char *name, const char *text, int64_t least,
                         int64_t most, dllm_message *message);

/** A number from 0 to `most`; one that fp32 would take for 0 and is not is refused. */
bool dllm_option_real(float *out, const char *name, const char *text, float most,
                      dllm_message *message);

/** A number above 0 and at most 1. */
bool dllm_option_share(float *out, const char *name, const char *text, dllm_message *message);

#endif
