/*
 * compiler_fixture.h - a compiler over libraries and helpers of the tests, and a folder of kernels for it
 */
#ifndef COMPILER_FIXTURE_H
#define COMPILER_FIXTURE_H

#include "compiler.h"
#include "scratch.h"

#include <check.h>

#define REAL_HELPER DLLM_BINARY_DIR "/dllm-jit"
#define FAKE(name) DLLM_BINARY_DIR "/tests/lib" name ".so"

enum { PATIENT_MS = 60000 };

extern char compiler_folder[SCRATCH_BYTES]; /* good.cu and its header are in it */
extern char compiler_lines[8192];           /* what was logged, a line each */
extern const dllm_log compiler_log;         /* what logs there */
extern dllm_compiler *compiler;
extern const char *const compiler_ways[]; /* the two values of DLLM_JIT that compile */

/** A group of tests, each with a folder and a compiler of its own. */
TCase *compiler_group(Suite *suite, const char *name);

/** Makes the compiler of these variables; cache_folder remembers its build, NULL: none does. */
void compiler_make(const char *jit, const char *library, const char *cache_folder);
void compiler_remake(const char *jit, const char *library, const char *cache_folder);

dllm_status compiler_compile(dllm_compiled *out, const char *file);

/** Compiles and wants this status with these words. */
void compiler_expect_failure(const char *file, dllm_status status, const char *message);

#endif
