/*
 * bench_read.cu - a plain read: the time that no kernel which reads those bytes can beat
 *
 * from     (packets) 16 bytes each, 16-byte aligned
 * never    written if all bits of what a thread read cancel to a pattern; there so that the loads
 *          stay
 * Grid     any; 512 threads. Four loads a thread are in flight: 128 KiB an SM with four blocks.
 */
constexpr int loads = 4;

static __device__ uint4 load(const uint4 *from)
{
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from));
    return word;
}

static __device__ unsigned mixed(uint4 word)
{
    return word.x ^ word.y ^ word.z ^ word.w;
}

extern "C" __global__ void __launch_bounds__(512)
    bench_read(const uint4 *from, unsigned long long packets, unsigned *never)
{
    const unsigned long long step = 1ull * gridDim.x * blockDim.x;
    unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    unsigned seen = 0;
    for (; i + (loads - 1) * step < packets; i += loads * step) {
        uint4 words[loads];
#pragma unroll
        for (int j = 0; j < loads; j++)
            words[j] = load(from + i + j * step);
#pragma unroll
        for (int j = 0; j < loads; j++)
            seen ^= mixed(words[j]);
    }
    for (; i < packets; i += step)
        seen ^= mixed(load(from + i));
    if (seen == 0x9e3779b9u) *never = seen;
}
