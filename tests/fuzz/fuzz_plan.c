/*
 * fuzz_plan.c - a tuned choice's parser: what it accepts is written back as it was
 */
#include "plan_file.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dllm_plan_file plan;
    static char text[DLLM_PLAN_TEXT_BYTES], again[DLLM_PLAN_TEXT_BYTES];
    if (size >= sizeof text || memchr(data, '\0', size)) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (dllm__plan_file_parse(&plan, text)) return 0;
    assert(dllm__plan_file_text(again, &plan));
    assert(strcmp(text, again) == 0);
    return 0;
}
