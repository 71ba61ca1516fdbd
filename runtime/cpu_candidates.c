/* cpu_candidates.c - the K best entries of a row, in order */
#include "cpu_candidates.h"

#include <math.h>
#include <string.h>

#include "cpu_state.h"

void dllm__cpu_candidates_init(dllm_state_candidate *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i] = (dllm_state_candidate){-INFINITY, 0, -1};
}

static void insert(dllm_state_candidate *list, int count, float value, int64_t id)
{
    int low = 0, high = count; /* the entry comes behind list[low - 1], before list[high] */
    while (low < high) {
        const int middle = (low + high) / 2;
        if (dllm__cpu_comes_before(value, id, list[middle].value, list[middle].id))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == count) return;
    memmove(list + low + 1, list + low, (size_t)(count - 1 - low) * sizeof *list);
    list[low] = (dllm_state_candidate){value, 0, id};
}

void dllm__cpu_candidates_offer(dllm_state_candidate *list, int count, const float *logits,
                                int logit_count, int64_t id)
{
    for (int i = 0; i < logit_count; i++)
        if (logits[i] >= list[count - 1].value) insert(list, count, logits[i], id + i);
}

void dllm__cpu_candidates_merge(dllm_state_candidate *list, int count,
                                const dllm_state_candidate *other)
{
    for (int i = 0; i < count && other[i].id >= 0; i++)
        insert(list, count, other[i].value, other[i].id);
}
