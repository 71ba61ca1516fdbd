/*
 * tokenizer.h - text to token ids and back, by a vocabulary file
 *
 * The file has one token a line, its line number from 0 on is its id; bytes outside printable
 * ASCII, the backslash and the space stand as \xHH. Text is cut into pieces by the pattern `
 * ?[A-Za-z]+` | newline | ` ?[^A-Za-z newline]`      (first alternative that matches, bytes) and in
 * each piece the adjacent pair whose concatenation has the lowest id is joined, the leftmost of
 * equal ones, until no concatenation is in the vocabulary.
 */
#ifndef DLLM_TOOL_TOKENIZER_H
#define DLLM_TOOL_TOKENIZER_H

#include "message.h"

#include <stddef.h>
#include <stdint.h>

/** A vocabulary; immutable, for any number of threads. */
typedef struct dllm_tokenizer dllm_tokenizer;

/**
 * Reads a vocabulary. False with a message: it cannot be read, a line is empty or has a broken
 * escape, or a single byte has no token (then some text could not be encoded).
 * Owner    release with dllm_tokenizer_close.
 */
bool dllm_tokenizer_open(dllm_tokenizer **out, const char *path, dllm_message *message);

/** Releases a vocabulary; takes NULL. */
void dllm_tokenizer_close(dllm_tokenizer *tokenizer);

/** Number of tokens; ids are below it. */
int64_t dllm_tokenizer_count(const dllm_tokenizer *tokenizer);

/** Bytes of one token, 0 <= id < count; not ended by a zero, since a zero byte is a token too. */
const char *dllm_tokenizer_token(const dllm_tokenizer *tokenizer, int64_t id, size_t *size_bytes);

/**
 * Encodes text.
 * out_ids  (text_bytes) int32: a token has at least one byte, so that always suffices
 * False with a message when memory runs out.
 */
bool dllm_tokenizer_encode(const dllm_tokenizer *tokenizer, const char *text, size_t text_bytes,
                           int32_t *out_ids, int64_t *out_count, dllm_message *message);

/**
 * Decodes ids, each of them below count: their bytes one after the other.
 * out      a buffer of *out_bytes bytes and a closing zero, released with free()
 */
bool dllm_tokenizer_decode(const dllm_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                           char **out, size_t *out_bytes, dllm_message *message);

#endif
