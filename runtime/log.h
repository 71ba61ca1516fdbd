/*
 * log.h - one line to whoever asked for lines
 *
 * A context's callback gets every line. Without one, DLLM_LOG=stderr or DLLM_LOG=FILE (appended)
 * gets them, prefixed "dllm: "; without either nothing is written.
 */
#ifndef DLLM_LOG_H
#define DLLM_LOG_H

#include "dllm.h"

typedef struct dllm_log {
    dllm_log_function function; /* NULL: DLLM_LOG decides */
    void *user;
} dllm_log;

/** Formats one line; a line longer than 4,000 bytes is cut. Safe from any thread. */
void dllm__log(const dllm_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
