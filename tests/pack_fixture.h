/*
 * pack_fixture.h - packs with kernels and tuned choices of a test's own
 */
#ifndef PACK_FIXTURE_H
#define PACK_FIXTURE_H

#include "pack_folder.h"

/** Adds the kernel of fixture_key(number), its cubin a text that begins with `word`. */
void pack_add_kernel(dllm_pack_list *list, int number, const char *word);
/** Adds a tuned choice of that key with a median. */
void pack_add_plan(dllm_pack_list *list, const char *key, double median_us);
/** Writes and empties the list; free() the pack. */
unsigned char *pack_finish(size_t *bytes, dllm_pack_list *list);
/** A pack of two kernels and a tuned choice. */
unsigned char *pack_sample(size_t *bytes);
/** Merges a pack into an empty list; what became of its entries. */
dllm_cache_report pack_judge(const unsigned char *pack, size_t bytes);

#endif
