/*
 * decode_control.h - what a decode keeps: rules and record of a sequence, the rows of a step, trace
 *
 * Plain structs for gcc and NVRTC. On a GPU all of it lies in device memory, so that a step needs
 * nothing of the host; positions are counted from the start of their sequence and fit 32 bits.
 */
#ifndef DLLM_DECODE_CONTROL_H
#define DLLM_DECODE_CONTROL_H

#include "decode_filter.h"

enum { DLLM_EOS_IDS_MAX = 16, DLLM_LATE_IDS_MAX = 16 };

enum { DLLM_SCHEDULE_NONE, DLLM_SCHEDULE_EVEN, DLLM_SCHEDULE_EVEN_BLOCK, DLLM_SCHEDULE_DREAM };

/** Where the hidden row of a position lies (decode.md 6). */
enum { DLLM_ROWS_CANVAS, DLLM_ROWS_BLOCK, DLLM_ROWS_BLOCK_AND_BEFORE, DLLM_ROWS_GATHERED };

enum {
    DLLM_RECORD_RUNNING,
    DLLM_RECORD_DONE,
    DLLM_RECORD_DONE_EOS,
    DLLM_RECORD_NO_PROGRESS,
    DLLM_RECORD_UNUSABLE_ROW,
    DLLM_RECORD_NOT_COVERED,
    DLLM_RECORD_BAD_ROW,
    DLLM_RECORD_CANCELLED,
    DLLM_RECORD_INACTIVE
};

enum { DLLM_FORWARD_REFRESH, DLLM_FORWARD_STEP, DLLM_FORWARD_PERSIST };

enum { DLLM_CHANGE_COMMIT, DLLM_CHANGE_EDIT, DLLM_CHANGE_STEP };

/** How every sequence of a decode is treated. */
typedef struct dllm_decode_manner {
    int64_t mask_id;
    int64_t late[DLLM_LATE_IDS_MAX]; /* ids whose positions come last */
    int32_t late_count;
    int32_t score;            /* DLLM_SCORE_..., or DLLM_SCORE_RANDOM */
    int32_t round_bf16;       /* 1: keys are rounded */
    int32_t excludes_mask;    /* 1: a position whose token is the mask is not eligible */
    int32_t allows_mask;      /* 1: it is, and stays masked: such masks are no failure */
    int32_t eligible_prefix;  /* 1: masks of the prompt and of older blocks compete */
    int32_t fixed_steps;      /* 1: a block takes all of its steps, masks or none */
    int32_t persists;         /* 1: a forward more after each block */
    int32_t first_from_full;  /* 1: a block's first forward commits its first position */
    int32_t edits;            /* 1: tokens may change */
    int32_t guards_given;     /* edits: 1 spares what was no mask at block entry, 0 the prompt */
    int32_t drops_last_edits; /* edits: 1 runs a forward beyond max_post_steps and drops it */
    int32_t strict_filter;    /* 1: a filter that its list does not cover ends the sequence */
    int32_t shifted;          /* 1: position q is read from row q - 1 */
    int32_t layout;           /* DLLM_ROWS_... */
    int32_t ids_are_64;       /* of the canvas */
    int32_t candidates;       /* K of a row's list, 0: none */
    int32_t publishes; /* 1: confidences are those of a second pass without `eos` and others */
    int64_t eos;       /* of it, where a sequence is greedy */
} dllm_decode_manner;

/** A sequence's parameters, constant through a run. */
typedef struct dllm_sequence_rules {
    int64_t canvas; /* elements from the canvas's first to position 0 */
    uint64_t seed;
    uint64_t request_key;          /* its lower half enters */
    int64_t eos[DLLM_EOS_IDS_MAX]; /* (eos_count) */
    int64_t fill_id;               /* for masks behind the end; -1: they stay */
    dllm_select_rule select;       /* count: where there is no schedule */
    dllm_filter_rule filter;
    int32_t is_filtered;
    int32_t eos_count;
    int32_t eos_rule; /* DLLM_EOS_... */
    int32_t prompt;
    int32_t length; /* whole blocks, the prompt included */
    int32_t first_block;
    int32_t block_length;
    int32_t schedule;
    int32_t steps; /* of a block; 0: until it is done */
    int32_t max_post_steps;
    float eps;
    float temperature;       /* of the draw; 0: greedy */
    float order_temperature; /* > 0: noise on keys divided by it */
    float edit_threshold;
    float penalty;   /* of the id at the position before */
    float cfg_scale; /* of guidance; 0: none */
} dllm_sequence_rules;

/** Where a sequence stands; dllm_sequence_status of the public header. */
typedef struct dllm_sequence_record {
    int32_t state; /* DLLM_RECORD_... */
    int32_t phase; /* DLLM_FORWARD_... of the next forward */
    int32_t low;   /* the block is [low, high) */
    int32_t high;
    int32_t block;
    int32_t step;           /* of the block, the next one */
    int32_t masks;          /* left in the block */
    int32_t end;            /* of the result: behind the first EOS, or the length */
    int32_t forwards;       /* with this sequence unfinished, before the one under way */
    int32_t commits;        /* masks that became tokens */
    int32_t edits;          /* tokens that changed */
    int32_t uncovered;      /* rows whose filter was not covered */
    int32_t unusable;       /* rows that could not be committed */
    int32_t error_position; /* -1: none */
    int32_t error_step;     /* the forward, counted from 0 */
    int32_t reads;          /* rows of the next forward */
    int32_t first_row;      /* of them, in the step under way */
    int32_t eligible_end;   /* masks from here on are not committed */
    int32_t moved;          /* 1: the block has changed, and is to be looked at again */
    int32_t first_eos;      /* its position, the sequence's length without one */
    int32_t entry_masks;    /* at block entry */
    int32_t post;           /* forwards of a block without masks */
} dllm_sequence_record;

/** The batch. */
typedef struct dllm_batch_record {
    int64_t rows;   /* of the step under way: the head's row count */
    int64_t traced; /* records, also those for which there was no room */
    int32_t unfinished;
    int32_t forwards;      /* with an unfinished sequence at entry */
    int32_t idle_forwards; /* the others */
    int32_t cancel;        /* 1: seen */
} dllm_batch_record;

/** A change of a position, or a step's end; dllm_trace_record of the public header. */
typedef struct dllm_change {
    int32_t sequence;
    int32_t forward;
    int32_t kind;     /* DLLM_CHANGE_... */
    int32_t position; /* STEP: rows read */
    int64_t old_id;   /* STEP: commits */
    int64_t new_id;   /* STEP: masks left in the block */
    float key;        /* STEP: from the last chosen key to the first refused, +inf without one */
    int32_t zero;
} dllm_change;

/** What each row of a step brings along; arrays of rows_max, NULL where nothing needs them. */
typedef struct dllm_step_rows {
    int32_t *position;
    int64_t *source; /* hidden row */
    float *temperature;
    uint64_t *key;
    uint64_t *seed;
    uint32_t *draw;
    int64_t *penalty_id; /* of the head's second pass, where confidences are published ones */
    float *penalty;
    float *cfg_scale;
    uint32_t *noise; /* (rows_max, vocab, 2) copied from given words */
} dllm_step_rows;

/** What the head says of them. */
typedef struct dllm_step_outputs {
    int64_t *argmax;
    float *confidence;
    float *entropy;
    float *margin;
    uint32_t *flags;
    int64_t *drawn;
    float *drawn_logprob;
    float *published; /* log-probability of the token in the second pass; NULL: there is none */
    float *values;    /* (rows_max, candidates) */
    int64_t *ids;
} dllm_step_outputs;

/** A sequence's positions while a step is chosen; (positions_max) each. */
typedef struct dllm_step_block {
    uint64_t *sorted; /* a power of 2 of them */
    int32_t *order;
    int64_t *token;
    float *key;
    float *entropy;
    uint8_t *masked;
    uint8_t *usable;
    uint8_t *edited;
    uint8_t *chosen;
} dllm_step_block;

/** A decode step: arguments of both of its kernels. */
typedef struct dllm_decode_params {
    dllm_sequence_rules *rules;    /* (sequences) */
    dllm_sequence_record *records; /* (sequences) */
    dllm_batch_record *batch;
    const int32_t *cancel; /* not 0: sequences stop where they are */
    void *canvas;
    void *unconditional; /* (sequences, length_max) guidance: canvases with their prompt masked, and
                            what lies behind them */
    uint8_t *guarded;    /* (sequences, positions_max) edits: positions of the block that stay */
    dllm_change *trace;
    int64_t trace_max;
    const uint32_t *given_noise;     /* (sequences, length_max, vocab, 2), NULL: a generator */
    const uint32_t *given_positions; /* (sequences, length_max, 2) */
    int64_t vocab;
    int64_t window_rows; /* hidden rows of a sequence */
    dllm_step_rows rows;
    dllm_step_outputs outputs;
    dllm_step_block block; /* of sequence 0; the others follow */
    dllm_decode_manner manner;
    int32_t sequences;
    int32_t positions_max;
    int32_t sorted_max; /* a power of 2 */
    int32_t length_max;
} dllm_decode_params;

#endif
