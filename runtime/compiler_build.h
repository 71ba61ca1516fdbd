/*
 * compiler_build.h - a compiler's full version: the program that tells it, and its memory on disk
 *
 * nvrtcVersion knows major and minor only. The third part is learned by one small compile and kept
 * in v1/nvrtc of the cache folder under size, inode and change time of the library's files, so that
 * a warm start compiles nothing. A wrong memory would mislabel cubins, not spoil them.
 */
#ifndef DLLM_COMPILER_BUILD_H
#define DLLM_COMPILER_BUILD_H

#include <stdbool.h>

#include "cache_dirs.h"
#include "nvrtc.h"

enum { DLLM_COMPILER_BUILD_BYTES = 32, DLLM_COMPILER_IDENTITY_BYTES = 192 };

/** Fills the request whose cubin dllm__build_of_probe can read. */
void dllm__build_probe(dllm_compile_request *out);

/** Finds "13.0.88" in the probe's cubin; false if it is not there. */
bool dllm__build_of_probe(char out[DLLM_COMPILER_BUILD_BYTES], const dllm_compile_answer *answer);

/** The identity of an opened library's files, fit for a file name; false if they cannot be seen. */
bool dllm__build_identity(char out[DLLM_COMPILER_IDENTITY_BYTES], const dllm_nvrtc *nvrtc);

/** Reads what was remembered; false if nothing, or nothing that fits this library's version. */
bool dllm__build_recall(char out[DLLM_COMPILER_BUILD_BYTES], const dllm_nvrtc *nvrtc,
                        const char *cache_folder);

/** Remembers a build, in a folder that exists; false with the reason in `why` if it does not take it. */
bool dllm__build_remember(char why[DLLM_WHY_BYTES], const char *build, const dllm_nvrtc *nvrtc,
                          const char *cache_folder);

#endif
