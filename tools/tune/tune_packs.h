/*
 * tune_packs.h - packs as files
 */
#ifndef TUNE_PACKS_H
#define TUNE_PACKS_H

#include "cache_dirs.h"
#include "kernel_spec.h"
#include "tune.h"

/** TUNE_DONE if options->output can be written, as far as is seen without writing; else says why not. */
int tune_pack_look(const tune_options *options);

/** Packs the entries of these kernels, which are in the folder, into options->output. */
int tune_pack_kernels(const dllm_kernel_spec *specs, int count, const dllm_cache_dir *dir,
                      const tune_options *options);

#endif
