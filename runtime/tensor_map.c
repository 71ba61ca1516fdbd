/* tensor_map.c - shape, stride, box and swizzle packed by the driver */
#include "tensor_map.h"

#include "status.h"

enum { ELEMENT_BYTES = 2, STRIDE_STEP_BYTES = 16, STRIDE_BITS = 40 };

/* With one row the caller's stride was not looked at and may be anything; the driver wants one that
   it could use. */
static int64_t stride_bytes(const dllm_tensor_view *view)
{
    if (view->rows > 1) return view->stride * ELEMENT_BYTES;
    return (view->columns * ELEMENT_BYTES + STRIDE_STEP_BYTES - 1) / STRIDE_STEP_BYTES *
           STRIDE_STEP_BYTES;
}

dllm_status dllm__tensor_map(dllm_tensor_map *out, const dllm_driver *driver,
                             const dllm_tensor_view *view, int box_rows)
{
    const int64_t bytes = stride_bytes(view);
    const uint64_t extents[] = {(uint64_t)view->columns, (uint64_t)view->rows};
    const uint64_t strides[] = {(uint64_t)bytes};
    const uint32_t box[] = {DLLM_SM90_STEP_DEPTH, (uint32_t)box_rows};
    const uint32_t element_strides[] = {1, 1};
    const int type = view->type == DLLM_FP16 ? DLLM_CU_TENSOR_FP16 : DLLM_CU_TENSOR_BF16;
    if (bytes >> STRIDE_BITS)
        return dllm__fail(
            DLLM_INVALID_ARGUMENT,
            "%s stride of %lld elements is 2^40 bytes or more, the copy engine's limit", view->name,
            (long long)view->stride);
    /* 256: each miss brings two lines, and the next box of the same rows finds its own in L2. Asked
       for at the same time, both would be fetched twice. */
    const int promotion =
        view->in_pairs ? DLLM_CU_TENSOR_PROMOTION_128 : DLLM_CU_TENSOR_PROMOTION_256;
    return dllm__driver_check(
        driver,
        driver->tensor_map(out, type, 2, (void *)view->base, extents, strides, box, element_strides,
                           DLLM_CU_TENSOR_NOT_INTERLEAVED, DLLM_CU_TENSOR_SWIZZLE_128, promotion,
                           DLLM_CU_TENSOR_FILL_ZEROS),
        "cuTensorMapEncodeTiled");
}
