/*
 * helper_path.h - where the compile helper dllm-jit lies
 */
#ifndef DLLM_HELPER_PATH_H
#define DLLM_HELPER_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Looks beside the file that holds this library's code, in ../libexec/dllm and ../../libexec/dllm
 * of it (an installed tree that was moved), then where the build installs it. Never in PATH. reason
 * if there is none, one line with the folders.
 */
bool dllm__helper_find(char out[PATH_MAX], char *reason, size_t reason_bytes);

#endif
