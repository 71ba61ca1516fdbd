/*
 * decode_cpu.h - the parts of a decode step beside trunk and head, on the CPU
 */
#ifndef DLLM_DECODE_CPU_H
#define DLLM_DECODE_CPU_H

#include "decode_control.h"

/** Puts sequences at their first block, or cancelled ones back to work. */
void dllm__decode_cpu_start(const dllm_step_params *params);

/** Lists the rows that are read. */
void dllm__decode_cpu_list(const dllm_step_params *params);

/** Selects and commits from what the head said of them. */
void dllm__decode_cpu_select(const dllm_step_params *params);

#endif
