/*
 * finish_row.cuh - from the state of all of a row's candidates to what is written of it
 *
 * For the kernels of a run that end rows; merge.cu, which has no inputs of rows, ends its own.
 */
#ifndef DLLM_FINISH_ROW_CUH
#define DLLM_FINISH_ROW_CUH

#include "base.cuh"
#include "request.cuh"
#include "row_context.cuh"
#include "row_outputs.cuh"
#include "shard_state.cuh"
#include "state.cuh"

constexpr bool writes_state = outputs == DLLM_STATE_OUTPUT;

/** What of a finished row depends on its inputs alone. */
template <typename Params>
DLLM_DEVICE void flag_inputs(row_result<int32_t> &result, const Params &params, int64_t row,
                             const row_context &context)
{
    if constexpr (has_target) {
        if (context.target == DLLM_NO_COLUMN) {
            result.target_logprob = quiet_nan();
            result.flags |= flag_target;
        }
    }
    if constexpr (has_row_temperature) {
        if (!is_finite(params.further.inputs.temperatures[row])) result.flags |= flag_param;
    }
    if constexpr (has_guidance) {
        if (!is_finite(given_guidance(params.guidance, row))) result.flags |= flag_param;
    }
}

/** The state of a shard in place of outputs. */
template <typename Params>
DLLM_DEVICE void export_state(const Params &params, int64_t row, const row_state &state,
                              bool exists, const row_context &context)
{
    const dllm_row_outputs &to = params.further;
    shard_state out = widen(state, params.vocab_offset);
    if (has_target) out.bits |= state_asked;
    if (has_target && context.target != DLLM_NO_COLUMN) out.bits |= state_has_target;
    if constexpr (has_row_temperature) {
        if (!is_finite(to.inputs.temperatures[row])) out.bits |= state_param;
    }
    if constexpr (has_guidance) {
        if (!is_finite(given_guidance(params.guidance, row))) out.bits |= state_param;
    }
    if (!exists) out.bits = state_row;
    store_shard(to.state + row * to.state_bytes, out);
}

/** Ends a row from the state of all its candidates, the neutral one if it does not exist. One thread
 * calls. Plain outputs are optional: a kernel serves any set of them. */
template <typename Params>
DLLM_DEVICE void finish_row(const Params &params, int64_t row, const row_state &state, bool exists,
                            const row_context &context)
{
    if constexpr (writes_state) {
        export_state(params, row, state, exists, context);
        return;
    }
    row_result<int32_t> result = row_of_no_source<int32_t>();
    if (exists) {
        result = state_finish(state, context);
        flag_inputs(result, params, row, context);
    }
    write_row<true>(params, row, params.vocab_offset, result);
}

#endif
