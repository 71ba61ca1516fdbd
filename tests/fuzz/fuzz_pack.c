/*
 * fuzz_pack.c - the parser of packs, and of what is in them
 *
 * A header's sum would end every run at once, so each input is also tried as a member's content.
 */
#include "pack_item.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

/* NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as_member(const uint8_t *data, size_t size)
{
    static const dllm_pack_member members[] = {{.folder = "v1/k/00", .name = "00-13.0.88.dk"},
                                               {.folder = "v1/t/gpu", .name = "0.plan"}};
    static dllm_pack_item item;
    for (int i = 0; i < 2; i++) {
        dllm_pack_member member = members[i];
        member.bytes = data;
        member.size = size;
        (void)dllm__pack_item_read(&item, &member);
    }
}

/* NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dllm_cache_report report = DLLM_CACHE_REPORT_INIT;
    dllm_pack_list list = {0};
    read_as_member(data, size);
    if (dllm__pack_list_merge(&list, &report, data, size) == DLLM_OK) {
        size_t again_bytes = 0;
        unsigned char *again = dllm__pack_write(&again_bytes, &list);
        assert(again && again_bytes <= size);
        assert(!dllm__pack_check(again, again_bytes));
        free(again);
    }
    dllm__pack_list_release(&list);
    return 0;
}
