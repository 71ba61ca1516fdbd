/*
 * cpu_vector_fold.h - the state of a block of logits and the softcap, for one instruction set
 *
 * Included by cpu_vector_loops.h alone.
 */
#ifndef DLLM_CPU_VECTOR_FOLD_H
#define DLLM_CPU_VECTOR_FOLD_H

#include <math.h>
#include <stdbool.h>

_Static_assert(DLLM_CPU_FOLD_COLUMNS / LANES <= 1024,
               "a lane adds at most 1,024 terms before it is combined");

#define EXP_LOWEST -104.0f /* its exp rounds to 0 */

/*
 * exp(t) for t <= 0, within 1.1 ulp down to the denormals; 0 for -inf and for NaN.
 * n = round(t / ln 2), r = t - n ln 2 in two parts (the first product is exact), then
 * exp(r) = 1 + r + r^2 q(r), q of degree 4 fitted to |r| <= ln(2) / 2 with relative error 2^-28.
 */
SPECIALISED vec exp_nonpositive(vec t)
{
    const float magic = 0x1.8p23f;         /* puts the rounded integer into the low bits */
    t = vec_max(t, broadcast(EXP_LOWEST)); /* a NaN becomes it too */
    const vec shifted = t * 0x1.715476p0f + magic;
    const vec n = shifted - magic;
    const vec r = vec_fma(n, broadcast(-0x1.7f7d1cp-20f), vec_fma(n, broadcast(-0x1.62e4p-1f), t));
    vec q = vec_fma(broadcast(0x1.6a23cep-10f), r, broadcast(0x1.123a2p-7f));
    q = vec_fma(q, r, broadcast(0x1.5558f2p-5f));
    q = vec_fma(q, r, broadcast(0x1.555492p-3f));
    q = vec_fma(q, r, broadcast(0x1.fffffcp-2f));
    const vec p = vec_fma(q, r * r, r) + 1.0f;
    /* 2^n by two halves: one factor alone has no exponent for a denormal result */
    const bits exponent = (bits)shifted - (bits)broadcast(magic) + 2 * 127; /* n, twice biased */
    const bits half = exponent >> 1;
    return p * (vec)(half << 23) * (vec)((exponent - half) << 23);
}

static void pad(float *logits, int count)
{
    for (int i = count; i % LANES; i++)
        logits[i] = -INFINITY;
}

/* The largest logit that is not NaN, its lowest column, the lowest NaN's column. */
static dllm_row_state largest(float *logits, int count)
{
    pad(logits, count);
    vec best = broadcast(-INFINITY);
    bits column = {0}, index = {0}, nan_seen = {0};
    for (int l = 0; l < LANES; l++)
        index[l] = (uint32_t)l;
    for (int i = 0; i < count; i += LANES, index += LANES) {
        const vec z = load(logits + i);
        const bits above = (bits)(z > best);
        column = (above & index) | (~above & column);
        best = vec_max(z, best);
        nan_seen |= (bits)(z != z); /* NOLINT(misc-redundant-expression): true of NaN alone */
    }
    dllm_row_state state = {-INFINITY, 0.0f, DLLM_NO_COLUMN, DLLM_NO_COLUMN};
    uint32_t any_nan = 0;
    for (int l = 0; l < LANES; l++) {
        any_nan |= nan_seen[l];
        const bool better =
            best[l] > state.max || (best[l] == state.max && (int32_t)column[l] < state.column);
        if (best[l] == -INFINITY || !better) continue;
        state.max = best[l];
        state.column = (int32_t)column[l];
    }
    /* rare rows: NaN among them, or nothing above -inf */
    for (int i = count; any_nan && i-- > 0;)
        if (isnan(logits[i])) state.nan_column = i;
    for (int i = count; state.max == -INFINITY && i-- > 0;)
        if (logits[i] == -INFINITY) state.column = i;
    return state;
}

static dllm_row_state fold(float *logits, int count)
{
    dllm_row_state state = largest(logits, count);
    if (isinf(state.max)) {
        state.sum = state.max > 0.0f ? 1.0f : 0.0f; /* +inf has no softmax: never looked at */
        return state;
    }
    vec sum = {0};
    for (int i = 0; i < count; i += LANES)
        sum += exp_nonpositive(load(logits + i) - state.max);
    state.sum = vec_sum(sum);
    return state;
}

static dllm_cpu_sums weigh(const float *logits, int count, float max, float temperature)
{
    vec sum = {0}, weighted = {0};
    for (int i = 0; i < count; i += LANES) {
        /* -inf becomes a number whose exp is 0: 0 * -inf would be NaN */
        const vec x =
            vec_max((load(logits + i) - max) / broadcast(temperature), broadcast(EXP_LOWEST));
        const vec e = exp_nonpositive(x);
        sum += e;
        weighted = vec_fma(e, x, weighted);
    }
    return (dllm_cpu_sums){vec_sum(sum), vec_sum(weighted)};
}

/* tanh(a) = (1 - e) / (1 + e) with e = exp(-2 a), a >= 0: within 2^-23 of it. */
static void cap(float *logits, int count, float softcap)
{
    const bits sign = broadcast_bits(0x80000000U);
    for (int i = 0; i < count; i += LANES) {
        const vec z = load(logits + i);
        const vec y = z / broadcast(softcap);
        const vec e = exp_nonpositive((vec)((bits)y & ~sign) * -2.0f);
        const vec t = (1.0f - e) / (1.0f + e) * softcap;
        const bits is_nan =
            (bits)(z != z); /* NOLINT(misc-redundant-expression): true of NaN alone */
        const bits capped = (bits)t | ((bits)z & sign);
        store(logits + i, (vec)((is_nan & (bits)z) | (~is_nan & capped)));
    }
}

#endif
