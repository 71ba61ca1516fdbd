/*
 * request.cuh - what is asked of a kernel beyond the base state of plain logits
 *
 * Two sums of bits that follow from the problem (runtime/statistics.c), the same for every kernel of
 * a plan. What is not asked for leaves neither an instruction nor an argument behind.
 */
#ifndef DLLM_REQUEST_CUH
#define DLLM_REQUEST_CUH

#include "base.cuh"
#include "row_params.h"

/* 1 entropy, 2 second entry, 4 target, 8 Gumbel draw, 16 candidates. */
#ifndef DLLM_STATISTICS
#define DLLM_STATISTICS 0
#endif
/* 1 round to bf16, 2 to fp16, 4 scale, 8 softcap, 16 bias, 32 suppressed ids, 64 penalised id of a
   row, 128 tempered; and of the arrays of a row: 256 temperature, 512 key, 1024 given noise,
   2048 seed and draw; 4096 guidance by unconditional rows, 8192 in bf16. */
#ifndef DLLM_TRANSFORMS
#define DLLM_TRANSFORMS 0
#endif
/* Outputs to write, a sum of the DLLM_OUT_ bits of dllm.h: 1 argmax, 2 max, 4 lse, 8 confidence,
   16 entropy, 32 second, 64 second id, 128 margin, 256 target log-probability, 512 Gumbel id,
   1024 its log-probability, 2048 flags; or 8192 alone, the state of a shard. */
#ifndef DLLM_OUTPUTS
#define DLLM_OUTPUTS 0
#endif

constexpr uint32_t statistics = DLLM_STATISTICS;
constexpr bool has_entropy = statistics & 1;
constexpr bool has_second = statistics & 2;
constexpr bool has_target = statistics & 4;
constexpr bool has_draw = statistics & 8;
constexpr bool has_candidates = statistics & 16;
constexpr bool has_extra = statistics & DLLM_EXTRA_STATISTICS;

constexpr uint32_t transforms = DLLM_TRANSFORMS;
constexpr bool has_rounding = transforms & 3;
constexpr bool rounds_to_bf16 = transforms & 1;
constexpr bool has_scale = transforms & 4;
constexpr bool has_softcap = transforms & 8;
constexpr bool has_bias = transforms & 16;
constexpr bool has_suppress = transforms & 32;
constexpr bool has_penalty = transforms & 64;
constexpr bool is_tempered = transforms & 128;
constexpr bool has_row_temperature = transforms & 256;
constexpr bool has_row_key = transforms & 512;
constexpr bool has_noise = transforms & 1024;
constexpr bool has_row_seed = transforms & 2048;
constexpr bool has_guidance = transforms & 4096;
constexpr bool guides_in_bf16 = transforms & 8192;
constexpr bool changes_logits = transforms & 127;
constexpr uint32_t outputs = DLLM_OUTPUTS;
constexpr bool asks_further =
    statistics != 0 || transforms != 0 || (outputs & ~uint32_t{DLLM_PLAIN_OUTPUTS}) != 0;

static_assert(statistics < 32 && transforms < 16384, "bits that the kernels know");
static_assert(outputs <= DLLM_STATE_OUTPUT, "outputs that the kernels know");
static_assert(!(transforms & 1) || !(transforms & 2), "a logit is rounded to one type");

#endif
