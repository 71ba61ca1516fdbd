/*
 * pack_file.h - many files of the cache in one: a tar archive that depends on its contents alone
 *
 * First the manifest, dllm-pack-1, a line "SHA-256  path" a member, as sha256sum writes them; then the
 * members in the order of their paths. No times, no owners, mode 0644: equal contents give equal
 * bytes, and tar unpacks a pack into a cache folder. Only archives that this file could have written
 * are read.
 */
#ifndef DLLM_PACK_FILE_H
#define DLLM_PACK_FILE_H

#include "sha256.h"

#include <stdbool.h>

/* "v1/t/<gpu>" fits the header's prefix, an entry's name its name. */
enum { DLLM_PACK_FOLDER_BYTES = 156, DLLM_PACK_NAME_BYTES = 101 };

typedef struct dllm_pack_member {
    char folder[DLLM_PACK_FOLDER_BYTES]; /* "v1/k/3f"; "" for the manifest */
    char name[DLLM_PACK_NAME_BYTES];
    const unsigned char *bytes;
    size_t size;
    bool damaged; /* read: the bytes are not those of the manifest */
} dllm_pack_member;

/* ---- writing */

/** Members to be written; their bytes are the list's own. Starts as zeros. */
typedef struct dllm_pack_list {
    int count;
    int room;
    dllm_pack_member *members;
} dllm_pack_list;

/** Adds a copy of a member, in place of one with the same path; false without memory. */
bool dllm__pack_list_put(dllm_pack_list *list, const dllm_pack_member *member);
/** The member of that path, or NULL. */
const dllm_pack_member *dllm__pack_list_find(const dllm_pack_list *list,
                                             const dllm_pack_member *like);
void dllm__pack_list_release(dllm_pack_list *list);

/** The archive, free() it; NULL without memory. Sorts the list. */
unsigned char *dllm__pack_write(size_t *out_bytes, dllm_pack_list *list);

/* ---- reading */

typedef struct dllm_pack_reader {
    const unsigned char *at, *end;
    const char *line, *lines_end; /* of the manifest: those that are left */
    char before[DLLM_PACK_FOLDER_BYTES + DLLM_PACK_NAME_BYTES]; /* path of the member before */
    const char *reason; /* why it is no pack (static text), NULL as long as it is one */
} dllm_pack_reader;

/** Starts at the first member. The archive stays where it is. */
void dllm__pack_open(dllm_pack_reader *out, const void *pack, size_t pack_bytes);

/** The next member; false at the end, or with `reason` where it is no pack. */
bool dllm__pack_next(dllm_pack_member *out, dllm_pack_reader *reader);

/** Reads to the end: NULL for a whole pack, or why it is none. Members may still be damaged. */
const char *dllm__pack_check(const void *pack, size_t pack_bytes);

#endif
