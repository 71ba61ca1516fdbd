/* test_compile_message.c - requests and answers survive the wire, damaged ones are refused */
#include <stdlib.h>
#include <string.h>

#include "check_suite.h"
#include "compile_message.h"

static dllm_compile_request sample_request(void)
{
    dllm_compile_request request = {.library = "/lib/libnvrtc.so.13",
                                    .options = {2, {"--gpu-architecture=sm_80", "-DA=1"}},
                                    .source_count = 2,
                                    .names = {"a.cu", "b.cuh"},
                                    .texts = {"int a;\n", ""}};
    return request;
}

static dllm_message encoded_request(void)
{
    const dllm_compile_request request = sample_request();
    dllm_message message;
    ck_assert(dllm__request_encode(&message, &request));
    return message;
}

static dllm_message encoded_answer(void)
{
    static unsigned char cubin[] = {0, 1, 2, 0, 255};
    const dllm_compile_answer answer = {
        .outcome = DLLM_COMPILED, .log = "a warning\n", .cubin = cubin, .cubin_bytes = 5};
    dllm_message message;
    ck_assert(dllm__answer_encode(&message, &answer));
    return message;
}

static const unsigned char *payload_of(const dllm_message *message)
{
    return message->bytes + DLLM_FRAME_BYTES;
}

START_TEST(request_survives_the_wire)
{
    const dllm_compile_request wanted = sample_request();
    const dllm_message message = encoded_request();
    dllm_compile_request got;
    size_t size = 0;
    ck_assert(dllm__frame_payload_bytes(&size, message.bytes));
    ck_assert_uint_eq(size + DLLM_FRAME_BYTES, message.size);
    ck_assert(dllm__frame_matches(message.bytes, payload_of(&message), size));
    ck_assert(dllm__request_decode(&got, payload_of(&message), size));
    ck_assert_str_eq(got.library, wanted.library);
    ck_assert_int_eq(got.options.count, 2);
    ck_assert_str_eq(got.options.text[1], "-DA=1");
    ck_assert_int_eq(got.source_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(got.names[i], wanted.names[i]);
        ck_assert_str_eq(got.texts[i], wanted.texts[i]);
    }
    free(message.bytes);
}
END_TEST

START_TEST(answer_survives_the_wire)
{
    const dllm_message message = encoded_answer();
    dllm_compile_answer got;
    ck_assert(dllm__answer_decode(&got, payload_of(&message), message.size - DLLM_FRAME_BYTES));
    ck_assert_int_eq(got.outcome, DLLM_COMPILED);
    ck_assert_str_eq(got.reason, "");
    ck_assert_str_eq(got.log, "a warning\n");
    ck_assert_uint_eq(got.cubin_bytes, 5);
    ck_assert_mem_eq(got.cubin, "\0\1\2\0\xff", 5);
    dllm__answer_release(&got);
    ck_assert_ptr_null(got.cubin);
    free(message.bytes);
}
END_TEST

/* Copies of the exact length, so that a sanitizer sees a read behind the end. */
START_TEST(cut_payload_is_refused_at_every_length)
{
    const dllm_message request = encoded_request();
    const dllm_message answer = encoded_answer();
    for (size_t size = 0; size < request.size - DLLM_FRAME_BYTES; size++) {
        dllm_compile_request got;
        unsigned char *cut = malloc(size + !size);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, payload_of(&request), size);
        ck_assert_msg(!dllm__request_decode(&got, cut, size), "request of %zu bytes", size);
        free(cut);
    }
    for (size_t size = 0; size < answer.size - DLLM_FRAME_BYTES; size++) {
        dllm_compile_answer got;
        unsigned char *cut = malloc(size + !size);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, payload_of(&answer), size);
        ck_assert_msg(!dllm__answer_decode(&got, cut, size), "answer of %zu bytes", size);
        free(cut);
    }
    free(request.bytes);
    free(answer.bytes);
}
END_TEST

START_TEST(bytes_behind_the_end_are_refused)
{
    const dllm_message message = encoded_answer();
    const size_t size = message.size - DLLM_FRAME_BYTES;
    unsigned char *longer = calloc(1, size + 1);
    dllm_compile_answer got;
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, payload_of(&message), size);
    ck_assert(!dllm__answer_decode(&got, longer, size + 1));
    free(longer);
    free(message.bytes);
}
END_TEST

/* Any single changed byte must end in a refusal or in other values, never in a wild read. */
START_TEST(flipped_bytes_do_not_match_the_digest)
{
    const dllm_message message = encoded_request();
    const size_t size = message.size - DLLM_FRAME_BYTES;
    for (size_t i = 0; i < size; i++) {
        dllm_compile_request got;
        message.bytes[DLLM_FRAME_BYTES + i] ^= 0x81;
        ck_assert(!dllm__frame_matches(message.bytes, payload_of(&message), size));
        if (dllm__request_decode(&got, payload_of(&message), size))
            ck_assert_int_le(got.source_count, DLLM_SOURCES_MAX);
        message.bytes[DLLM_FRAME_BYTES + i] ^= 0x81;
    }
    free(message.bytes);
}
END_TEST

START_TEST(frame_with_wrong_magic_or_length_is_refused)
{
    const dllm_message message = encoded_answer();
    size_t size = 0;
    message.bytes[0] ^= 1;
    ck_assert(!dllm__frame_payload_bytes(&size, message.bytes));
    message.bytes[0] ^= 1;
    memset(message.bytes + 8, 0xff, 8);
    ck_assert(!dllm__frame_payload_bytes(&size, message.bytes));
    free(message.bytes);
}
END_TEST

START_TEST(compiled_answer_without_cubin_is_refused)
{
    const dllm_compile_answer answer = {.outcome = DLLM_COMPILED};
    dllm_compile_answer got;
    dllm_message message;
    ck_assert(dllm__answer_encode(&message, &answer));
    ck_assert(!dllm__answer_decode(&got, payload_of(&message), message.size - DLLM_FRAME_BYTES));
    free(message.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compile_message");
    TCase *group = tcase_create("wire");
    tcase_add_test(group, request_survives_the_wire);
    tcase_add_test(group, answer_survives_the_wire);
    tcase_add_test(group, cut_payload_is_refused_at_every_length);
    tcase_add_test(group, bytes_behind_the_end_are_refused);
    tcase_add_test(group, flipped_bytes_do_not_match_the_digest);
    tcase_add_test(group, frame_with_wrong_magic_or_length_is_refused);
    tcase_add_test(group, compiled_answer_without_cubin_is_refused);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
