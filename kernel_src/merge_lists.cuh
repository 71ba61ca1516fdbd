/*
 * merge_lists.cuh - the K best entries of a row from the sorted lists of its shards
 *
 * The list grows where it is written, shard by shard. A warp has a row; its lanes find by bisection
 * how many entries of the other list come before each of theirs.
 */
#ifndef DLLM_MERGE_LISTS_CUH
#define DLLM_MERGE_LISTS_CUH

#include "base.cuh"
#include "extra.cuh"
#include "row_outputs.cuh"
#include "row_params.h"
#include "shard_state.cuh"

constexpr int lane_candidates = 256 / warp_lanes;

/* The sorted list of a row while it grows: its outputs. */
struct row_list {
    float *values;
    id_type *ids;
    int count; /* K: behind the last are {-inf, -1} */
};

DLLM_DEVICE entry<int64_t> entry_of(float value, int64_t id)
{
    return {value, column_of_id(id)};
}

DLLM_DEVICE entry<int64_t> list_at(const row_list &list, int i)
{
    return entry_of(list.values[i], list.ids[i]);
}

DLLM_DEVICE entry<int64_t> list_at(const shard_candidate *list, int i)
{
    return entry_of(list[i].value, list[i].id);
}

/* How many entries of a sorted list come before this one. */
template <typename List>
DLLM_DEVICE int count_before(const List &list, int count, const entry<int64_t> &own)
{
    int low = 0;
    int high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (comes_before(list_at(list, middle), own)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

DLLM_DEVICE void list_put(const row_list &list, int rank, const entry<int64_t> &own)
{
    if (rank >= list.count) return;
    list.values[rank] = own.value;
    list.ids[rank] = static_cast<id_type>(id_of_column(own.column));
}

/* Every entry of both lists knows its rank among all before one is written. */
DLLM_DEVICE void merge_list(const row_list &list, const shard_candidate *other)
{
    entry<int64_t> mine[2 * lane_candidates];
    int rank[2 * lane_candidates];
#pragma unroll
    for (int i = 0; i < lane_candidates; i++) {
        const int place =
            smaller(i * warp_lanes + static_cast<int>(threadIdx.x) % warp_lanes, list.count - 1);
        mine[2 * i] = list_at(list, place);
        mine[2 * i + 1] = list_at(other, place);
        rank[2 * i] = place + count_before(other, list.count, mine[2 * i]);
        rank[2 * i + 1] = place + count_before(list, list.count, mine[2 * i + 1]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2 * lane_candidates; i++)
        list_put(list, rank[i], mine[i]);
    __syncwarp();
}

DLLM_DEVICE void merge_lists(const dllm_merge_params &params, int64_t row, uint32_t flags)
{
    const dllm_row_outputs &to = params.further;
    const int count = to.inputs.candidates;
    const row_list list = {to.candidate_values + row * count,
                           static_cast<id_type *>(to.candidate_ids) + row * count, count};
    const bool listed = !(flags & (flag_nonfinite | flag_row));
    for (int i = static_cast<int>(threadIdx.x) % warp_lanes; i < count; i += warp_lanes) {
        list.values[i] = listed ? -infinity() : quiet_nan();
        list.ids[i] = -1;
    }
    __syncwarp();
    for (int64_t shard = 0; listed && shard < params.shards; shard++) {
        const char *state =
            params.states + shard * params.shard_stride_bytes + row * to.state_bytes;
        merge_list(list, reinterpret_cast<const shard_candidate *>(state + sizeof(shard_state)));
    }
}

#endif
