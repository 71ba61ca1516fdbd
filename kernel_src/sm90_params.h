/*
 * sm90_params.h - the arguments of head_sm90 and the fixed part of its shared memory
 *
 * Compiled by gcc, clang and NVRTC alike, as row_params.h is.
 */
#ifndef DLLM_SM90_PARAMS_H
#define DLLM_SM90_PARAMS_H

#include "row_params.h"

/** What the driver's CUtensorMap is to a kernel: 128 opaque bytes. */
typedef struct dllm_tensor_map {
    DLLM_ALIGNED(64) uint64_t words[16];
} dllm_tensor_map;

/** Arguments of head_sm90. */
typedef struct dllm_sm90_params {
    dllm_tensor_map hidden; /* (rows, depth), or lines of pairs.cuh; boxes of hidden_rows x 64 */
    dllm_tensor_map last_hidden; /* the same in boxes of last_rows x 64, for the last row tile */
    dllm_tensor_map weight;      /* (valid_vocab, depth), boxes of DLLM_SM90_BOX_ROWS x 64 */
    dllm_row_state *states;      /* [splits][state_stride] */
    const int64_t *rows_device;  /* (1) the row count, at most rows; NULL: it is rows */
    int64_t state_stride;        /* states from one split to the next, >= rows */
    int32_t rows;
    int32_t valid_vocab; /* candidates are columns 0 .. valid_vocab - 1 */
    int32_t depth;
    int32_t split_columns; /* columns of a split; the last may be short, none is empty */
    int32_t splits;
    int32_t hidden_rows; /* rows of hidden in a stage: a multiple of 8, at most the tile's */
    int32_t last_tile;   /* the row that last_hidden begins at */
    int32_t last_rows;   /* those from there on, up to a multiple of 8 */
    int32_t stages;      /* stages of the ring: 2 .. DLLM_SM90_STAGES_MAX */
    int32_t pairs;       /* 1: one row tile, and stages are filled two at a time */
    DLLM_FURTHER(dllm_row_inputs)
    DLLM_GUIDED
} dllm_sm90_params;

enum {
    DLLM_SM90_STEP_DEPTH = 64,
    DLLM_SM90_LINE_BYTES = 128, /* a row of a stage: 64 elements of 16 bits */
    DLLM_SM90_BOX_ROWS = 64,
    DLLM_SM90_STAGES_MAX = 24,
    DLLM_SM90_BARRIER_BYTES = 512
};

/** Threads of a block: the consuming warpgroups and the producer's. */
#define DLLM_SM90_THREADS(groups) (((groups) + 1) * 128)

/** What a row of a tile takes before the ring: a state that is handed over, two NaN columns, and with
 * more statistics the rest of that state and `words` words in each of four lanes a warpgroup. */
#define DLLM_SM90_ROW_BYTES(turns, words) (24 + ((words) ? 32 : 0) + (turns) * (words)*16)

/** Byte offset of the ring in shared memory: barriers and rows lie before it. */
#define DLLM_SM90_RING_AT(tile_rows, turns, words)                                                 \
    ((DLLM_SM90_BARRIER_BYTES + (tile_rows)*DLLM_SM90_ROW_BYTES(turns, words) + 1023) / 1024 * 1024)

#ifdef __cplusplus
static_assert(sizeof(dllm_sm90_params) ==
                  (448 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES + 63) / 64 * 64,
              "host and device must agree on the layout");
#else
_Static_assert(sizeof(dllm_sm90_params) ==
                   (448 + DLLM_FURTHER_BYTES(dllm_row_inputs) + DLLM_GUIDED_BYTES + 63) / 64 * 64,
               "host and device must agree on the layout");
#endif

#endif
