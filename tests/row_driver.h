/* row_driver.h - runs row problems on a device and compares them with the double reference */
#ifndef ROW_DRIVER_H
#define ROW_DRIVER_H

#include "row_shapes.h"

/** Compares every row of a result with the reference. */
bool row_data_compare(const row_data *data, const row_result *result, dllm_message *why);

/** Makes, runs and compares. why: what differed, or why it was not run. */
row_outcome row_shape_check(device_memory *memory, dllm_context *context, const char *family,
                            const row_shape *shape, dllm_message *why);

/** True if all outputs of two rows have the same bits; why names the first that differs. */
bool row_bits_equal(const row_result *a, int64_t row_a, const row_result *b, int64_t row_b,
                    dllm_message *why);

#endif
