/*
 * sampler_fold.cuh - a block folds its part of a row of logits: the inner side of both sampler kernels
 *
 * A packet is 16 bytes of logits, and thread t has the packets t, t + DLLM_THREADS, ... of its split.
 * Shares follow columns, not addresses: a row has the same bits wherever it lies in memory. With
 * guidance the block also reads row index(r) + source_rows, or of packed lines (pairs.cuh) the row's
 * other one.
 */
#ifndef DLLM_SAMPLER_FOLD_CUH
#define DLLM_SAMPLER_FOLD_CUH

#include "base.cuh"
#include "load.cuh"
#include "pairs.cuh"
#include "row_params.h"
#include "state.cuh"

/* Element type: 1 bf16, 2 fp16, 3 fp32. */
#ifndef DLLM_LOGITS_TYPE
#define DLLM_LOGITS_TYPE 1
#endif
/* Packets that a thread loads before it folds them: 1, 2, 4 or 8. Four keep 8 KiB a block of 128
   threads in flight. */
#ifndef DLLM_PACKETS
#define DLLM_PACKETS 4
#endif
/* Threads of a block: 128, 256, 512 or 1024. */
#ifndef DLLM_THREADS
#define DLLM_THREADS 128
#endif

using logit_element = element<DLLM_LOGITS_TYPE>::type;
constexpr uint32_t packets = DLLM_PACKETS;
constexpr uint32_t block_threads = DLLM_THREADS;
constexpr int block_warps = block_threads / warp_lanes;
constexpr uint32_t packet = 16 / sizeof(logit_element); /* logits of a packet */
constexpr uint32_t step = block_threads * packet;       /* columns to the thread's next one */

static_assert(packets == 1 || packets == 2 || packets == 4 || packets == 8,
              "packets are held in registers");
static_assert(block_threads == 128 || block_threads == 256 || block_threads == 512 ||
                  block_threads == 1024,
              "warps merge by a butterfly");

/** A split of one row, as one block sees it. Columns are unsigned: `end` may be near 2^31. */
struct row_part {
    const logit_element *logits; /* of column 0 of the row */
    uint32_t phase;              /* logits from the 16-byte boundary at or below `logits` to it */
    uint32_t begin;              /* columns of the split, counted in the row */
    uint32_t end;
    int32_t column_begin; /* column of the row's first logit in the vocabulary */
};

union packet_words {
    uint4 word;
    uint32_t words[4];
    logit_element values[packet];
};

/*
 * A packet that begins `phase` logits above a boundary, out of the two aligned ones it lies in:
 *     low  [ . . . a b c d e ]   high [ f g h . . . . . ]   ->   [ a b c d e f g h ]    (phase 3)
 */
DLLM_DEVICE packet_words shift_packet(const packet_words &low, const packet_words &high,
                                      uint32_t phase)
{
    const uint32_t bytes = phase * static_cast<uint32_t>(sizeof(logit_element));
    uint32_t words[8] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                         high.words[0], high.words[1], high.words[2], high.words[3]};
#pragma unroll
    for (int i = 0; i < 6; i++)
        words[i] = bytes & 8 ? words[i + 2] : words[i];
#pragma unroll
    for (int i = 0; i < 5; i++)
        words[i] = bytes & 4 ? words[i + 1] : words[i];
    packet_words shifted;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        shifted.words[i] = __funnelshift_r(words[i], words[i + 1], bytes % 4 * 8);
    }
    return shifted;
}

/* May the packet at a column be read by aligned words, without a byte that is not of this split? */
template <bool SHIFTED> DLLM_DEVICE bool is_inside(const row_part &part, uint32_t column)
{
    if (!SHIFTED) return column + packet <= part.end;
    return column >= part.phase && column - part.phase + 2 * packet <= part.end;
}

/* By single logits, as many as there are. */
DLLM_DEVICE packet_words load_edge(const row_part &part, uint32_t column)
{
    packet_words loaded = {};
#pragma unroll
    for (uint32_t i = 0; i < packet; i++) {
        if (column + i < part.end) loaded.values[i] = part.logits[column + i];
    }
    return loaded;
}

/* The thread's packets at column, column + step, ...: those inside, with all loads in flight. */
template <bool SHIFTED>
DLLM_DEVICE void load_inside(packet_words (&loaded)[packets], const row_part &part, uint32_t column)
{
    const uint4 *from =
        reinterpret_cast<const uint4 *>(part.logits + column - (SHIFTED ? part.phase : 0));
    packet_words high[packets] = {};
#pragma unroll
    for (uint32_t i = 0; i < packets; i++) {
        loaded[i] = {};
        if (!is_inside<SHIFTED>(part, column + i * step)) continue;
        const uint4 *word = from + i * block_threads;
        loaded[i].word = SHIFTED ? load_again(word) : load_once(word);
        if (SHIFTED) high[i].word = load_again(word + 1);
    }
#pragma unroll
    for (uint32_t i = 0; i < packets && SHIFTED; i++) {
        loaded[i] = shift_packet(loaded[i], high[i], part.phase);
    }
}

/* The thread's packets, those at the ends of the split by single logits. */
template <bool SHIFTED>
DLLM_DEVICE void load_packets(packet_words (&loaded)[packets], const row_part &part,
                              uint32_t column)
{
    load_inside<SHIFTED>(loaded, part, column);
    if (is_inside<SHIFTED>(part, column) &&
        is_inside<SHIFTED>(part, column + (packets - 1) * step)) {
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < packets; i++) {
        const uint32_t at = column + i * step;
        if (at < part.end && !is_inside<SHIFTED>(part, at)) loaded[i] = load_edge(part, at);
    }
}

DLLM_DEVICE void widen_packets(float (&z)[packets * packet], const packet_words (&loaded)[packets])
{
#pragma unroll
    for (uint32_t i = 0; i < packets * packet; i++) {
        z[i] = to_float(loaded[i / packet].values[i % packet]);
    }
}

/** What a thread makes of its packets of a part. SHIFTED: not both parts begin on a 16-byte boundary.
 * unconditional: the same columns of the row that guides this one, not looked at without guidance. */
template <bool SHIFTED>
DLLM_DEVICE row_state fold_part(const row_part &part, const row_part &unconditional,
                                const row_context &context)
{
    row_state state = state_neutral();
    /* where lanes keep a list together they stay together: some then fold nothing */
    const uint32_t lead = has_candidates ? threadIdx.x % warp_lanes * packet : 0;
    uint32_t column = part.begin + threadIdx.x * packet;
    for (; column - lead < part.end; column += packets * step) {
        packet_words loaded[packets];
        load_packets<SHIFTED>(loaded, part, column);
        float z[packets * packet];
        widen_packets(z, loaded);
        if constexpr (has_guidance) {
            float u[packets * packet];
            load_packets<SHIFTED>(loaded, unconditional, column);
            widen_packets(u, loaded);
            state_fold_pair<packets * packet, packet, step>(
                state, z, u, part.column_begin + static_cast<int32_t>(column),
                part.column_begin + static_cast<int32_t>(part.end), context);
        } else {
            state_fold_tile<packets * packet, packet, step>(
                state, z, part.column_begin + static_cast<int32_t>(column),
                part.column_begin + static_cast<int32_t>(part.end), context);
        }
        list_settle<warp_lanes, warp_lanes * packets * packet>(context);
    }
    return state;
}

/* Row of the logits in which those of a source row lie; copy 1: those of its unconditional row. */
template <typename Params>
DLLM_DEVICE int64_t logits_row(const Params &params, int64_t source, int copy)
{
    if constexpr (has_guidance) {
        if (params.guidance.is_packed) {
            return line_of_row(source - params.row_begin) + copy * group_rows;
        }
        return source - params.row_begin + copy * params.source_rows;
    }
    return source - params.row_begin;
}

/** Split `split` of a copy of row `row`; without columns if the row is outside the source. */
DLLM_DEVICE row_part find_part(const dllm_sampler_params &params, int64_t split, int64_t row,
                               int copy)
{
    const int64_t source =
        source_row(params.row_index, params.row_index_is_64, params.source_rows, row);
    const int64_t begin = split * params.split_columns;
    const int64_t end = smaller<int64_t>(begin + params.split_columns, params.columns);
    row_part part;
    part.logits = static_cast<const logit_element *>(params.logits);
    if (source >= 0) part.logits += logits_row(params, source, copy) * params.logits_stride;
    part.phase =
        static_cast<uint32_t>(reinterpret_cast<uint64_t>(part.logits) % 16 / sizeof(logit_element));
    part.begin = static_cast<uint32_t>(begin);
    part.end = source >= 0 ? static_cast<uint32_t>(end) : part.begin;
    part.column_begin = params.column_begin;
    return part;
}

#endif
