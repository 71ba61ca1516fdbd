/*
 * element_type.h - reads and writes single elements of the library's types on the host
 */
#ifndef ELEMENT_TYPE_H
#define ELEMENT_TYPE_H

#include "dllm.h"

/** "bf16", "fp16", "fp32"; "none" for anything else. */
const char *element_name(dllm_type type);

/** The type of a name, DLLM_TYPE_NONE if there is none. */
dllm_type element_type_of(const char *name);

/** Bytes of an element. */
size_t element_bytes(dllm_type type);

/** Stores value at base[index], rounded to nearest even. */
void element_store(dllm_type type, void *base, int64_t index, double value);

/** The value at base[index], exact. */
double element_load(dllm_type type, const void *base, int64_t index);

/** value rounded to a type, nearest even. */
double element_round(dllm_type type, double value);

#endif
