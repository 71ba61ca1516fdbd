/* test_kernel_key.c - one text a kernel, another for every field; the build's line in and out */
#include "check_suite.h"

#include "kernel_key.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    dllm_kernel_spec spec;
    dllm_source_set sources;
    int schema;
} fixture;

static fixture make_fixture(void)
{
    fixture f = {.schema = DLLM_KEY_SCHEMA};
    f.spec = (dllm_kernel_spec){.file = "head_test.cu", .entry = "head_test", .arch = "sm_90a"};
    dllm__kernel_define(&f.spec, "DLLM_TILE_ROWS", 64);
    dllm__kernel_define(&f.spec, "DLLM_STAGES", 3);
    f.sources.count = 2;
    f.sources.sources[0].name = "head_test.cu";
    f.sources.sources[1].name = "base.cuh";
    memset(f.sources.sources[0].digest, 0xab, DLLM_SHA256_BYTES);
    memset(f.sources.sources[1].digest, 0x01, DLLM_SHA256_BYTES);
    return f;
}

static dllm_kernel_key key_of(const fixture *f)
{
    const dllm_kernel_identity identity = {&f->spec, &f->sources, f->schema};
    dllm_kernel_key key;
    ck_assert_int_eq(dllm__kernel_key_make(&key, &identity), DLLM_OK);
    return key;
}

START_TEST(text_is_sorted_lines_of_name_and_value)
{
    const fixture f = make_fixture();
    const dllm_kernel_key key = key_of(&f);
    ck_assert_str_eq(
        key.text,
        "arch sm_90a\n"
        "entry head_test\n"
        "option --gpu-architecture=sm_90a\n"
        "option --std=c++17\n"
        "option -DDLLM_STAGES=3\n"
        "option -DDLLM_TILE_ROWS=64\n"
        "option -default-device\n"
        "option -modify-stack-limit=false\n"
        "option -no-cache\n"
        "option -no-source-include\n"
        "program head_test.cu\n"
        "schema 1\n"
        "source base.cuh 0101010101010101010101010101010101010101010101010101010101010101\n"
        "source head_test.cu "
        "abababababababababababababababababababababababababababababababab\n");
    ck_assert_uint_eq(key.text_bytes, strlen(key.text));
}
END_TEST

START_TEST(source_key_is_the_digest_of_the_text)
{
    const fixture f = make_fixture();
    const dllm_kernel_key key = key_of(&f);
    unsigned char digest[DLLM_SHA256_BYTES];
    char hex[DLLM_SHA256_HEX_BYTES];
    dllm__sha256(digest, key.text, key.text_bytes);
    dllm__sha256_hex(hex, digest);
    ck_assert_str_eq(key.hex, hex);
}
END_TEST

START_TEST(order_of_definition_makes_no_difference)
{
    const fixture first = make_fixture();
    fixture second = make_fixture();
    second.spec.define_count = 0;
    dllm__kernel_define(&second.spec, "DLLM_STAGES", 3);
    dllm__kernel_define(&second.spec, "DLLM_TILE_ROWS", 64);
    ck_assert_str_eq(key_of(&first).hex, key_of(&second).hex);
}
END_TEST

static void flip_schema(fixture *f)
{
    f->schema++;
}

static void flip_file(fixture *f)
{
    f->spec.file = "head_tesu.cu";
}

static void flip_entry(fixture *f)
{
    f->spec.entry = "head_tesu";
}

static void flip_arch(fixture *f)
{
    memcpy(f->spec.arch, "sm_90", sizeof "sm_90");
}

static void flip_define_name(fixture *f)
{
    f->spec.defines[0].name = "DLLM_STAGE";
}

static void flip_define_value(fixture *f)
{
    f->spec.defines[1].value = -64;
}

static void flip_define_high_bits(fixture *f)
{
    f->spec.defines[1].value += (int64_t)1 << 32;
}

static void flip_define_count(fixture *f)
{
    f->spec.define_count--;
}

static void flip_source_name(fixture *f)
{
    f->sources.sources[1].name = "base2.cuh";
}

static void flip_first_digest(fixture *f)
{
    f->sources.sources[0].digest[31] ^= 1;
}

static void flip_last_digest(fixture *f)
{
    f->sources.sources[1].digest[0] ^= 0x80;
}

static void flip_source_count(fixture *f)
{
    f->sources.count--;
}

static void (*const flips[])(fixture *) = {
    flip_schema,      flip_file,         flip_entry,        flip_arch,
    flip_define_name, flip_define_value, flip_define_count, flip_define_high_bits,
    flip_source_name, flip_first_digest, flip_last_digest,  flip_source_count};

enum { FLIPS = sizeof flips / sizeof flips[0] };

START_TEST(every_field_makes_another_key)
{
    dllm_kernel_key keys[FLIPS + 1];
    for (int i = 0; i <= FLIPS; i++) {
        fixture f = make_fixture();
        if (i < FLIPS) flips[i](&f);
        keys[i] = key_of(&f);
        for (int k = 0; k < i; k++)
            ck_assert_msg(strcmp(keys[i].hex, keys[k].hex) != 0, "flips %d and %d agree", i, k);
    }
}
END_TEST

START_TEST(rejects_a_name_that_does_not_fit_a_line)
{
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    fixture f = make_fixture();
    f.sources.sources[1].name = name;
    const dllm_kernel_identity identity = {&f.spec, &f.sources, f.schema};
    dllm_kernel_key key;
    ck_assert_int_eq(dllm__kernel_key_make(&key, &identity), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "head_test.cu"));
}
END_TEST

START_TEST(fits_the_largest_set_of_sources_and_defines)
{
    fixture f = make_fixture();
    char names[DLLM_SOURCES_MAX][64];
    char defines[DLLM_DEFINES_MAX][64];
    f.sources.count = DLLM_SOURCES_MAX;
    f.spec.define_count = 0;
    for (int i = 0; i < DLLM_SOURCES_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "a_header_with_a_long_name_%02d.cuh", i);
        f.sources.sources[i].name = names[i];
    }
    for (int i = 0; i < DLLM_DEFINES_MAX; i++) {
        (void)snprintf(defines[i], sizeof defines[i], "DLLM_A_DEFINE_WITH_A_LONG_NAME_%02d", i);
        dllm__kernel_define(&f.spec, defines[i], INT64_MIN);
    }
    ck_assert_uint_gt(key_of(&f).text_bytes, 4096);
}
END_TEST

START_TEST(build_stands_in_its_place_and_comes_out_again)
{
    const fixture f = make_fixture();
    const dllm_kernel_key key = key_of(&f);
    dllm_kernel_key with;
    dllm_kernel_key back;
    char build[DLLM_BUILD_BYTES];
    dllm__kernel_key_with_build(&with, &key, "13.0.88");
    ck_assert_ptr_nonnull(strstr(with.text, "arch sm_90a\ncompiler 13.0.88\nentry head_test\n"));
    ck_assert_uint_eq(with.text_bytes, strlen(with.text));
    ck_assert(dllm__kernel_key_parse(&back, build, with.text, with.text_bytes));
    ck_assert_str_eq(back.hex, key.hex);
    ck_assert_str_eq(back.text, key.text);
    ck_assert_str_eq(build, "13.0.88");
}
END_TEST

START_TEST(text_without_a_usable_build_is_refused)
{
    static const char *const texts[] = {"",
                                        "arch sm_90a\n",
                                        "arch sm_90a\ncompiler \n",
                                        "arch sm_90a\ncompiler 13.0.88",
                                        "arch sm_90a\ncompiler ../13\n",
                                        "acompiler 13.0.88\n",
                                        "compiler 0123456789012345678901234567890123456789\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dllm_kernel_key back;
        char build[DLLM_BUILD_BYTES];
        ck_assert_msg(!dllm__kernel_key_parse(&back, build, texts[i], strlen(texts[i])), "%s",
                      texts[i]);
    }
}
END_TEST

START_TEST(only_a_plain_build_is_a_file_name)
{
    ck_assert(dllm__build_is_plain("13.0.88"));
    ck_assert(dllm__build_is_plain("12.9.1r"));
    ck_assert(!dllm__build_is_plain(""));
    ck_assert(!dllm__build_is_plain("13/../x"));
    ck_assert(!dllm__build_is_plain("13 0"));
    ck_assert(!dllm__build_is_plain("01234567890123456789012345678901"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_key");
    TCase *text = tcase_create("text");
    tcase_add_test(text, text_is_sorted_lines_of_name_and_value);
    tcase_add_test(text, source_key_is_the_digest_of_the_text);
    tcase_add_test(text, order_of_definition_makes_no_difference);
    tcase_add_test(text, every_field_makes_another_key);
    tcase_add_test(text, rejects_a_name_that_does_not_fit_a_line);
    tcase_add_test(text, fits_the_largest_set_of_sources_and_defines);
    suite_add_tcase(suite, text);
    TCase *build = tcase_create("build");
    tcase_add_test(build, build_stands_in_its_place_and_comes_out_again);
    tcase_add_test(build, text_without_a_usable_build_is_refused);
    tcase_add_test(build, only_a_plain_build_is_a_file_name);
    suite_add_tcase(suite, build);
    return check_suite_run(suite);
}
