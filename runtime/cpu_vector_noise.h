/*
 * cpu_vector_noise.h - Philox4x32-10 for consecutive pairs of ids, for one instruction set
 *
 * Included by cpu_vector_loops.h alone, after mul_wide. A vector has a pair a lane.
 */
#ifndef DLLM_CPU_VECTOR_NOISE_H
#define DLLM_CPU_VECTOR_NOISE_H

_Static_assert(DLLM_CPU_NOISE_PAIRS % LANES == 0, "a block of pairs is whole vectors");

enum { PHILOX_ROUNDS = 10 };

/* The four words of LANES pairs, from c[0] of each. */
SPECIALISED void philox(bits c[4], const dllm_cpu_stream *stream)
{
    uint32_t key[2] = {(uint32_t)stream->seed, (uint32_t)(stream->seed >> 32)};
    c[1] = broadcast_bits(stream->draw);
    c[2] = broadcast_bits((uint32_t)stream->row_key);
    c[3] = broadcast_bits((uint32_t)(stream->row_key >> 32));
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        bits high0, high1;
        const bits low0 = mul_wide(c[0], 0xd2511f53U, &high0);
        const bits low1 = mul_wide(c[2], 0xcd9e8d57U, &high1);
        c[0] = high1 ^ c[1] ^ key[0];
        c[1] = low1;
        c[2] = high0 ^ c[3] ^ key[1];
        c[3] = low0;
        key[0] += 0x9e3779b9U;
        key[1] += 0xbb67ae85U;
    }
}

/*
 * No less than G, from the upper word a of u: -ln u >= 1 - u > n / 2^32 with n = 2^32 - 1 - a, so
 * G <= (32 - log2 n) ln 2; the exponent of n as a float is log2 n rounded down, or up by next to
 * nothing. The slack covers that, the roundings of dllm__cpu_gumbel and those of t * bound + z.
 * Never below 0.3666: -ln(-ln u) is that at u = 1/2, where a bound from 1 - u is too coarse.
 */
SPECIALISED vec noise_bound(bits upper)
{
    const bits exponent = (bits) __builtin_convertvector(~upper, vec) >> 23;
    const vec zeros = 32.0f + 127.0f - __builtin_convertvector(exponent, vec);
    return vec_max(zeros * 0.69315f, broadcast(0.3666f)) + 0x1p-9f;
}

static void words(dllm_cpu_noise *out, const dllm_cpu_stream *stream, uint64_t pair)
{
    for (uint32_t p = 0; p < DLLM_CPU_NOISE_PAIRS; p += LANES) {
        bits c[4] = {broadcast_bits((uint32_t)pair + p)};
        for (uint32_t l = 0; l < LANES; l++)
            c[0][l] += l;
        philox(c, stream);
        for (int w = 0; w < 4; w++)
            memcpy(&out->word[w][p], &c[w], sizeof c[w]);
    }
}

static void bound(dllm_cpu_noise *noise)
{
    for (uint32_t p = 0; p < DLLM_CPU_NOISE_PAIRS; p += LANES) {
        const vec even = noise_bound(load_bits(&noise->word[0][p]));
        const vec odd = noise_bound(load_bits(&noise->word[2][p]));
        float *out = &noise->bound[2 * (size_t)p];
        for (size_t l = 0; l < LANES; l++) {
            out[2 * l] = even[l];
            out[2 * l + 1] = odd[l];
        }
    }
}

static float highest(const float *logits, const float *bounds, int count, float temperature)
{
    vec best = broadcast(-INFINITY);
    float result = -INFINITY;
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        best = vec_max(load(bounds + i) * temperature + load(logits + i), best);
    for (int l = 0; l < LANES; l++)
        result = best[l] > result ? best[l] : result;
    for (; i < count; i++) {
        const float score = bounds[i] * temperature + logits[i];
        result = score > result ? score : result;
    }
    return result;
}

#endif
