/*
 * decode.h - a prepared decode loop and its run
 *
 * decode_options.c and decode_sequence.c turn the public structs into those of decode_control.h,
 * decode_memory.c lays the workspace out, decode_loop.c makes steps, of which decode_cpu.c does what
 * kernels do on a GPU.
 */
#ifndef DLLM_DECODE_H
#define DLLM_DECODE_H

#include "context.h"
#include "decode_control.h"
#include "plan.h"

#include <stdatomic.h>
#include <stdbool.h>

/** Sizes of a loop that follow from its options. */
typedef struct dllm_decode_sizes {
    int64_t sequences_max;
    int64_t length_max;
    int64_t positions_max; /* most that a step of a sequence looks at */
    int64_t sorted_max;    /* the power of 2 that holds them */
    int64_t rows_max;
    int64_t hidden_rows;
    int64_t trace_max;
    int64_t suppress_max;
} dllm_decode_sizes;

enum { DLLM_DECODE_LOOKAHEAD_MAX = 16, DLLM_DECODE_KERNELS = 3 };

/** How a run stands, as far as the host has seen; pinned memory on a GPU, which writes it. */
typedef struct dllm_decode_view {
    atomic_int cancel;                                      /* asked for, by any thread */
    dllm_batch_record batch[DLLM_DECODE_LOOKAHEAD_MAX + 1]; /* after a step each, in turn */
} dllm_decode_view;

/** What a loop leaves to its device. */
typedef struct dllm_decode_stages {
    dllm_status (*open)(dllm_decode *decode); /* makes decode->view, and what the others need */
    void (*close)(dllm_decode *decode);       /* takes one that was opened in part */
    dllm_status (*start)(dllm_decode *decode, dllm_stream stream); /* or goes on after a cancel */
    dllm_status (*list)(dllm_decode *decode, dllm_stream stream);
    dllm_status (*select)(dllm_decode *decode, dllm_stream stream);
    /* in stream order; `from` may change once write has returned, read waits */
    dllm_status (*write)(dllm_decode *decode, void *to, const void *from, size_t bytes,
                         dllm_stream stream);
    dllm_status (*read)(dllm_decode *decode, void *to, const void *from, size_t bytes,
                        dllm_stream stream);
    /* the batch record into the view's entry `slot`, behind the work before; then waits for it */
    dllm_status (*note)(dllm_decode *decode, int slot, dllm_stream stream);
    dllm_status (*see)(dllm_decode *decode, int slot);
    bool (*is_over)(const dllm_decode *decode); /* known without waiting: nothing is unfinished */
} dllm_decode_stages;

struct dllm_decode {
    dllm_context *context;
    dllm_decode_options options; /* as given, without what its pointers point to */
    dllm_head_options head;      /* what the head's plan was made of */
    dllm_head_options second;    /* likewise of the plan of published confidences */
    dllm_decode_manner manner;
    dllm_decode_sizes sizes;
    dllm_plan *plan;
    dllm_plan *second_plan; /* NULL: confidences are the head's */
    const dllm_decode_stages *stages;
    size_t workspace_bytes;
    dllm_decode_view *view;
    int32_t cancel_seen;           /* CPU: by the step under way */
    dllm_sequence_rules *rules;    /* (sequences_max) on the host, as begin read them */
    dllm_sequence_record *records; /* (sequences_max) on the host, as last read */
    int64_t *suppress;             /* (suppress_max) on the host, late ids behind them */
    int32_t late_suppressed;       /* how many of those the second pass leaves out in each row */
    int64_t *suppress_place;       /* of those in the workspace */
    dllm_cu_function kernels[DLLM_DECODE_KERNELS]; /* GPU: start, list, select */
    dllm_cu_event events[DLLM_DECODE_LOOKAHEAD_MAX + 1];
    /* of the run */
    bool has_begun;
    int32_t count;
    int32_t trunk_code;
    dllm_stream stream; /* of the last step */
    dllm_decode_params params;
    dllm_head_buffers buffers; /* of the head in each step */
    dllm_head_buffers second_buffers;
};

/** A public selection as the rule that is shared with kernels. */
dllm_select_rule dllm__selection_rule(const dllm_selection *selection);

/** Checks options; fills the head's options, manner and sizes. */
dllm_status dllm__decode_take_options(dllm_decode *out, const dllm_decode_options *options);

/** Checks a sequence against its loop. number: for messages. */
dllm_status dllm__decode_take_sequence(dllm_sequence_rules *out, const dllm_decode *decode,
                                       const dllm_sequence *sequence, int64_t number);

/** Bytes of a loop's arrays, the head's workspace included. */
size_t dllm__decode_memory_bytes(const dllm_decode *decode);

/** Points params and the head's buffers into the workspace, and at what the caller gave. */
void dllm__decode_lay_out(dllm_decode *decode, const dllm_decode_buffers *buffers);

#endif
