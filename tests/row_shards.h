/*
 * row_shards.h - a row problem cut into vocabulary shards, run shard by shard and merged
 */
#ifndef ROW_SHARDS_H
#define ROW_SHARDS_H

#include "row_shapes.h"

/**
 * Runs the shards of a problem that has no valid_vocab and no words for its noise, merges their states
 * and compares the rows with those of the whole problem: ids, max, second, flags and candidates are
 * the same, the rest as right as the whole's.
 * count    shards of unequal sizes, the first the smallest; at most the number of columns
 */
row_outcome row_shards_check(device_memory *memory, dllm_context *context, const row_data *data,
                             int count, dllm_message *why);

#endif
