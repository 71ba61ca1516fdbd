/* test_safetensors.c - opens sound files, refuses broken ones by name, converts every type */
#include "check_suite.h"
#include "safetensors.h"
#include "scratch.h"
#include "tensor_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char folder[SCRATCH_BYTES];
static char path[SCRATCH_BYTES + 32];
static dllm_tensor_file *file;
static dllm_message message;

static void make_folder(void)
{
    scratch_make(folder);
    ck_assert_int_gt(snprintf(path, sizeof path, "%s/t.safetensors", folder), 0);
    file = NULL;
    message.text[0] = '\0';
}

static void remove_folder(void)
{
    dllm_tensor_file_close(file);
    scratch_remove(folder);
}

/** Opens a file with this header and data; a header of 8 n bytes keeps the data aligned. */
static bool open_file(const char *header, const void *data, size_t data_bytes)
{
    tensor_fixture_write(path, header, data, data_bytes);
    return dllm_tensor_file_open(&file, path, &message);
}

static void write_bytes(const void *bytes, size_t count)
{
    FILE *stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, count, stream), count);
    ck_assert_int_eq(fclose(stream), 0);
}

/* ---- refusals -------------------------------------------------------------------------------- */

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"a\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": " offsets "}}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *reason; /* a part of the message */
} broken[] = {
    {"{\"a\": ", 0, "header is not JSON"},
    {"[]", 0, "header is not a JSON object"},
    {"{\"a\": {}, \"a\": {}}", 0, "header is not JSON"},
    {"{\"a\": {\"shape\": [1], \"data_offsets\": [0, 4]}}", 4, "tensor a has no dtype"},
    {ENTRY("U8", "[4]", "[0, 4]"), 4, "tensor a has dtype U8"},
    {ENTRY("F32", "7", "[0, 4]"), 4, "tensor a has no shape"},
    {ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "[0, 4]"), 4, "no shape of at most 8"},
    {ENTRY("F32", "[-1]", "[0, 4]"), 4, "extent 0 of its shape"},
    {ENTRY("F32", "[1, 1.5]", "[0, 4]"), 4, "extent 1 of its shape"},
    {ENTRY("F32", "[4294967296, 4294967296]", "[0, 4]"), 4, "more than 2^63"},
    {ENTRY("F32", "[4611686018427387904]", "[0, 4]"), 4, "elements of 4 bytes"},
    {ENTRY("F32", "[1]", "[0]"), 4, "no two data_offsets"},
    {ENTRY("F32", "[1]", "[0, 8]"), 4, "data_offsets 0, 8 lie outside the 4 bytes"},
    {ENTRY("F32", "[1]", "[-4, 0]"), 4, "data_offsets -4, 0 lie outside"},
    {ENTRY("F32", "[1]", "[4, 0]"), 4, "data_offsets 4, 0 lie outside"},
    {ENTRY("F32", "[2]", "[0, 4]"), 4, "span 4 bytes, its shape has 2 elements of 4 bytes"},
    {ENTRY("F32", "[1]", "[4, 8]"), 8, "tensor a does not begin where"},
    {ENTRY("BF16", "[1]", "[0, 2]"), 4, "last 2 bytes belong to no tensor"},
};

START_TEST(refuses_broken_header)
{
    char padded[512];
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-128s", broken[_i].header), 0);
    const float data[2] = {0.0f, 0.0f};
    ck_assert_msg(!open_file(padded, data, broken[_i].data_bytes), "%s", padded);
    ck_assert_msg(strstr(message.text, broken[_i].reason), "%s: %s", padded, message.text);
}
END_TEST

START_TEST(refuses_misaligned_tensor)
{
    const float data = 1.0f;
    const char *header = ENTRY("F32", "[1]", "[0, 4]");
    char padded[512];
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-129s", header), 0);
    ck_assert(!open_file(padded, &data, sizeof data));
    ck_assert_ptr_nonnull(strstr(message.text, "not at a multiple of its element's 4 bytes"));
}
END_TEST

START_TEST(refuses_overlapping_tensors)
{
    const char *header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}";
    char padded[512];
    const float data[3] = {0.0f, 0.0f, 0.0f};
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-128s", header), 0);
    ck_assert(!open_file(padded, data, sizeof data));
    ck_assert_ptr_nonnull(strstr(message.text, "tensor b does not begin where"));
}
END_TEST

START_TEST(refuses_header_longer_than_file)
{
    const unsigned char bytes[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    write_bytes(bytes, sizeof bytes);
    ck_assert(!dllm_tensor_file_open(&file, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "header length 3 passes the end of the file"));
}
END_TEST

START_TEST(refuses_header_length_near_2_to_64)
{
    unsigned char bytes[10];
    memset(bytes, 0xff, sizeof bytes);
    write_bytes(bytes, sizeof bytes);
    ck_assert(!dllm_tensor_file_open(&file, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "header length 18446744073709551615"));
}
END_TEST

START_TEST(refuses_file_without_header)
{
    write_bytes("12345678", 8);
    ck_assert(!dllm_tensor_file_open(&file, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "has 8 bytes, too few"));
}
END_TEST

START_TEST(refuses_absent_file_and_folder)
{
    ck_assert(!dllm_tensor_file_open(&file, path, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "cannot be opened: No such file"));
    ck_assert(!dllm_tensor_file_open(&file, folder, &message));
    ck_assert_ptr_nonnull(strstr(message.text, "is not a regular file"));
}
END_TEST

/* ---- contents -------------------------------------------------------------------------------- */

START_TEST(finds_tensors_with_shape_and_data)
{
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
                         "\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}";
    char padded[512];
    const float data[4] = {0.0f, 0.0f, 3.0f, 4.0f};
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-256s", header), 0);
    ck_assert_msg(open_file(padded, data, sizeof data), "%s", message.text);
    ck_assert_uint_eq(dllm_tensor_file_count(file), 2);
    const dllm_tensor *tensor = dllm_tensor_file_find(file, "b");
    ck_assert_ptr_nonnull(tensor);
    ck_assert_int_eq(tensor->rank, 2);
    ck_assert_int_eq(tensor->elements, 2);
    ck_assert(((const float *)tensor->data)[1] == 4.0f);
    ck_assert_int_eq(dllm_tensor_file_find(file, "a")->elements, 1);
    ck_assert_ptr_null(dllm_tensor_file_find(file, "__metadata__"));
}
END_TEST

START_TEST(takes_empty_tensor)
{
    char padded[256];
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-128s", ENTRY("F32", "[0, 5]", "[0, 0]")),
                     0);
    ck_assert_msg(open_file(padded, NULL, 0), "%s", message.text);
    ck_assert_int_eq(dllm_tensor_file_find(file, "a")->elements, 0);
}
END_TEST

START_TEST(require_names_shape_found_and_wanted)
{
    const float data[2] = {0.0f, 0.0f};
    const int64_t wanted[] = {2, 1};
    const dllm_tensor *tensor = NULL;
    char padded[256];
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-128s", ENTRY("F32", "[1, 2]", "[0, 8]")),
                     0);
    ck_assert_msg(open_file(padded, data, sizeof data), "%s", message.text);
    ck_assert(!dllm_tensor_file_require(&tensor, file, "a", 2, wanted, &message));
    ck_assert_str_eq(message.text, "tensor a has shape [1, 2], wanted [2, 1]");
    ck_assert(!dllm_tensor_file_require(&tensor, file, "b", 2, wanted, &message));
    ck_assert_str_eq(message.text, "tensor b is missing, wanted with shape [2, 1]");
    ck_assert_ptr_null(tensor);
}
END_TEST

/* bits of an element, little endian, and its value */
static const struct {
    const char *dtype;
    unsigned char bits[8];
    size_t bytes;
    float value;
} elements[] = {
    {"BF16", {0x80, 0x3f}, 2, 1.0f},
    {"BF16", {0x01, 0x80}, 2, -0x1p-133f},
    {"BF16", {0x80, 0xff}, 2, -INFINITY},
    {"F16", {0x00, 0x3c}, 2, 1.0f},
    {"F16", {0xff, 0x7b}, 2, 65504.0f},
    {"F16", {0x01, 0x80}, 2, -0x1p-24f},
    {"F16", {0xff, 0x03}, 2, 0x3ffp-24f},
    {"F16", {0x00, 0x04}, 2, 0x1p-14f},
    {"F16", {0x00, 0xfc}, 2, -INFINITY},
    {"F32", {0x01, 0x00, 0x80, 0x3f}, 4, 1.0f + 0x1p-23f},
    {"F64", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, 8, -1.5f},
    {"I64", {0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, -3.0f},
};

START_TEST(converts_element)
{
    char header[128];
    char padded[256];
    const size_t bytes = elements[_i].bytes;
    (void)snprintf(header, sizeof header, ENTRY("%s", "[2]", "[0, %zu]"), elements[_i].dtype,
                   2 * bytes);
    (void)snprintf(padded, sizeof padded, "%-128s", header);
    unsigned char data[16] = {0}; /* element 0 is zero, element 1 the one of the table */
    memcpy(data + bytes, elements[_i].bits, bytes);
    ck_assert_msg(open_file(padded, data, 2 * bytes), "%s", message.text);
    float value = NAN;
    dllm_tensor_to_fp32(&value, dllm_tensor_file_find(file, "a"), 1, 1);
    ck_assert_msg(value == elements[_i].value, "%s, row %d: got %a, wanted %a", elements[_i].dtype,
                  _i, (double)value, (double)elements[_i].value);
}
END_TEST

START_TEST(keeps_fp16_nan)
{
    const unsigned char data[] = {0x01, 0x7c};
    char padded[256];
    ck_assert_int_gt(snprintf(padded, sizeof padded, "%-128s", ENTRY("F16", "[1]", "[0, 2]")), 0);
    ck_assert_msg(open_file(padded, data, sizeof data), "%s", message.text);
    float value = 0.0f;
    dllm_tensor_to_fp32(&value, dllm_tensor_file_find(file, "a"), 0, 1);
    ck_assert(isnan(value));
}
END_TEST

START_TEST(opens_model_of_the_tree)
{
    ck_assert_msg(dllm_tensor_file_open(
                      &file, DLLM_SOURCE_DIR "/tests/data/austen/model.safetensors", &message),
                  "%s", message.text);
    const dllm_tensor *head = dllm_tensor_file_find(file, "model.transformer.ff_out.weight");
    ck_assert_ptr_nonnull(head);
    ck_assert_int_eq(head->shape[0], 4096);
    ck_assert_int_eq(head->shape[1], 256);
    ck_assert_str_eq(dllm_tensor_type_name(head->type), "BF16");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, make_folder, remove_folder);
    tcase_add_loop_test(refusals, refuses_broken_header, 0,
                        (int)(sizeof broken / sizeof broken[0]));
    tcase_add_test(refusals, refuses_misaligned_tensor);
    tcase_add_test(refusals, refuses_overlapping_tensors);
    tcase_add_test(refusals, refuses_header_longer_than_file);
    tcase_add_test(refusals, refuses_header_length_near_2_to_64);
    tcase_add_test(refusals, refuses_file_without_header);
    tcase_add_test(refusals, refuses_absent_file_and_folder);
    suite_add_tcase(suite, refusals);
    TCase *contents = tcase_create("contents");
    tcase_add_checked_fixture(contents, make_folder, remove_folder);
    tcase_add_test(contents, finds_tensors_with_shape_and_data);
    tcase_add_test(contents, takes_empty_tensor);
    tcase_add_test(contents, require_names_shape_found_and_wanted);
    tcase_add_loop_test(contents, converts_element, 0, (int)(sizeof elements / sizeof elements[0]));
    tcase_add_test(contents, keeps_fp16_nan);
    tcase_add_test(contents, opens_model_of_the_tree);
    suite_add_tcase(suite, contents);
    return check_suite_run(suite);
}
