/* estimate.c - waves of blocks, each bound by its products or by its bytes */
#include "estimate.h"

#include <math.h>

static const double block_start_us = 1.0; /* until the first operands have come */
static const double launch_us = 3.0;      /* of a kernel behind another */
static const double cache_speedup = 4.0;  /* of the L2 over memory, for bytes that are read again */
static const double cache_bytes = 64.0;   /* that a multiprocessor gets from the L2 in a clock */
static const double simt_products = 128.0; /* fp32 multiply-adds of a multiprocessor in a clock */

/* What the device does in a microsecond; a device that does not tell gets round numbers. */
typedef struct rates {
    double bytes;    /* of memory */
    double products; /* of one multiprocessor, by this family */
    double cached;   /* bytes of the L2, to one multiprocessor */
} rates;

static rates rates_of(const dllm_problem *problem, const dllm_device *device,
                      const dllm_space *space)
{
    const double clock = device->clock_mhz > 0 ? device->clock_mhz : 1500.0;
    const double bytes_a_ns = device->memory_bytes_a_ns > 0 ? device->memory_bytes_a_ns : 1000.0;
    double products = space->products_a_clock;
    if (space->products_a_clock == 0)
        products = device->products_a_clock * space->tensor_percent / 100.0;
    if (problem->weight_type == DLLM_FP32) products = fmin(products, simt_products);
    return (rates){
        .bytes = 1000.0 * bytes_a_ns, .products = clock * products, .cached = clock * cache_bytes};
}

static double rows_of(const dllm_problem *problem)
{
    return problem->rows_max > 0 ? (double)problem->rows_max : 1.0;
}

/* The sampler has one "product" a logit. */
static double depth_of(const dllm_problem *problem)
{
    return problem->depth > 0 ? (double)problem->depth : 1.0;
}

/* Bytes of the weight, or of one row of logits. */
static double column_bytes(const dllm_problem *problem)
{
    const dllm_type type =
        problem->operation == DLLM_OPERATION_HEAD ? problem->weight_type : problem->hidden_type;
    return depth_of(problem) * dllm__type_bytes(type);
}

/* cuBLAS fills chunks of logits, the sampler reads them out of the L2. */
static double chunked_us(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice, const rates *rate)
{
    const double rows = rows_of(problem), columns = (double)problem->valid_vocab;
    const double row_chunks = ceil(rows / choice->chunk_rows);
    const double chunks = row_chunks * ceil(columns / choice->chunk_vocab);
    const double padded = ceil(rows / 64.0) * 64.0; /* a tile of cuBLAS */
    const double products =
        padded * columns * depth_of(problem) / (rate->products * device->multiprocessors);
    const double bytes = row_chunks * columns * column_bytes(problem) / rate->bytes;
    const double fold = rows * columns * 4.0 / (rate->bytes * cache_speedup);
    return fmax(products, bytes) + fold + (2.0 * chunks + 1.0) * launch_us;
}

/* One block's split: bound by products, by memory, or by what each tile takes from the L2. */
static double unit_us(const dllm_problem *problem, const dllm_device *device,
                      const dllm_choice *choice, const rates *rate)
{
    const int blocks = dllm__blocks_an_sm(choice);
    const double columns = choice->split_columns, rows = choice->tile_rows;
    const double row_tiles = ceil(rows_of(problem) / rows);
    const double products = rows * columns * depth_of(problem) / (rate->products / blocks);
    /* row tiles that run side by side read the same part of the weight */
    const double shared = problem->depth > 0 ? fmin(row_tiles, cache_speedup) : 1.0;
    const double bytes =
        columns * column_bytes(problem) / (rate->bytes / device->multiprocessors / blocks * shared);
    const double again =
        problem->depth > 0 ? fmin(rows, rows_of(problem)) / choice->tile_vocab : 0.0;
    const double cached = columns * (1.0 + again) * column_bytes(problem) / (rate->cached / blocks);
    return fmax(fmax(products, bytes), cached) + block_start_us;
}

double dllm__estimate_us(const dllm_problem *problem, const dllm_device *device,
                         const dllm_choice *choice)
{
    const dllm_space *space = choice->family->space;
    const rates rate = rates_of(problem, device, space);
    if (space->chunked) return chunked_us(problem, device, choice, &rate);
    const double row_tiles = ceil(rows_of(problem) / choice->tile_rows);
    const double slots = (double)device->multiprocessors * dllm__blocks_an_sm(choice);
    const double waves = ceil(row_tiles * choice->splits / slots);
    const double fold = waves * unit_us(problem, device, choice, &rate);
    if (choice->finishes) return fold;
    const double states = rows_of(problem) * choice->splits * (double)sizeof(float[4]) / rate.bytes;
    return fold + states + launch_us;
}

double dllm__floor_us(const dllm_problem *problem, const dllm_device *device)
{
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    const double columns = (double)problem->valid_vocab * (head ? 1.0 : rows_of(problem));
    const double peak =
        problem->weight_type == DLLM_FP32 ? simt_products : device->products_a_clock;
    const double rate = peak * device->clock_mhz * device->multiprocessors;
    if (rate <= 0.0 || device->memory_bytes_a_ns <= 0) return 0.0;
    const double bytes = columns * column_bytes(problem) / (1000.0 * device->memory_bytes_a_ns);
    const double products = head ? rows_of(problem) * columns * depth_of(problem) / rate : 0.0;
    return fmax(bytes, products);
}
