/*
 * noise_warpgroup.cu - what products lose to a warpgroup that makes noise and to one that consumes it
 *
 * A block a multiprocessor. Its first warpgroup multiplies, as head_sm90 does with a tile; the second makes
 * the noise of one call of Philox, two ids, a lane and step and puts it into shared memory; the third offers
 * two logits a lane and step to a draw, a maximum and a sum of exponentials. Both go on with a batch of steps
 * when the products have done theirs. Prints cycles a product step and how many of them the others were
 * busy, of block 0; before that, of all 2^32 inputs, for how many an upper half is wrong. Not part of the build:
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -o noise_warpgroup noise_warpgroup.cu
 */
#include "wgmma_loop.cuh"

namespace
{

/* What the second warpgroup puts into shared memory for an id: nothing at all, an exclusive or of its
 * two words, the upper word, or the Gumbel variable of both. */
enum making { NOTHING, WORDS, UPPER_WORD, GUMBEL };
/* What the third one does with it: is not there, draws, or bounds the score from above by the upper word. */
enum taking { NOBODY, DRAW, BOUND };

struct variant {
    const char *name;
    making makes;
    bool calls_philox; /* else multiples of an id stand for words */
    upper left, right;
    taking takes;
};

constexpr variant variants[] = {
    {"products alone", NOTHING, false, BY_WIDE, BY_WIDE, NOBODY},
    {"consumer", NOTHING, false, BY_WIDE, BY_WIDE, DRAW},
    {"logs", GUMBEL, false, BY_WIDE, BY_WIDE, NOBODY},
    {"logs, consumer", GUMBEL, false, BY_WIDE, BY_WIDE, DRAW},
    {"wide", WORDS, true, BY_WIDE, BY_WIDE, NOBODY},
    {"double", WORDS, true, BY_DOUBLE, BY_DOUBLE, NOBODY},
    {"halves", WORDS, true, BY_HALVES, BY_HALVES, NOBODY},
    {"halves left, wide right", WORDS, true, BY_HALVES, BY_WIDE, NOBODY},
    {"halves left, double right", WORDS, true, BY_HALVES, BY_DOUBLE, NOBODY},
    {"halves, logs, consumer", GUMBEL, true, BY_HALVES, BY_HALVES, DRAW},
    {"wide, logs, consumer", GUMBEL, true, BY_WIDE, BY_WIDE, DRAW},
    {"halves, short consumer", UPPER_WORD, true, BY_HALVES, BY_HALVES, BOUND},
    {"wide, short consumer", UPPER_WORD, true, BY_WIDE, BY_WIDE, BOUND},
};
constexpr int variant_count = sizeof variants / sizeof *variants;

constexpr int steps = 1600;
constexpr int batch_steps = 8;                            /* of one call a lane each */
constexpr int calls = 4;                                  /* that take turns */
constexpr int batch_floats = 2 * batch_steps * warpgroup; /* in groups of four: [4][lane][4] */
constexpr int shared_bytes = tiles_bytes + 2 * batch_floats * static_cast<int>(sizeof(float));
constexpr float ln_2 = 0x1.62e43p-1f;
static_assert(steps % batch_steps == 0, "whoever waits for the last batch would wait for ever");
static_assert(batch_steps % calls == 0 && calls % 2 == 0, "whole groups of four");

struct request {
    uint64_t seed;
    uint32_t draw;
    float temperature;
};

struct cycles {
    long long step, making, taking;
};

DLLM_DEVICE float lg2(float x)
{
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

DLLM_DEVICE float ex2(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/* dllm_gumbel, whose logarithm is another one outside of NVRTC. */
DLLM_DEVICE float gumbel(uint32_t high, uint32_t low)
{
    const uint32_t flip = high >> 31 ? ~0u : 0;
    const uint32_t rest = ((low ^ flip) & 0xfffff000u) | 0x800u;
    const float part = fmaf(static_cast<float>(rest), 0x1p-64f, (high ^ flip) * 0x1p-32f);
    const uint32_t near_one = __float_as_uint(dllm_exponential_near_one(part));
    const uint32_t other = __float_as_uint(-ln_2 * lg2(part));
    return -ln_2 * lg2(__uint_as_float((near_one & flip) | (other & ~flip)));
}

/* ---- the second warpgroup ---- */

template <int VARIANT>
DLLM_DEVICE void make_words(uint32_t (&words)[calls][4], const request &wanted, int first_call)
{
    constexpr variant chosen = variants[VARIANT];
    const uint32_t row = threadIdx.x / 4; /* four lanes have one, with ids of their own */
#pragma unroll
    for (int call = 0; call < calls; call++) {
        words[call][0] = 4 * (first_call + call) + threadIdx.x % 4;
        words[call][1] = wanted.draw;
        words[call][2] = row;
        words[call][3] = ~row;
    }
    if constexpr (chosen.calls_philox) {
        philox<chosen.left, chosen.right>(words, static_cast<uint32_t>(wanted.seed),
                                          static_cast<uint32_t>(wanted.seed >> 32));
    } else {
#pragma unroll
        for (int call = 0; call < calls; call++) { /* of a word's range nothing must be known */
            words[call][2] = words[call][0] * right_factor;
            words[call][0] *= left_factor;
        }
    }
}

template <making MAKES> DLLM_DEVICE float make_noise(uint32_t high, uint32_t low)
{
    if (MAKES == GUMBEL) return gumbel(high, low);
    return __uint_as_float(MAKES == UPPER_WORD ? high : high ^ low);
}

template <int VARIANT>
DLLM_DEVICE void make_batch(float *batch, const request &wanted, int first_step)
{
    constexpr making makes = variants[VARIANT].makes;
    float4 *slots = reinterpret_cast<float4 *>(batch) + threadIdx.x % warpgroup;
#pragma unroll 1
    for (int step = 0; step < batch_steps; step += calls) {
        uint32_t words[calls][4];
        make_words<VARIANT>(words, wanted, first_step + step);
#pragma unroll
        for (int call = 0; call < calls; call += 2) {
            const uint32_t *one = words[call], *next = words[call + 1];
            slots[(step + call) / 2 * warpgroup] = make_float4(
                make_noise<makes>(one[0], one[1]), make_noise<makes>(one[2], one[3]),
                make_noise<makes>(next[0], next[1]), make_noise<makes>(next[2], next[3]));
        }
    }
}

/* ---- the third ---- */

constexpr int batch_logits = 2 * batch_steps;

struct best {
    float max, sum, score, value;
    int column;
};

/* Logits of 1 to 2, another set for each lane. */
DLLM_DEVICE void make_logits(float (&z)[batch_logits], const request &wanted)
{
    for (int i = 0; i < batch_logits; i++)
        z[i] = __uint_as_float(0x3f800000u |
                               ((wanted.draw + i * 7919 + threadIdx.x * 31) & 0x7fffffu));
}

DLLM_DEVICE void offer(best &state, float value, float noise, int column, float temperature)
{
    const float score = fmaf(temperature, noise, value);
    const bool wins = score > state.score;
    state.score = wins ? score : state.score;
    state.value = wins ? value : state.value;
    state.column = wins ? column : state.column;
}

/* -ln(-ln u) is below -ln(1 - u), and the distance from 1 is above that of the upper word, here 2^32 times
 * as large, which moves all bounds alike. */
DLLM_DEVICE void bound(best &state, float value, float upper_word, float temperature)
{
    const float distance = static_cast<float>(~__float_as_uint(upper_word));
    state.score = fmaxf(state.score, fmaf(-ln_2 * temperature, lg2(distance), value));
}

DLLM_DEVICE void add_exponentials(best &state, const float (&z)[batch_logits])
{
    float highest = z[0];
#pragma unroll
    for (int i = 1; i < batch_logits; i++)
        highest = fmaxf(highest, z[i]);
    if (highest > state.max) {
        state.sum *= ex2((state.max - highest) * log2_e);
        state.max = highest;
    }
    float sum[2] = {};
#pragma unroll
    for (int i = 0; i < batch_logits; i++)
        sum[i % 2] += ex2((z[i] - state.max) * log2_e);
    state.sum += sum[0] + sum[1];
}

template <taking TAKES>
DLLM_DEVICE void take_batch(best &state, const float (&z)[batch_logits], const float *batch,
                            int first_column, float temperature)
{
    const float4 *slots = reinterpret_cast<const float4 *>(batch) + threadIdx.x % warpgroup;
#pragma unroll
    for (int i = 0; i < batch_logits; i += 4) {
        const float4 four = slots[i / 4 * warpgroup];
        const float noise[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (TAKES == DRAW)
                offer(state, z[i + k], noise[k], first_column + i + k, temperature);
            else
                bound(state, z[i + k], noise[k], temperature);
        }
    }
    add_exponentials(state, z);
}

/* ---- all of them ---- */

/* A counter that only rises cannot be missed, however late one looks. */
DLLM_DEVICE void wait_for(const int *batches_done, int batches)
{
    while (*static_cast<const volatile int *>(batches_done) < batches)
        __nanosleep(100);
}

template <int VARIANT>
DLLM_DEVICE long long run_making(float *ring, const int *batches_done, const request &wanted)
{
    long long busy = 0;
    for (int batch = 0; batch < steps / batch_steps; batch++) {
        const long long begin = clock64();
        make_batch<VARIANT>(ring + batch % 2 * batch_floats, wanted, batch * batch_steps);
        busy += clock64() - begin;
        wait_for(batches_done, batch + 1);
    }
    return busy;
}

/* Does not wait for the noise: what it reads may be of an earlier batch, which costs the same. */
template <taking TAKES>
DLLM_DEVICE long long run_taking(uint32_t *sink, const float *ring, const int *batches_done,
                                 const request &wanted)
{
    best state = {-infinity(), 0.0f, -infinity(), 0.0f, 0};
    float z[batch_logits];
    make_logits(z, wanted);
    long long busy = 0;
    for (int batch = 0; batch < steps / batch_steps; batch++) {
        const long long begin = clock64();
        take_batch<TAKES>(state, z, ring + batch % 2 * batch_floats, batch * batch_logits,
                          wanted.temperature);
        busy += clock64() - begin;
        for (int i = 0; i < batch_logits; i++)
            asm volatile("" : "+f"(z[i])); /* as if they were new */
        wait_for(batches_done, batch + 1);
    }
    if (state.score + state.sum + state.value + state.column == 12345.0f) sink[threadIdx.x] = 2;
    return busy;
}

template <int VARIANT>
__global__ void __launch_bounds__(block_threads, 1)
    share_block(cycles *out, uint32_t *sink, request wanted)
{
    constexpr variant chosen = variants[VARIANT];
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ int batches_done;
    float *ring = reinterpret_cast<float *>(tiles + tiles_bytes); /* of two batches */
    fill_tiles(tiles);
    for (int i = threadIdx.x; i < 2 * batch_floats; i += blockDim.x)
        ring[i] = i * 1e-3f;
    if (threadIdx.x == 0) batches_done = 0;
    __syncthreads();
    const int group = warpgroup_index();
    if (group == 0) {
        const long long taken = run_products<steps>(sink, tiles, [&](int step) {
            if (step % batch_steps == batch_steps - 1 && threadIdx.x == 0)
                *static_cast<volatile int *>(&batches_done) = step / batch_steps + 1;
        });
        if (tells()) out->step = taken;
    } else if (group == 1 && chosen.makes != NOTHING) {
        const long long busy = run_making<VARIANT>(ring, &batches_done, wanted);
        if (tells()) out->making = busy;
    } else if (group == 2 && chosen.takes != NOBODY) {
        const long long busy = run_taking<chosen.takes>(sink, ring, &batches_done, wanted);
        if (tells()) out->taking = busy;
    }
}

/* ---- upper halves against the instruction's ---- */

struct wrong_ones {
    unsigned int halves_left, halves_right, double_left, double_right;
};

template <upper HOW> DLLM_DEVICE bool is_wrong(uint32_t a, uint32_t factor)
{
    uint32_t low;
    return multiply<HOW>(low, a, factor) != __umulhi(a, factor);
}

constexpr int check_threads = 256, check_blocks = 4096, check_inputs = 4096; /* 2^32 in all */

__global__ void check(wrong_ones *wrong)
{
    const uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) * check_inputs;
    for (uint32_t i = 0; i < check_inputs; i++) {
        const uint32_t a = first + i;
        if (is_wrong<BY_HALVES>(a, left_factor)) atomicAdd(&wrong->halves_left, 1);
        if (is_wrong<BY_HALVES>(a, right_factor)) atomicAdd(&wrong->halves_right, 1);
        if (is_wrong<BY_DOUBLE>(a, left_factor)) atomicAdd(&wrong->double_left, 1);
        if (is_wrong<BY_DOUBLE>(a, right_factor)) atomicAdd(&wrong->double_right, 1);
    }
}

void report_wrong_ones()
{
    static_assert(uint64_t{check_threads} * check_blocks * check_inputs == uint64_t{1} << 32,
                  "every input");
    wrong_ones *out, wrong;
    expect(cudaMalloc(&out, sizeof *out));
    expect(cudaMemset(out, 0, sizeof *out));
    check<<<check_blocks, check_threads>>>(out);
    expect(cudaGetLastError());
    expect(cudaMemcpy(&wrong, out, sizeof wrong, cudaMemcpyDeviceToHost));
    expect(cudaFree(out));
    printf("wrong upper halves of 2^32, left and right: by halves %u %u, by double %u %u\n",
           wrong.halves_left, wrong.halves_right, wrong.double_left, wrong.double_right);
}

template <int VARIANT> void report()
{
    const request wanted = {0x123456789abcdefull, 77, 1.0f};
    const cycles taken = run_twice<cycles>(share_block<VARIANT>, shared_bytes, wanted);
    printf("%-28s %8.1f %8.1f %8.1f\n", variants[VARIANT].name,
           static_cast<double>(taken.step) / steps, static_cast<double>(taken.making) / steps,
           static_cast<double>(taken.taking) / steps);
    fflush(stdout);
    if constexpr (VARIANT + 1 < variant_count) report<VARIANT + 1>();
}

} // namespace

int main()
{
    report_wrong_ones();
    printf("cycles a product step (512 at best); of them busy with noise, and with its use\n");
    printf("%-28s %8s %8s %8s\n", "", "step", "noise", "use");
    report<0>();
    return 0;
}
