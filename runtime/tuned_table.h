/*
 * tuned_table.h - choices that were measured for the library itself, by architecture
 *
 * The text is plan files one behind the other (autotune/plans). A choice serves any device of its
 * architecture with as many multiprocessors, whatever its name and memory.
 */
#ifndef DLLM_TUNED_TABLE_H
#define DLLM_TUNED_TABLE_H

#include "tuned.h"

/** What the library was built with; "" = nothing was measured. */
extern const char dllm__builtin_plans[];

/** Finds the choice of a key (dllm__tuned_key) in a table; entries that cannot be read are passed over. */
bool dllm__tuned_table_find(dllm_tuned *out, const char *table, const char *key,
                            dllm_operation operation);

#endif
