/*
 * cubin_frame.c - reads the frame sizes that the assembler notes in a cubin
 *
 * A cubin is an ELF file. Its section .nv.info is a list of attributes: format and number in a byte
 * each, then 2 bytes that are the value, or with format 4 the size of what follows. Attribute 0x11
 * is {symbol, frame size}, 4 bytes each, once a function.
 */
#include "cubin_frame.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum { FORMAT_SIZED = 4, ATTRIBUTE_FRAME_SIZE = 0x11, HEAD_BYTES = 4 };

typedef struct bytes_view {
    const unsigned char *data;
    size_t size;
} bytes_view;

/* Copies a piece; false if it is not wholly there. */
static bool take(void *out, const bytes_view *from, uint64_t at, size_t size)
{
    if (at > from->size || size > from->size - at) return false;
    memcpy(out, from->data + at, size);
    return true;
}

static bool is_called(const bytes_view *file, const Elf64_Shdr *names, uint32_t at,
                      const char *wanted)
{
    char name[16] = "";
    const size_t length = strlen(wanted) + 1;
    return at < names->sh_size && length <= sizeof name &&
           take(name, file, names->sh_offset + at, length) && memcmp(name, wanted, length) == 0;
}

static bool find_information(bytes_view *out, const bytes_view *file)
{
    Elf64_Ehdr head;
    Elf64_Shdr names;
    Elf64_Shdr section;
    if (!take(&head, file, 0, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        !take(&names, file, head.e_shoff + (uint64_t)head.e_shstrndx * sizeof names, sizeof names))
        return false;
    for (uint64_t i = 0; i < head.e_shnum; i++) {
        if (!take(&section, file, head.e_shoff + i * sizeof section, sizeof section)) return false;
        if (!is_called(file, &names, section.sh_name, ".nv.info")) continue;
        if (section.sh_offset > file->size || section.sh_size > file->size - section.sh_offset)
            return false;
        *out = (bytes_view){file->data + section.sh_offset, section.sh_size};
        return true;
    }
    return false;
}

int64_t cubin_frame_bytes(const void *cubin, size_t bytes)
{
    const bytes_view file = {cubin, bytes};
    bytes_view information;
    int64_t largest = -1;
    if (!find_information(&information, &file)) return -1;
    for (size_t at = 0; at < information.size;) {
        unsigned char head[HEAD_BYTES];
        uint16_t size = 0;
        uint32_t frame[2]; /* symbol, bytes */
        if (!take(head, &information, at, sizeof head)) return -1;
        at += sizeof head;
        if (head[0] != FORMAT_SIZED) continue;
        memcpy(&size, head + 2, sizeof size);
        if (head[1] == ATTRIBUTE_FRAME_SIZE) {
            if (size != sizeof frame || !take(frame, &information, at, sizeof frame)) return -1;
            if (frame[1] > largest) largest = frame[1];
        }
        at += size;
    }
    return largest;
}
