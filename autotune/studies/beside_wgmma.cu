/*
 * beside_wgmma.cu - what instructions cost a warp while another one keeps the tensor cores busy, and what
 * they cost the tensor cores
 *
 * A block a multiprocessor. Its first warpgroup multiplies, as head_sm90 does with a tile; one or two more
 * repeat a chain of instructions, four chains a lane, until it ends. Prints cycles an instruction and cycles
 * a product step, of block 0. Not part of the build:
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -o beside_wgmma beside_wgmma.cu
 */
#include "wgmma_loop.cuh"

namespace
{

enum chain {
    ADD,
    LOP3,
    SHIFT,
    LOW,
    LOW_SHIFT,
    HIGH,
    FFMA,
    FFMA1,
    DFMA,
    LG2,
    PHILOX_WIDE,
    PHILOX_DOUBLE,
    PHILOX_HALVES,
    CHAINS
};
const char *const names[] = {"add, three registers",
                             "lop3, three registers",
                             "shift",
                             "mad.lo, three registers",
                             "mad.lo and shift, each",
                             "mul.hi",
                             "ffma, three registers",
                             "ffma, one",
                             "dfma",
                             "lg2",
                             "philox, wide",
                             "philox, double",
                             "philox, halves"};
static_assert(sizeof names / sizeof *names == CHAINS, "a name each");

constexpr int chains = 4, links = 20, steps = 400;

struct cycles {
    long long chain, links, step;
};

/* One instruction on a lane's words; n is odd every other time. */
template <int CHAIN> DLLM_DEVICE void link(uint32_t &a, uint32_t &b, uint32_t key, int n)
{
    if (CHAIN == ADD) { /* to a every time would be fewer additions of multiples */
        uint32_t &sum = n % 2 ? b : a;
        asm volatile("{\n.reg .u32 s;\nadd.u32 s, %0, %1;\nadd.u32 %0, s, %2;\n}"
                     : "+r"(sum)
                     : "r"(n % 2 ? a : b), "r"(key));
    }
    if (CHAIN == LOP3) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(a) : "r"(b), "r"(key));
    if (CHAIN == SHIFT || (CHAIN == LOW_SHIFT && n % 2))
        asm volatile("shf.l.wrap.b32 %0, %0, %0, 7;" : "+r"(a));
    if (CHAIN == LOW) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(key), "r"(b));
    if (CHAIN == LOW_SHIFT && n % 2 == 0) asm volatile("mul.lo.u32 %0, %0, 36183;" : "+r"(a));
    if (CHAIN == HIGH) asm volatile("mul.hi.u32 %0, %0, 0xcd9e8d57;" : "+r"(a));
    if (CHAIN == FFMA || CHAIN == FFMA1) {
        float x = __uint_as_float(a);
        if (CHAIN == FFMA)
            asm volatile("fma.rn.f32 %0, %0, %1, %2;"
                         : "+f"(x)
                         : "f"(__uint_as_float(key)), "f"(__uint_as_float(b)));
        else
            asm volatile("fma.rn.f32 %0, %0, 0f3f800001, 0f3f800000;" : "+f"(x));
        a = __float_as_uint(x);
    }
    if (CHAIN == LG2) {
        float x = __uint_as_float(a);
        asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
        a = __float_as_uint(x);
    }
    if (CHAIN == DFMA) {
        double x = __hiloint2double(b, a);
        asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(1.7), "d"(0.3));
        a = __double2loint(x);
        b = __double2hiint(x);
    }
}

/* A link of every chain after another, or four calls of Philox: as many products, each with its exclusive or. */
template <int CHAIN> DLLM_DEVICE void walk_links(uint32_t (&words)[chains][4], uint32_t key)
{
    static_assert(links == 2 * 10, "ten rounds of two products");
    if constexpr (CHAIN == PHILOX_WIDE) {
        philox<BY_WIDE, BY_WIDE>(words, key, key);
    } else if constexpr (CHAIN == PHILOX_DOUBLE) {
        philox<BY_DOUBLE, BY_DOUBLE>(words, key, key);
    } else if constexpr (CHAIN == PHILOX_HALVES) {
        philox<BY_HALVES, BY_HALVES>(words, key, key);
    } else {
#pragma unroll
        for (int n = 0; n < links; n++) {
#pragma unroll
            for (int c = 0; c < chains; c++)
                link<CHAIN>(words[c][n / 2 % 2], words[c][2 + n / 2 % 2], key, n);
        }
    }
}

/* Until told to end, or `most` times. */
template <int CHAIN>
DLLM_DEVICE cycles run_chain(uint32_t *sink, uint32_t key, const volatile int *ended, int most)
{
    uint32_t words[chains][4];
    for (int i = 0; i < 4 * chains; i++)
        words[i / 4][i % 4] = (key + i) * (threadIdx.x + 1);
    int repeat = 0;
    const long long begin = clock64();
#pragma unroll 1
    for (; repeat < most && !*ended; repeat++) {
#pragma unroll
        for (int c = 0; c < chains; c++) {
            words[c][0] += repeat;
            words[c][2] += threadIdx.x;
        }
        walk_links<CHAIN>(words, key);
    }
    const long long end = clock64();
    uint32_t sum = 0;
    for (int c = 0; c < chains; c++)
        sum += words[c][0] + words[c][1] + words[c][2] + words[c][3];
    if (sum == 12345) sink[threadIdx.x] = sum; /* or nobody would need the chains */
    return {end - begin, static_cast<long long>(repeat) * chains * links, 0};
}

template <int CHAIN>
__global__ void __launch_bounds__(block_threads, 1)
    beside(cycles *out, uint32_t *sink, uint32_t key, int users, bool multiplies)
{
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ int ended;
    fill_tiles(tiles);
    if (threadIdx.x == 0) ended = 0;
    __syncthreads();
    const int group = warpgroup_index();
    if (group == 0 && multiplies) {
        const long long taken = run_products<steps>(sink, tiles, [](int) {});
        if (threadIdx.x == 0) *static_cast<volatile int *>(&ended) = 1;
        if (tells()) out->step = taken;
    } else if (group > 0 && group <= users) {
        const cycles taken = run_chain<CHAIN>(sink, key, &ended, multiplies ? 1 << 30 : steps);
        if (tells() && group == 1) {
            out->chain = taken.chain;
            out->links = taken.links;
        }
    }
}

template <int CHAIN> cycles measure(int users, bool multiplies)
{
    return run_twice<cycles>(beside<CHAIN>, tiles_bytes, 77u, users, multiplies);
}

/* Cycles of a scheduler an instruction. */
double each(const cycles &taken, int users)
{
    return static_cast<double>(taken.chain) / taken.links / users;
}

template <int CHAIN> void report()
{
    const cycles alone = measure<CHAIN>(1, false), both = measure<CHAIN>(2, false),
                 one = measure<CHAIN>(1, true), two = measure<CHAIN>(2, true);
    printf("%-24s %6.2f %6.2f %9.2f %6.2f %9.0f %6.0f\n", names[CHAIN], each(alone, 1),
           each(both, 2), each(one, 1), each(two, 2), static_cast<double>(one.step) / steps,
           static_cast<double>(two.step) / steps);
    if constexpr (CHAIN + 1 < CHAINS) report<CHAIN + 1>();
}

} // namespace

int main()
{
    printf("cycles of a scheduler an instruction, of Philox a product and its exclusive or; one "
           "and two warps alone,\n"
           "one and two beside products; cycles a product step then (512 at best)\n");
    printf("%-24s %6s %6s %9s %6s %9s %6s\n", "", "alone", "two", "one", "two", "step, one", "two");
    report<0>();
    return 0;
}
