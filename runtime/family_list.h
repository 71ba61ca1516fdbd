/* family_list.h - the rows of the table of families, each in a file of its own */
#ifndef DLLM_FAMILY_LIST_H
#define DLLM_FAMILY_LIST_H

#include "families.h"

extern const dllm_family dllm__family_naive;
extern const dllm_family dllm__family_tiled;
extern const dllm_family dllm__family_sm90;
extern const dllm_family dllm__family_mma;
extern const dllm_family dllm__family_gemm_chunk;
extern const dllm_family dllm__family_stream;
extern const dllm_family dllm__family_merge;
extern const dllm_family dllm__family_cpu_head;
extern const dllm_family dllm__family_cpu_sampler;
extern const dllm_family dllm__family_cpu_merge;

#endif
