/*
 * load.cuh - reading rows: which row, and runs of elements by the widest legal words
 */
#ifndef DLLM_LOAD_CUH
#define DLLM_LOAD_CUH

#include "base.cuh"

/** Rows of the run: what the host says, or the device if that is less, and never below 0. */
template <typename Params> DLLM_DEVICE int64_t row_count(const Params &params)
{
    if (params.rows_device == nullptr) return params.rows;
    const int64_t counted = smaller<int64_t>(*params.rows_device, params.rows);
    return counted < 0 ? 0 : counted;
}

/** The source row of row `row`, or -1 if the index is outside the source. */
DLLM_DEVICE int64_t source_row(const void *row_index, int32_t index_is_64, int64_t source_rows,
                               int64_t row)
{
    if (row_index == nullptr) return row;
    const int64_t source = index_is_64 ? static_cast<const int64_t *>(row_index)[row]
                                       : static_cast<const int32_t *>(row_index)[row];
    return source >= 0 && source < source_rows ? source : -1;
}

template <int BYTES> struct word_of;
template <> struct word_of<2> {
    using type = uint16_t;
};
template <> struct word_of<4> {
    using type = uint32_t;
};
template <> struct word_of<8> {
    using type = uint2;
};
template <> struct word_of<16> {
    using type = uint4;
};

/** COUNT neighbouring elements as they lie in memory. */
template <typename T, int COUNT> struct alignas(sizeof(T) * COUNT) element_run {
    T values[COUNT];
};

/**
 * Loads COUNT neighbouring elements, by words of at most ALIGN bytes.
 * from     keeps ALIGN bytes, or those of an element if these are more
 */
template <int COUNT, int ALIGN, typename T>
DLLM_DEVICE element_run<T, COUNT> load_run(const T *from)
{
    constexpr int run_bytes = static_cast<int>(sizeof(T)) * COUNT;
    constexpr int least = ALIGN < static_cast<int>(sizeof(T)) ? static_cast<int>(sizeof(T)) : ALIGN;
    constexpr int bytes = least < run_bytes ? least : run_bytes;
    using word = typename word_of<bytes>::type;
    union {
        word words[run_bytes / bytes];
        element_run<T, COUNT> run;
    } loaded;
#pragma unroll
    for (int i = 0; i < run_bytes / bytes; i++) {
        loaded.words[i] = reinterpret_cast<const word *>(from)[i];
    }
    return loaded.run;
}

#ifdef __CUDACC_RTC__

/** ld.global.nc.L1::no_allocate, 16 bytes of data that is read once (PTX ISA, "ld.global.nc"). */
DLLM_DEVICE uint4 load_once(const uint4 *from)
{
    uint4 word;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(from));
    return word;
}

/** ld.global.nc, 16 bytes of data that neighbours read again (PTX ISA, "ld.global.nc"). */
DLLM_DEVICE uint4 load_again(const uint4 *from)
{
    uint4 word;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(from));
    return word;
}

#else

DLLM_DEVICE uint4 load_once(const uint4 *from)
{
    return *from;
}

DLLM_DEVICE uint4 load_again(const uint4 *from)
{
    return *from;
}

#endif

#endif
