/* pack_file.c - headers made one way and accepted in no other, manifest, members, two zero blocks */
#include "pack_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512,
    END_BYTES = 2 * BLOCK,
    PATH_BYTES = DLLM_PACK_FOLDER_BYTES + DLLM_PACK_NAME_BYTES,
    HEX = DLLM_SHA256_HEX_BYTES - 1,
    /* of a ustar header */
    AT_MODE = 100,
    AT_USER = 108,
    AT_GROUP = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_DEVICE = 329,
    AT_PREFIX = 345,
    SIZE_DIGITS = 11
};

static const char manifest_name[] = "dllm-pack-1";
static const size_t size_max = (size_t)1 << 30;

static size_t padded(size_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static void make_path(char out[PATH_BYTES], const dllm_pack_member *member)
{
    (void)snprintf(out, PATH_BYTES, "%s%s%s", member->folder, member->folder[0] ? "/" : "",
                   member->name);
}

static void put_text(unsigned char *at, const char *text)
{
    while (*text)
        *at++ = (unsigned char)*text++;
}

static void make_header(unsigned char out[BLOCK], const dllm_pack_member *member)
{
    char number[16];
    unsigned sum = 0;
    memset(out, 0, BLOCK);
    put_text(out, member->name);
    put_text(out + AT_MODE, "0000644");
    put_text(out + AT_USER, "0000000");
    put_text(out + AT_GROUP, "0000000");
    (void)snprintf(number, sizeof number, "%011zo", member->size);
    put_text(out + AT_SIZE, number);
    put_text(out + AT_TIME, "00000000000");
    out[AT_TYPE] = '0';
    put_text(out + AT_MAGIC, "ustar");
    put_text(out + AT_MAGIC + 6, "00");
    put_text(out + AT_DEVICE, "0000000");
    put_text(out + AT_DEVICE + 8, "0000000");
    put_text(out + AT_PREFIX, member->folder);
    memset(out + AT_SUM, ' ', 8); /* counts as blanks */
    for (int i = 0; i < BLOCK; i++)
        sum += out[i];
    (void)snprintf(number, sizeof number, "%06o", sum);
    memcpy(out + AT_SUM, number, 7);
}

/* ---- writing */

static int compare_members(const void *a, const void *b)
{
    char left[PATH_BYTES], right[PATH_BYTES];
    make_path(left, a);
    make_path(right, b);
    return strcmp(left, right);
}

static dllm_pack_member *find(const dllm_pack_list *list, const dllm_pack_member *like)
{
    for (int i = 0; i < list->count; i++) {
        dllm_pack_member *member = &list->members[i];
        if (strcmp(member->name, like->name) == 0 && strcmp(member->folder, like->folder) == 0)
            return member;
    }
    return NULL;
}

const dllm_pack_member *dllm__pack_list_find(const dllm_pack_list *list,
                                             const dllm_pack_member *like)
{
    return find(list, like);
}

static dllm_pack_member *add(dllm_pack_list *list)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 64;
        dllm_pack_member *moved = realloc(list->members, (size_t)room * sizeof *moved);
        if (!moved) return NULL;
        list->members = moved;
        list->room = room;
    }
    dllm_pack_member *added = &list->members[list->count++];
    added->bytes = NULL;
    return added;
}

bool dllm__pack_list_put(dllm_pack_list *list, const dllm_pack_member *member)
{
    assert(member->size <= size_max);
    unsigned char *copy = malloc(member->size + 1);
    dllm_pack_member *place = copy ? find(list, member) : NULL;
    if (copy && !place) place = add(list);
    if (!place) {
        free(copy);
        return false;
    }
    free((void *)place->bytes);
    if (member->size) memcpy(copy, member->bytes, member->size);
    *place = *member;
    place->bytes = copy;
    return true;
}

void dllm__pack_list_release(dllm_pack_list *list)
{
    for (int i = 0; i < list->count; i++)
        free((void *)list->members[i].bytes);
    free(list->members);
    *list = (dllm_pack_list){0};
}

static char *make_manifest(const dllm_pack_list *list)
{
    char *text = malloc((size_t)list->count * (HEX + 3 + PATH_BYTES) + 1);
    char *at = text;
    if (!text) return NULL;
    *at = '\0';
    for (int i = 0; i < list->count; i++) {
        const dllm_pack_member *member = &list->members[i];
        unsigned char digest[DLLM_SHA256_BYTES];
        char hex[DLLM_SHA256_HEX_BYTES], path[PATH_BYTES];
        dllm__sha256(digest, member->bytes, member->size);
        dllm__sha256_hex(hex, digest);
        make_path(path, member);
        at += sprintf(at, "%s  %s\n", hex, path);
    }
    return text;
}

static unsigned char *put_member(unsigned char *at, const dllm_pack_member *member)
{
    make_header(at, member);
    if (member->size) memcpy(at + BLOCK, member->bytes, member->size);
    return at + BLOCK + padded(member->size);
}

unsigned char *dllm__pack_write(size_t *out_bytes, dllm_pack_list *list)
{
    if (list->count)
        qsort(list->members, (size_t)list->count, sizeof *list->members, compare_members);
    char *text = make_manifest(list);
    if (!text) return NULL;
    dllm_pack_member manifest = {.bytes = (const unsigned char *)text, .size = strlen(text)};
    memcpy(manifest.name, manifest_name, sizeof manifest_name);
    size_t bytes = BLOCK + padded(manifest.size) + END_BYTES;
    for (int i = 0; i < list->count; i++)
        bytes += BLOCK + padded(list->members[i].size);
    unsigned char *pack = calloc(1, bytes);
    if (pack) {
        unsigned char *at = put_member(pack, &manifest);
        for (int i = 0; i < list->count; i++)
            at = put_member(at, &list->members[i]);
        *out_bytes = bytes;
    }
    free(text);
    return pack;
}

/* ---- reading */

static bool refuse(dllm_pack_reader *reader, const char *reason)
{
    reader->reason = reason;
    return false;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

/* Copies a field that may fill its place to the last byte. */
static void take_field(char *out, const unsigned char *from, size_t most)
{
    const size_t length = strnlen((const char *)from, most);
    memcpy(out, from, length);
    out[length] = '\0';
}

static size_t take_size(const unsigned char *header)
{
    size_t size = 0;
    for (int i = 0; i < SIZE_DIGITS; i++)
        size = size * 8 + (size_t)(header[AT_SIZE + i] & 7);
    return size;
}

/* Takes what stands at the reader; a header is right if it is the one that would be written. */
static bool take_member(dllm_pack_member *out, dllm_pack_reader *reader)
{
    unsigned char again[BLOCK];
    const size_t left = (size_t)(reader->end - reader->at);
    if (left < BLOCK) return refuse(reader, "it is cut off");
    if (is_zero(reader->at, BLOCK)) return refuse(reader, "it is cut off, or too long");
    take_field(out->name, reader->at, sizeof out->name - 1);
    take_field(out->folder, reader->at + AT_PREFIX, sizeof out->folder - 1);
    out->size = take_size(reader->at);
    out->bytes = reader->at + BLOCK;
    out->damaged = false;
    if (out->size > size_max) return refuse(reader, "a member is too large");
    make_header(again, out);
    if (memcmp(again, reader->at, BLOCK) != 0) return refuse(reader, "a header is not a pack's");
    if (padded(out->size) > left - BLOCK) return refuse(reader, "it is cut off");
    if (!is_zero(out->bytes + out->size, padded(out->size) - out->size))
        return refuse(reader, "what fills a block is not zero");
    reader->at = out->bytes + padded(out->size);
    return true;
}

void dllm__pack_open(dllm_pack_reader *out, const void *pack, size_t pack_bytes)
{
    dllm_pack_member manifest;
    *out = (dllm_pack_reader){.at = pack, .end = (const unsigned char *)pack + pack_bytes};
    if (pack_bytes < sizeof manifest_name ||
        memcmp(pack, manifest_name, sizeof manifest_name) != 0) {
        (void)refuse(out, "it does not begin with dllm-pack-1");
        return;
    }
    if (!take_member(&manifest, out)) return;
    if (manifest.folder[0]) (void)refuse(out, "its manifest is in a folder");
    out->line = (const char *)manifest.bytes;
    out->lines_end = out->line + manifest.size;
}

/* Holds a member against the next line of the manifest. */
static bool match_line(dllm_pack_member *member, dllm_pack_reader *reader, const char *path)
{
    unsigned char digest[DLLM_SHA256_BYTES];
    char hex[DLLM_SHA256_HEX_BYTES];
    const size_t length = strlen(path);
    const char *line = reader->line;
    if ((size_t)(reader->lines_end - line) < HEX + 3 + length || memcmp(line + HEX, "  ", 2) != 0 ||
        memcmp(line + HEX + 2, path, length) != 0 || line[HEX + 2 + length] != '\n')
        return refuse(reader, "its manifest names other members");
    dllm__sha256(digest, member->bytes, member->size);
    dllm__sha256_hex(hex, digest);
    member->damaged = memcmp(hex, line, HEX) != 0;
    reader->line += HEX + 3 + length;
    return true;
}

bool dllm__pack_next(dllm_pack_member *out, dllm_pack_reader *reader)
{
    char path[PATH_BYTES];
    if (reader->reason) return false;
    if (reader->end - reader->at == END_BYTES && is_zero(reader->at, END_BYTES))
        return reader->line == reader->lines_end
                   ? false
                   : refuse(reader, "a member of its manifest is missing");
    if (!take_member(out, reader)) return false;
    make_path(path, out);
    if (!out->name[0] || strcmp(reader->before, path) >= 0)
        return refuse(reader, "its members are not in order");
    memcpy(reader->before, path, sizeof path);
    return match_line(out, reader, path);
}

const char *dllm__pack_check(const void *pack, size_t pack_bytes)
{
    dllm_pack_reader reader;
    dllm_pack_member member;
    dllm__pack_open(&reader, pack, pack_bytes);
    while (dllm__pack_next(&member, &reader)) {
    }
    return reader.reason;
}
