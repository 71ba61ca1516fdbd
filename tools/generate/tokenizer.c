/*
 * tokenizer.c - see tokenizer.h
 *
 * Tokens lie one after the other in one block of bytes; a list of ids sorted by their bytes finds
 * the id of a byte string by bisection.
 */
#include "tokenizer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID INT32_MAX

struct dllm_tokenizer {
    int64_t count;
    char *bytes;
    size_t bytes_used;
    size_t *offset;  /* (count + 1) where each token's bytes begin */
    int32_t *sorted; /* (count) ids by their bytes, equal ones by id */
};

static bool is_letter(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

static int compare_bytes(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_ids(const void *left, const void *right, void *user)
{
    const dllm_tokenizer *tokenizer = user;
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;
    size_t a_bytes;
    size_t b_bytes;
    const char *a_token = dllm_tokenizer_token(tokenizer, a, &a_bytes);
    const char *b_token = dllm_tokenizer_token(tokenizer, b, &b_bytes);
    const int order = compare_bytes(a_token, a_bytes, b_token, b_bytes);
    return order ? order : (a > b) - (a < b);
}

/** The lowest id with these bytes, NO_ID if there is none. */
static int32_t find_id(const dllm_tokenizer *tokenizer, const char *bytes, size_t count)
{
    int64_t low = 0;
    int64_t high = tokenizer->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        size_t size_bytes;
        const char *token = dllm_tokenizer_token(tokenizer, tokenizer->sorted[middle], &size_bytes);
        if (compare_bytes(token, size_bytes, bytes, count) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == tokenizer->count) return NO_ID;
    size_t size_bytes;
    const char *token = dllm_tokenizer_token(tokenizer, tokenizer->sorted[low], &size_bytes);
    const bool equal = compare_bytes(token, size_bytes, bytes, count) == 0;
    return equal ? tokenizer->sorted[low] : NO_ID;
}

/* ---- reading the vocabulary ------------------------------------------------------------------ */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/** Takes one line apart in place; the number of bytes it stands for, -1 for a broken escape. */
static int64_t unescape(char *line, size_t line_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < line_bytes; i++) {
        if (line[i] != '\\') {
            line[used++] = line[i];
            continue;
        }
        if (line_bytes - i < 4 || line[i + 1] != 'x') return -1;
        const int high = hex_digit(line[i + 2]);
        const int low = hex_digit(line[i + 3]);
        if (high < 0 || low < 0) return -1;
        line[used++] = (char)(unsigned char)(high * 16 + low);
        i += 3;
    }
    return (int64_t)used;
}

static bool read_file(char **out, size_t *out_bytes, const char *path, dllm_message *message)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) return DLLM_REFUSE(message, "%s cannot be opened: %s", path, strerror(errno));
    char *text = NULL;
    size_t capacity = 0;
    size_t used = 0;
    bool read = true;
    while (read && !feof(stream)) {
        if (used == capacity) {
            capacity = capacity ? capacity * 2 : 65536;
            char *larger = realloc(text, capacity);
            read = larger != NULL;
            if (!read) break;
            text = larger;
        }
        used += fread(text + used, 1, capacity - used, stream);
        read = !ferror(stream);
    }
    if (fclose(stream) != 0 || !read) {
        free(text);
        return DLLM_REFUSE(message, "%s cannot be read", path);
    }
    *out = text;
    *out_bytes = used;
    return true;
}

/** Cuts the text into lines and each line into its bytes, which only get fewer: in place. */
static bool read_tokens(dllm_tokenizer *tokenizer, size_t text_bytes, const char *path,
                        dllm_message *message)
{
    char *text = tokenizer->bytes;
    size_t from = 0;
    while (from < text_bytes) {
        const char *newline = memchr(text + from, '\n', text_bytes - from);
        const size_t line_bytes = (newline ? (size_t)(newline - text) : text_bytes) - from;
        const int64_t bytes = unescape(text + from, line_bytes);
        if (bytes <= 0)
            return DLLM_REFUSE(message, "%s: line %jd is empty or has an escape other than \\xHH",
                               path, (intmax_t)tokenizer->count + 1);
        memmove(text + tokenizer->bytes_used, text + from, (size_t)bytes);
        tokenizer->offset[tokenizer->count++] = tokenizer->bytes_used;
        tokenizer->bytes_used += (size_t)bytes;
        from += line_bytes + 1;
    }
    tokenizer->offset[tokenizer->count] = tokenizer->bytes_used;
    return true;
}

static bool sort_tokens(dllm_tokenizer *tokenizer, const char *path, dllm_message *message)
{
    for (int64_t id = 0; id < tokenizer->count; id++)
        tokenizer->sorted[id] = (int32_t)id;
    qsort_r(tokenizer->sorted, (size_t)tokenizer->count, sizeof *tokenizer->sorted, compare_ids,
            tokenizer);
    for (int value = 0; value < 256; value++) {
        const char byte = (char)(unsigned char)value;
        if (find_id(tokenizer, &byte, 1) == NO_ID)
            return DLLM_REFUSE(message, "%s: byte 0x%02x has no token", path, (unsigned)value);
    }
    return true;
}

bool dllm_tokenizer_open(dllm_tokenizer **out, const char *path, dllm_message *message)
{
    bool done = false;
    size_t text_bytes = 0;
    size_t lines = 2; /* a last line without its newline, and the end of the offsets */
    dllm_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (!tokenizer) return DLLM_REFUSE(message, "out of memory");
    if (!read_file(&tokenizer->bytes, &text_bytes, path, message)) goto done;
    for (size_t i = 0; i < text_bytes; i++)
        lines += tokenizer->bytes[i] == '\n';
    tokenizer->offset = calloc(lines, sizeof *tokenizer->offset);
    tokenizer->sorted = calloc(lines, sizeof *tokenizer->sorted);
    if (!tokenizer->offset || !tokenizer->sorted || lines > INT32_MAX) {
        dllm_message_set(message, "out of memory for the %zu lines of %s", lines - 2, path);
        goto done;
    }
    done =
        read_tokens(tokenizer, text_bytes, path, message) && sort_tokens(tokenizer, path, message);
done:
    if (done)
        *out = tokenizer;
    else
        dllm_tokenizer_close(tokenizer);
    return done;
}

void dllm_tokenizer_close(dllm_tokenizer *tokenizer)
{
    if (!tokenizer) return;
    free(tokenizer->sorted);
    free(tokenizer->offset);
    free(tokenizer->bytes);
    free(tokenizer);
}

int64_t dllm_tokenizer_count(const dllm_tokenizer *tokenizer)
{
    return tokenizer->count;
}

const char *dllm_tokenizer_token(const dllm_tokenizer *tokenizer, int64_t id, size_t *size_bytes)
{
    assert(id >= 0);
    assert(id < tokenizer->count);
    *size_bytes = tokenizer->offset[id + 1] - tokenizer->offset[id];
    return tokenizer->bytes + tokenizer->offset[id];
}

/* ---- encoding and decoding ------------------------------------------------------------------- */

/** Bytes of the piece that begins the text. */
static size_t piece_bytes(const char *text, size_t text_bytes)
{
    const size_t space = text[0] == ' ' && text_bytes > 1;
    size_t end = space;
    while (end < text_bytes && is_letter(text[end]))
        end++;
    if (end > space) return end;
    if (text[0] == '\n') return 1;
    return space && text[1] != '\n' ? 2 : 1;
}

/**
 * Joins the bytes of one piece to tokens; `start` (bytes + 1) is room for where each token begins.
 * A round costs one look-up a pair: pieces are words, so the square of their length is small.
 */
static int64_t encode_piece(const dllm_tokenizer *tokenizer, const char *piece, size_t bytes,
                            size_t *start, int32_t *out_ids)
{
    size_t tokens = bytes;
    for (size_t i = 0; i <= bytes; i++)
        start[i] = i;
    for (;;) {
        int32_t lowest = NO_ID;
        size_t place = 0;
        for (size_t i = 0; i + 1 < tokens; i++) {
            const int32_t id = find_id(tokenizer, piece + start[i], start[i + 2] - start[i]);
            if (id >= lowest) continue;
            lowest = id;
            place = i;
        }
        if (lowest == NO_ID) break;
        memmove(&start[place + 1], &start[place + 2], (tokens - place - 1) * sizeof *start);
        tokens--;
    }
    for (size_t i = 0; i < tokens; i++)
        out_ids[i] = find_id(tokenizer, piece + start[i], start[i + 1] - start[i]);
    return (int64_t)tokens;
}

bool dllm_tokenizer_encode(const dllm_tokenizer *tokenizer, const char *text, size_t text_bytes,
                           int32_t *out_ids, int64_t *out_count, dllm_message *message)
{
    size_t *start = calloc(text_bytes + 1, sizeof *start);
    if (!start) return DLLM_REFUSE(message, "out of memory for a text of %zu bytes", text_bytes);
    int64_t count = 0;
    for (size_t from = 0; from < text_bytes;) {
        const size_t bytes = piece_bytes(text + from, text_bytes - from);
        count += encode_piece(tokenizer, text + from, bytes, start, out_ids + count);
        from += bytes;
    }
    free(start);
    *out_count = count;
    return true;
}

bool dllm_tokenizer_decode(const dllm_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                           char **out, size_t *out_bytes, dllm_message *message)
{
    size_t total = 0;
    size_t size_bytes;
    for (int64_t i = 0; i < count; i++) {
        (void)dllm_tokenizer_token(tokenizer, ids[i], &size_bytes);
        total += size_bytes;
    }
    char *text = malloc(total + 1);
    if (!text) return DLLM_REFUSE(message, "out of memory for a text of %zu bytes", total);
    size_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        const char *token = dllm_tokenizer_token(tokenizer, ids[i], &size_bytes);
        memcpy(text + used, token, size_bytes);
        used += size_bytes;
    }
    text[used] = '\0';
    *out = text;
    *out_bytes = used;
    return true;
}
