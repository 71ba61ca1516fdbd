/* compile_message.c - writing and reading the two messages of a compile, every length checked */
#include "compile_message.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

/* offsets in a frame; bytes 16..31 are zero */
enum { MAGIC_AT = 0, SIZE_AT = 8, DIGEST_AT = 32 };

static const char magic[8] = {'d', 'l', 'l', 'm', 'j', 'i', 't', '1'};

/** Counts while `bytes` is NULL, writes when it is not: one function describes each message. */
typedef struct writer {
    unsigned char *bytes;
    size_t size;
} writer;

static void put_bytes(writer *to, const void *bytes, size_t size)
{
    if (to->bytes && size) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_number(writer *to, uint64_t number)
{
    put_bytes(to, &number, sizeof number);
}

static void put_block(writer *to, const void *bytes, size_t size)
{
    put_number(to, size);
    put_bytes(to, bytes, size);
    put_bytes(to, "", 1);
}

static void put_text(writer *to, const char *text)
{
    put_block(to, text, strlen(text));
}

static void put_request(writer *to, const void *value)
{
    const dllm_compile_request *request = value;
    put_text(to, request->library);
    put_number(to, (uint64_t)request->options.count);
    for (int i = 0; i < request->options.count; i++)
        put_text(to, request->options.text[i]);
    put_number(to, (uint64_t)request->source_count);
    for (int i = 0; i < request->source_count; i++) {
        put_text(to, request->names[i]);
        put_text(to, request->texts[i]);
    }
}

static void put_answer(writer *to, const void *value)
{
    const dllm_compile_answer *answer = value;
    put_number(to, (uint64_t)answer->outcome);
    put_text(to, answer->reason);
    put_text(to, answer->log ? answer->log : "");
    put_block(to, answer->cubin, answer->cubin_bytes);
}

static bool encode(dllm_message *out, void (*put)(writer *, const void *), const void *value)
{
    writer to = {NULL, DLLM_FRAME_BYTES};
    put(&to, value);
    unsigned char *bytes = calloc(1, to.size);
    *out = (dllm_message){bytes, to.size};
    if (!bytes) return false;
    const uint64_t payload_bytes = to.size - DLLM_FRAME_BYTES;
    to = (writer){bytes, DLLM_FRAME_BYTES};
    put(&to, value);
    memcpy(bytes + MAGIC_AT, magic, sizeof magic);
    memcpy(bytes + SIZE_AT, &payload_bytes, sizeof payload_bytes);
    dllm__sha256(bytes + DIGEST_AT, bytes + DLLM_FRAME_BYTES, payload_bytes);
    return true;
}

void dllm__request_fill(dllm_compile_request *out, const dllm_kernel_spec *spec,
                        const dllm_source_set *sources)
{
    memset(out, 0, sizeof *out);
    out->library = "";
    dllm__kernel_options(&out->options, spec);
    out->source_count = sources->count;
    for (int i = 0; i < sources->count; i++) {
        out->names[i] = sources->sources[i].name;
        out->texts[i] = (const char *)sources->sources[i].bytes;
    }
}

bool dllm__request_encode(dllm_message *out, const dllm_compile_request *request)
{
    return encode(out, put_request, request);
}

bool dllm__answer_encode(dllm_message *out, const dllm_compile_answer *answer)
{
    return encode(out, put_answer, answer);
}

bool dllm__frame_payload_bytes(size_t *out, const unsigned char frame[DLLM_FRAME_BYTES])
{
    uint64_t size = 0;
    memcpy(&size, frame + SIZE_AT, sizeof size);
    if (memcmp(frame + MAGIC_AT, magic, sizeof magic) != 0 || size > DLLM_PAYLOAD_BYTES_MAX)
        return false;
    *out = (size_t)size;
    return true;
}

bool dllm__frame_matches(const unsigned char frame[DLLM_FRAME_BYTES], const void *payload,
                         size_t size)
{
    unsigned char digest[DLLM_SHA256_BYTES];
    dllm__sha256(digest, payload, size);
    return memcmp(digest, frame + DIGEST_AT, sizeof digest) == 0;
}

/** What is left to read; `bad` sticks, and everything taken after it is empty. */
typedef struct reader {
    const unsigned char *at;
    size_t left;
    bool bad;
} reader;

static uint64_t take_number(reader *from, uint64_t most)
{
    uint64_t number = 0;
    if (from->left < sizeof number) from->bad = true;
    if (from->bad) return 0;
    memcpy(&number, from->at, sizeof number);
    from->at += sizeof number;
    from->left -= sizeof number;
    if (number > most) from->bad = true;
    return from->bad ? 0 : number;
}

static const void *take_block(reader *from, size_t *size)
{
    const uint64_t bytes = take_number(from, DLLM_PAYLOAD_BYTES_MAX);
    *size = 0;
    if (from->bad || from->left <= bytes || from->at[bytes] != 0) {
        from->bad = true;
        return "";
    }
    const unsigned char *block = from->at;
    *size = (size_t)bytes;
    from->at += bytes + 1;
    from->left -= bytes + 1;
    return block;
}

static const char *take_text(reader *from)
{
    size_t size = 0;
    const char *text = take_block(from, &size);
    if (strlen(text) != size) from->bad = true;
    return text;
}

/** Copies a text into a field of `room` bytes. */
static void take_field(reader *from, char *field, size_t room)
{
    const char *text = take_text(from);
    const size_t length = strlen(text);
    if (length >= room) from->bad = true;
    if (!from->bad) memcpy(field, text, length + 1);
}

bool dllm__request_decode(dllm_compile_request *out, const void *payload, size_t size)
{
    reader from = {payload, size, false};
    memset(out, 0, sizeof *out);
    out->library = take_text(&from);
    out->options.count = (int)take_number(&from, DLLM_KERNEL_OPTIONS_MAX);
    for (int i = 0; i < out->options.count; i++)
        take_field(&from, out->options.text[i], DLLM_KERNEL_OPTION_BYTES);
    out->source_count = (int)take_number(&from, DLLM_SOURCES_MAX);
    for (int i = 0; i < out->source_count; i++) {
        out->names[i] = take_text(&from);
        out->texts[i] = take_text(&from);
    }
    return !from.bad && from.left == 0 && out->source_count > 0;
}

/** A block in memory of its own, with a zero byte behind it; NULL when out of memory. */
static void *copy_block(const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

bool dllm__answer_decode(dllm_compile_answer *out, const void *payload, size_t size)
{
    reader from = {payload, size, false};
    memset(out, 0, sizeof *out);
    out->outcome = (dllm_compile_outcome)take_number(&from, DLLM_COMPILE_OUTCOMES - 1);
    take_field(&from, out->reason, sizeof out->reason);
    const char *log = take_text(&from);
    const void *cubin = take_block(&from, &out->cubin_bytes);
    const bool has_cubin = out->cubin_bytes > 0;
    if (from.bad || from.left || has_cubin != (out->outcome == DLLM_COMPILED)) return false;
    out->log = copy_block(log, strlen(log));
    out->cubin = has_cubin ? copy_block(cubin, out->cubin_bytes) : NULL;
    if (!out->log || (has_cubin && !out->cubin))
        dllm__answer_no_memory(out, "the compiler's answer");
    return true;
}

void dllm__answer_no_memory(dllm_compile_answer *answer, const char *what)
{
    dllm__answer_release(answer);
    answer->outcome = DLLM_COMPILE_NO_MEMORY;
    (void)snprintf(answer->reason, sizeof answer->reason, "no memory for %s", what);
}

void dllm__answer_release(dllm_compile_answer *answer)
{
    free(answer->log);
    free(answer->cubin);
    memset(answer, 0, sizeof *answer);
}
