/*
 * test_cubin_frame.c - frame sizes out of an ELF file made by hand, whole, cut and damaged
 */
#include "cubin_frame.h"

#include "check_suite.h"

#include <elf.h>
#include <string.h>

/* As the assembler writes them: a value attribute, a sized one, and two functions' frames. */
#define FRAME(symbol, bytes)                                                                       \
    0x04, 0x11, 8, 0, symbol, 0, 0, 0, (unsigned char)(bytes), (unsigned char)((bytes) >> 8), 0, 0

typedef struct cubin {
    Elf64_Ehdr head;
    Elf64_Shdr sections[3]; /* none, names, .nv.info */
    char names[24];
    unsigned char information[40];
} cubin;

static cubin file;

static void make_file(unsigned first_frame, unsigned second_frame)
{
    const unsigned char information[] = {0x03,
                                         0x1b,
                                         0xff,
                                         0,
                                         0x04,
                                         0x2f,
                                         8,
                                         0,
                                         7,
                                         0,
                                         0,
                                         0,
                                         32,
                                         0,
                                         0,
                                         0,
                                         FRAME(7, first_frame),
                                         FRAME(8, second_frame)};
    memset(&file, 0, sizeof file);
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_shoff = offsetof(cubin, sections);
    file.head.e_shnum = 3;
    file.head.e_shstrndx = 1;
    memcpy(file.names, "\0.shstrtab\0.nv.info", sizeof "\0.shstrtab\0.nv.info");
    file.sections[1] = (Elf64_Shdr){
        .sh_name = 1, .sh_offset = offsetof(cubin, names), .sh_size = sizeof file.names};
    file.sections[2] = (Elf64_Shdr){
        .sh_name = 11, .sh_offset = offsetof(cubin, information), .sh_size = sizeof information};
    ck_assert_uint_eq(sizeof information, sizeof file.information);
    memcpy(file.information, information, sizeof information);
}

START_TEST(largest_frame_of_all_functions)
{
    make_file(0, 0);
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), 0);
    make_file(16, 1032);
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), 1032);
    make_file(1032, 16);
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), 1032);
}
END_TEST

START_TEST(a_cubin_without_frames_does_not_tell)
{
    make_file(0, 0);
    file.sections[2].sh_size = 16;
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), -1);
    make_file(0, 0);
    file.names[12] = 'x';
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), -1);
}
END_TEST

START_TEST(other_bytes_are_no_cubin)
{
    ck_assert_int_eq(cubin_frame_bytes("", 0), -1);
    make_file(0, 0);
    file.head.e_ident[0] = 0;
    ck_assert_int_eq(cubin_frame_bytes(&file, sizeof file), -1);
}
END_TEST

START_TEST(a_cut_file_does_not_tell)
{
    make_file(0, 0);
    for (size_t bytes = 0; bytes < sizeof file; bytes++)
        ck_assert_int_eq(cubin_frame_bytes(&file, bytes), -1);
}
END_TEST

/* Any byte may be wrong: nothing outside the file is read (the sanitizers watch). */
START_TEST(a_damaged_file_is_read_no_further)
{
    for (size_t at = 0; at < sizeof file; at++) {
        make_file(0, 0);
        ((unsigned char *)&file)[at] ^= 0xff;
        ck_assert_int_ge(cubin_frame_bytes(&file, sizeof file), -1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cubin_frame");
    TCase *frames = tcase_create("frames");
    tcase_add_test(frames, largest_frame_of_all_functions);
    tcase_add_test(frames, a_cubin_without_frames_does_not_tell);
    tcase_add_test(frames, other_bytes_are_no_cubin);
    tcase_add_test(frames, a_cut_file_does_not_tell);
    tcase_add_test(frames, a_damaged_file_is_read_no_further);
    suite_add_tcase(suite, frames);
    return check_suite_run(suite);
}
