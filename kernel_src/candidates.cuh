/*
 * candidates.cuh - the K best entries of a row: lists that lanes add to and warps thin out
 *
 * A list belongs to neighbouring lanes of one warp, which fold the same row of one split: what passes
 * its threshold is added in any order, and when a fold more might not fit, the warp keeps the K best
 * and raises the threshold to the last of them. What is left follows from the entries alone, not from
 * their order, since no two have the same (value, column).
 *
 * In memory a list is `stride` entries: a header {threshold, count}, then count entries. The threshold
 * is NaN until K entries have been kept: everything passes then.
 */
#ifndef DLLM_CANDIDATES_CUH
#define DLLM_CANDIDATES_CUH

#include "base.cuh"
#include "request.cuh"
#include "row_context.cuh"
#include "transform.cuh"

constexpr int list_entries_max = DLLM_LIST_ENTRIES_MAX;
constexpr int lane_keys = list_entries_max / warp_lanes;

DLLM_DEVICE float list_threshold(const dllm_candidate *list)
{
    return reinterpret_cast<const volatile dllm_candidate *>(list)->value;
}

DLLM_DEVICE int32_t list_count(const dllm_candidate *list)
{
    return reinterpret_cast<const volatile dllm_candidate *>(list)->column;
}

/** Empties the list of a row. All lanes that share it call, and the warp settles later. */
DLLM_DEVICE void list_begin(const row_context &row)
{
    if constexpr (!has_candidates) return;
    if (row.list != nullptr) *row.list = {quiet_nan(), 0};
    __syncwarp();
}

/* Entries as integers in their order: a larger one comes first, and none is 0. */
DLLM_DEVICE uint64_t key_of(const dllm_candidate &entry)
{
    const uint32_t bits = __float_as_uint(entry.value + 0.0f); /* -0 becomes +0: they tie */
    const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return static_cast<uint64_t>(ordered) << 32 | ~static_cast<uint32_t>(entry.column);
}

DLLM_DEVICE int warp_count(int value)
{
#pragma unroll
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        value += __shfl_xor_sync(whole_warp, value, mask);
    }
    return value;
}

DLLM_DEVICE dllm_candidate entry_of_key(uint64_t key)
{
    const uint32_t ordered = static_cast<uint32_t>(key >> 32);
    const uint32_t bits = ordered >> 31 ? ordered & 0x7fffffffu : ~ordered;
    return {__uint_as_float(bits), static_cast<int32_t>(~static_cast<uint32_t>(key))};
}

/* The k-th largest of the keys that the lanes of a warp have, bit by bit. */
DLLM_DEVICE uint64_t find_key(const uint64_t (&keys)[lane_keys], int k)
{
    uint64_t found = 0;
#pragma unroll 1
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t trial = found | 1ull << bit;
        int count = 0;
#pragma unroll
        for (int i = 0; i < lane_keys; i++)
            count += keys[i] >= trial;
        if (warp_count(count) >= k) found = trial;
    }
    return found;
}

/** Keeps the `kept` best of a list that has as many or more. All lanes of the warp call. */
DLLM_DEVICE void list_thin(dllm_candidate *list, int kept)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int count = list_count(list);
    uint64_t keys[lane_keys];
#pragma unroll
    for (int i = 0; i < lane_keys; i++) {
        const int place = i * warp_lanes + lane;
        keys[i] = place < count ? key_of(list[1 + place]) : 0;
    }
    const uint64_t least = find_key(keys, kept); /* and every lane has read its entries */
    int place = 1;
#pragma unroll
    for (int i = 0; i < lane_keys; i++) {
        const bool stays = keys[i] >= least;
        const uint32_t staying = __ballot_sync(whole_warp, stays);
        if (stays) list[place + __popc(staying & ((1u << lane) - 1))] = entry_of_key(keys[i]);
        place += __popc(staying);
    }
    if (lane == 0) *list = {entry_of_key(least).value, kept};
    __syncwarp();
}

/**
 * Adds what passes of a tile, after its transforms and masks: absent logits and NaN are NaN. Later
 * tiles of a list have higher columns, so that an equal value comes behind those that are kept.
 */
template <int N, int RUN, int STEP>
DLLM_DEVICE void list_offer(const float (&z)[N], float largest, int32_t first, int32_t valid,
                            const row_context &row)
{
    if (row.list == nullptr) return;
    const float threshold = list_threshold(row.list);
    if (largest <= threshold) return;
    int passing = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        passing += !(z[i] <= threshold) && z[i] == z[i] && tile_offset<RUN, STEP>(i) < valid;
    if (passing == 0) return;
    dllm_candidate *place = row.list + 1 + atomicAdd(&row.list->column, passing);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int32_t offset = tile_offset<RUN, STEP>(i);
        if (!(z[i] <= threshold) && z[i] == z[i] && offset < valid)
            *place++ = {z[i], first + offset};
    }
}

/**
 * Thins the lists of a warp that might not hold the next fold. LANES neighbouring lanes share a list,
 * and add at most SPAN entries a fold. All lanes of the warp call, where nothing was added since.
 */
template <int LANES, int SPAN> DLLM_DEVICE void list_settle(const row_context &row)
{
    if constexpr (!has_candidates) return;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    __syncwarp();
    const bool crowded =
        row.list != nullptr && list_count(row.list) + SPAN > row.inputs->list_stride - 1;
    uint32_t waiting = __ballot_sync(whole_warp, crowded && lane % LANES == 0);
    const auto address = reinterpret_cast<uint64_t>(row.list);
    while (waiting != 0) {
        const int leader = __ffs(static_cast<int>(waiting)) - 1;
        const uint64_t low = __shfl_sync(whole_warp, static_cast<uint32_t>(address), leader);
        const uint64_t high = __shfl_sync(whole_warp, static_cast<uint32_t>(address >> 32), leader);
        list_thin(reinterpret_cast<dllm_candidate *>(high << 32 | low), row.inputs->candidates);
        waiting &= waiting - 1;
    }
}

/** Adds an entry a lane to a list, in the order of lanes. All lanes of the warp call. */
DLLM_DEVICE void list_add(const dllm_candidate &entry, bool exists, const row_context &context)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    list_settle<warp_lanes, warp_lanes>(context);
    const int count = list_count(context.list);
    const bool passes = exists && !(entry.value < list_threshold(context.list));
    const uint32_t passing = __ballot_sync(whole_warp, passes);
    if (passes) context.list[1 + count + __popc(passing & ((1u << lane) - 1))] = entry;
    if (lane == 0) context.list->column = count + __popc(passing);
    __syncwarp();
}

/** The K best of all lists of a row, in its first. All lanes of the warp call. */
template <typename Params>
DLLM_DEVICE void gather_lists(const Params &params, int64_t row, const row_context &context)
{
    const dllm_row_inputs &inputs = *context.inputs;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    for (int64_t part = 1; part < static_cast<int64_t>(params.splits) * inputs.sharers; part++) {
        const dllm_candidate *from = find_list(params, row, part);
        const int count = list_count(from);
        for (int first = 0; first < count; first += warp_lanes) {
            const int place = smaller(first + lane, count - 1);
            list_add(from[1 + place], first + lane < count, context);
        }
    }
    if (list_count(context.list) > inputs.candidates) list_thin(context.list, inputs.candidates);
}

/** Calls put(rank, entry) for every entry of a row's list, and for the ranks behind them with none. */
template <typename Put> DLLM_DEVICE void list_each(const row_context &context, bool listed, Put put)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int count = listed ? list_count(context.list) : 0;
    for (int own = lane; own < count; own += warp_lanes) {
        const dllm_candidate entry = context.list[1 + own];
        int rank = 0;
        for (int i = 0; i < count; i++)
            rank += key_of(context.list[1 + i]) > key_of(entry);
        put(rank, entry);
    }
    for (int rank = count + lane; rank < context.inputs->candidates; rank += warp_lanes) {
        put(rank, {-infinity(), DLLM_NO_COLUMN});
    }
}

#endif
