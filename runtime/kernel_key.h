/*
 * kernel_key.h - the canonical text of a kernel's identity, and its digest
 *
 * One `name value` a line, sorted: arch, entry, options, program, schema and the digest of every
 * source. The SHA-256 of the text is the source key. The compiler's build is no part of it, since a
 * machine without a compiler cannot know it; an entry on disk carries it as one more line.
 */
#ifndef DLLM_KERNEL_KEY_H
#define DLLM_KERNEL_KEY_H

#include "kernel_sources.h"
#include "kernel_spec.h"
#include "sha256.h"

#include <stdbool.h>

enum { DLLM_KEY_TEXT_BYTES = 8192, DLLM_BUILD_BYTES = 32 };

typedef struct dllm_kernel_key {
    char hex[DLLM_SHA256_HEX_BYTES]; /* the source key */
    size_t text_bytes;
    char text[DLLM_KEY_TEXT_BYTES]; /* ends with a zero byte that text_bytes does not count */
} dllm_kernel_key;

/** Everything that identifies a compiled kernel, but for the compiler's build. */
typedef struct dllm_kernel_identity {
    const dllm_kernel_spec *spec;
    const dllm_source_set *sources; /* of spec->file */
    int schema;                     /* DLLM_KEY_SCHEMA */
} dllm_kernel_identity;

/** Raised when the meaning of the text changes. */
enum { DLLM_KEY_SCHEMA = 1 };

/** DLLM_UNSUPPORTED when a line or the text would not fit. */
dllm_status dllm__kernel_key_make(dllm_kernel_key *out, const dllm_kernel_identity *identity);

/** The same, with the sources collected for it. */
dllm_status dllm__kernel_key(dllm_kernel_key *out, const dllm_kernel_spec *spec);

/** True if a build can stand in a file name and a key line: digits, letters and dots, 1 to 31. */
bool dllm__build_is_plain(const char *build);

/** The text of an entry: the key's own with the line `compiler BUILD` in its place. */
void dllm__kernel_key_with_build(dllm_kernel_key *out, const dllm_kernel_key *key,
                                 const char *build);

/** The way back: key and build of an entry's text; false if it is none. */
bool dllm__kernel_key_parse(dllm_kernel_key *out, char build[DLLM_BUILD_BYTES], const char *text,
                            size_t text_bytes);

/** The value of the line of that name ("arch"), false if there is none that fits. */
bool dllm__kernel_key_line(char *out, size_t out_bytes, const dllm_kernel_key *key,
                           const char *name);

#endif
