/*
 * row_outputs.cuh - writing a finished row, for combine and merge alike
 */
#ifndef DLLM_ROW_OUTPUTS_CUH
#define DLLM_ROW_OUTPUTS_CUH

#include "base.cuh"
#include "request.cuh"
#include "state.cuh"

/* Width of an id: 4 or 8. */
#ifndef DLLM_ID_BYTES
#define DLLM_ID_BYTES 4
#endif

constexpr int id_bytes = DLLM_ID_BYTES;

static_assert(id_bytes == 4 || id_bytes == 8, "ids are int32 or int64");

template <int BYTES> struct id_of;
template <> struct id_of<4> {
    using type = int32_t;
};
template <> struct id_of<8> {
    using type = int64_t;
};
using id_type = id_of<id_bytes>::type;

DLLM_DEVICE void write_id(void *to, int64_t row, int64_t id)
{
    static_cast<id_type *>(to)[row] = static_cast<id_type>(id);
}

template <typename Column>
DLLM_DEVICE void write_further(const dllm_row_outputs &to, int64_t row, int64_t vocab_offset,
                               const row_result<Column> &result)
{
    const bool drawn = result.gumbel_column != no_column<Column>;
    const bool has_other = result.second_column != no_column<Column>;
    if (outputs & 16) to.entropy[row] = result.entropy;
    if (outputs & 32) to.second[row] = result.second;
    if (outputs & 64) {
        write_id(to.second_id, row, has_other ? vocab_offset + result.second_column : -1);
    }
    if (outputs & 128) to.margin[row] = result.margin;
    if (outputs & 256) to.target_logprob[row] = result.target_logprob;
    if (outputs & 512) {
        write_id(to.gumbel_id, row, drawn ? vocab_offset + result.gumbel_column : 0);
    }
    if (outputs & 1024) to.gumbel_logprob[row] = result.gumbel_logprob;
}

/** Writes the outputs asked for; column 0 is id vocab_offset. OPTIONAL: of the plain outputs those whose
 * pointers are not nullptr. */
template <bool OPTIONAL = false, typename Params, typename Column>
DLLM_DEVICE void write_row(const Params &params, int64_t row, int64_t vocab_offset,
                           const row_result<Column> &result)
{
    const int64_t id = result.column == no_column<Column> ? 0 : vocab_offset + result.column;
    if (outputs & 1 && (!OPTIONAL || params.argmax)) write_id(params.argmax, row, id);
    if (outputs & 2 && (!OPTIONAL || params.max)) params.max[row] = result.max;
    if (outputs & 4 && (!OPTIONAL || params.lse)) params.lse[row] = result.lse;
    if (outputs & 8 && (!OPTIONAL || params.confidence)) params.confidence[row] = result.confidence;
    if (outputs & 2048 && (!OPTIONAL || params.flags)) params.flags[row] = result.flags;
    if constexpr (asks_further) write_further(params.further, row, vocab_offset, result);
}

#endif
