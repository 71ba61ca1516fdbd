/*
 * message.h - the one line that says why a step of a tool failed
 *
 * A step that can fail takes a dllm_message, leaves its reason there and returns false: lower case,
 * the name, the value, the rule. Whoever called it passes the false on and adds nothing.
 */
#ifndef DLLM_TOOL_MESSAGE_H
#define DLLM_TOOL_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Room for the longest line, paths in it. */
enum { DLLM_LINE_BYTES = 8192 };

typedef struct dllm_message {
    char text[512];
} dllm_message;

/** Writes a line for a reader: control characters, which a name may hold, as escapes, so that it stays
 * one; cut where the room ends. bytes: at least 1, at most DLLM_LINE_BYTES */
void dllm_message_line(char *out, size_t bytes, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/** Stores the line; one that is too long is cut. */
void dllm_message_set(dllm_message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Stores the line and is false: `return DLLM_REFUSE(message, "...", ...)`. A macro, so that a
 * static analyser sees the value. */
#define DLLM_REFUSE(...) (dllm_message_set(__VA_ARGS__), false)

#endif
