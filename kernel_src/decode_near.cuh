/*
 * decode_near.cuh - a sequence's rules and record in shared memory, for kernels that look at them often
 *
 * In device memory each look waits for the last one's answer from afar; here all words are asked for at
 * once, a thread each.
 */
#ifndef DLLM_DECODE_NEAR_CUH
#define DLLM_DECODE_NEAR_CUH

#include "decode_canvas.h"

struct near_sequence {
    dllm_sequence_rules rules;
    dllm_sequence_record record;
};

constexpr int rules_words = sizeof(dllm_sequence_rules) / sizeof(uint32_t);
constexpr int record_words = sizeof(dllm_sequence_record) / sizeof(uint32_t);

static_assert(rules_words + record_words <= block_threads, "a thread copies one word");

/* Words of a struct of either kind. */
template <typename T> DLLM_DEVICE uint32_t *words_of(T *of)
{
    return reinterpret_cast<uint32_t *>(of);
}

template <typename T> DLLM_DEVICE const uint32_t *words_of(const T *of)
{
    return reinterpret_cast<const uint32_t *>(of);
}

/** Copies a sequence's rules and record; the whole block sees them. Returns what put_back wants. */
DLLM_DEVICE uint32_t bring_near(near_sequence &near, const dllm_step &step)
{
    const int i = static_cast<int>(threadIdx.x), of_record = i - rules_words;
    uint32_t word = 0;
    if (of_record < 0) {
        words_of(&near.rules)[i] = words_of(step.rules)[i];
    } else if (of_record < record_words) {
        word = words_of(step.record)[of_record];
        words_of(&near.record)[of_record] = word;
    }
    __syncthreads();
    return word;
}

/** Writes the words of the record that have changed; the others other blocks may be reading. */
DLLM_DEVICE void put_back(dllm_sequence_record *to, const near_sequence &near, uint32_t brought)
{
    const int of_record = static_cast<int>(threadIdx.x) - rules_words;
    __syncthreads();
    if (of_record < 0 || of_record >= record_words) return;
    const uint32_t word = words_of(&near.record)[of_record];
    if (word != brought) words_of(to)[of_record] = word;
}

#endif
