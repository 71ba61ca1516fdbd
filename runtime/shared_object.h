/*
 * shared_object.h - where on disk a loaded library, and this one, lies
 */
#ifndef DLLM_SHARED_OBJECT_H
#define DLLM_SHARED_OBJECT_H

#include <stdbool.h>

/** The file of a dlopen handle: absolute, links resolved; `out` has PATH_MAX bytes. */
bool dllm__shared_object_path(char *out, void *handle);

/** The same for the shared library, or else the program, that holds this function's code. */
bool dllm__own_path(char *out);

#endif
