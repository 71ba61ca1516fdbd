/*
 * trace_file.h - the trace of a decode as JSON lines: one a change, one for the end of each step
 *
 *     {"step": 0, "kind": "commit", "position": 12, "old": 4095, "new": 17, "key": 0.98}
 *     {"step": 0, "kind": "step", "read": 32, "committed": 1, "masks": 31, "gap": 0.004}
 */
#ifndef DLLM_TOOL_TRACE_FILE_H
#define DLLM_TOOL_TRACE_FILE_H

#include "dllm.h"
#include "message.h"

#include <stdio.h>

/** Opens a file to write to, before there is work that would be lost; NULL with a message. */
FILE *dllm_trace_file_open(const char *path, dllm_message *message);

/** Writes records to it and closes it. False with a message when it cannot be written whole. */
bool dllm_trace_file_write(FILE *file, const char *path, const dllm_trace_record *records,
                           int64_t count, dllm_message *message);

#endif
