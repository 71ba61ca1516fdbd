/*
 * compile_message.h - a compile's request and answer as values, and as bytes between two processes
 *
 * A message is a frame of 64 bytes (magic, length and SHA-256 of the payload) and the payload:
 * numbers of 8 bytes and strings with their length in front and a zero byte behind, in the
 * machine's own order, for both ends run on it. Before all messages the helper says hello.
 */
#ifndef DLLM_COMPILE_MESSAGE_H
#define DLLM_COMPILE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel_sources.h"
#include "kernel_spec.h"

/** What the compiler is to do. A value that points at texts owned by whoever made it. */
typedef struct dllm_compile_request {
    const char *library; /* absolute path of libnvrtc, "" where it is open already */
    dllm_kernel_options options;
    int source_count;                    /* the program first, then what it includes */
    const char *names[DLLM_SOURCES_MAX]; /* "head_mma.cu" */
    const char *texts[DLLM_SOURCES_MAX];
} dllm_compile_request;

typedef enum dllm_compile_outcome {
    DLLM_COMPILED,       /* the cubin is there */
    DLLM_REJECTED,       /* the source or an option is wrong; the log says where */
    DLLM_CANNOT_COMPILE, /* the compiler is missing or unusable, its builtins for instance */
    DLLM_COMPILE_NO_MEMORY,
    DLLM_COMPILE_OUTCOMES /* their number */
} dllm_compile_outcome;

/** What came of it; release with dllm__answer_release. */
typedef struct dllm_compile_answer {
    dllm_compile_outcome outcome;
    char reason[512];     /* one line unless compiled */
    char *log;            /* the compiler's words; NULL is none */
    unsigned char *cubin; /* NULL unless compiled */
    size_t cubin_bytes;
} dllm_compile_answer;

/** A whole message: frame and payload; free(bytes) releases it. */
typedef struct dllm_message {
    unsigned char *bytes;
    size_t size;
} dllm_message;

enum { DLLM_FRAME_BYTES = 64 };
#define DLLM_PAYLOAD_BYTES_MAX ((size_t)256 << 20)

/** What a helper says first; another text means another program or version. */
#define DLLM_HELLO "dllm-jit wire 1\n"
enum { DLLM_HELLO_BYTES = sizeof DLLM_HELLO - 1 };

/** Fills a request for one kernel; it points into `sources`. */
void dllm__request_fill(dllm_compile_request *out, const dllm_kernel_spec *spec,
                        const dllm_source_set *sources);

/** False when out of memory. */
bool dllm__request_encode(dllm_message *out, const dllm_compile_request *request);
bool dllm__answer_encode(dllm_message *out, const dllm_compile_answer *answer);

/** The payload's length; false unless the frame is one and the length is within bounds. */
bool dllm__frame_payload_bytes(size_t *out, const unsigned char frame[DLLM_FRAME_BYTES]);

/** True if the payload has the digest of its frame. */
bool dllm__frame_matches(const unsigned char frame[DLLM_FRAME_BYTES], const void *payload,
                         size_t size);

/** False if the payload is not a request. The request points into the payload. */
bool dllm__request_decode(dllm_compile_request *out, const void *payload, size_t size);

/**
 * False if the payload is not an answer; then nothing is held. One that there is no memory for
 * becomes DLLM_COMPILE_NO_MEMORY.
 */
bool dllm__answer_decode(dllm_compile_answer *out, const void *payload, size_t size);

/** Makes it the answer of a compile that had no memory for `what`. */
void dllm__answer_no_memory(dllm_compile_answer *answer, const char *what);

/** Frees what an answer holds and leaves it empty. */
void dllm__answer_release(dllm_compile_answer *answer);

#endif
