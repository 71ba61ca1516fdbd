/* decode_stages.h - the devices of a decode loop */
#ifndef DLLM_DECODE_STAGES_H
#define DLLM_DECODE_STAGES_H

#include "decode.h"

extern const dllm_decode_stages dllm__decode_cpu;    /* decode_cpu.c */
extern const dllm_decode_stages dllm__decode_device; /* decode_device.c */

/** The kernels of dllm__decode_device, without an architecture. */
void dllm__decode_kernels(dllm_kernel_spec out[DLLM_DECODE_KERNELS]);

#endif
