/*
 * message.h - the one line that says why a step of a tool failed
 *
 * A step that can fail takes a dllm_message, leaves its reason there and returns false: lower case,
 * the name, the value, the rule. Whoever called it passes the false on and adds nothing.
 */
#ifndef DLLM_TOOL_MESSAGE_H
#define DLLM_TOOL_MESSAGE_H

#include <stdbool.h>

typedef struct dllm_message {
    char text[512];
} dllm_message;

/** Stores the line; one that is too long is cut. */
void dllm_message_set(dllm_message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Stores the line and is false: `return DLLM_REFUSE(message, "...", ...)`. A macro, so that a
 * static analyser sees the value. */
#define DLLM_REFUSE(...) (dllm_message_set(__VA_ARGS__), false)

#endif
