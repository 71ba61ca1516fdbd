/*
 * decoder.h - one sequence decoded by the library around the trunk of trunk.h
 *
 * The trunk runs on the CPU in fp32. Its hidden states go to the head's device for the positions that
 * a step reads; what the head and the selection do there is the library's. The weight is whatever the
 * file has. A family that takes that pair of types gets it as it is; one that wants a single 2-byte
 * type gets both in the split form of exact_split.h. Which of the two is right is asked of
 * dllm_decode_prepare, not read off a name.
 */
#ifndef DLLM_TOOL_DECODER_H
#define DLLM_TOOL_DECODER_H

#include "dllm.h"
#include "message.h"
#include "model.h"

/** A sequence under way. */
typedef struct dllm_decoder dllm_decoder;

typedef struct dllm_decoder_options {
    int device;         /* the one the context is on: an ordinal or DLLM_DEVICE_CPU */
    int threads;        /* of the trunk */
    const char *family; /* NULL: the library chooses */
    /* rules, from dllm_decode_preset; sizes, types, ids and the trunk are filled in */
    dllm_decode_options decode;
    dllm_sequence sequence; /* prompt and generate are set */
    /* called before each forward, and after the last; NULL for none */
    void (*show)(void *user, const int32_t *ids, int64_t length);
    void *user;
} dllm_decoder_options;

/** Sums over all steps, and sizes. */
typedef struct dllm_decoder_report {
    char family[24];
    int64_t steps;
    int64_t rows;
    int64_t uncovered;      /* of these, whose list of candidates ended before the filter */
    double ms;              /* beside the trunk */
    size_t workspace_bytes; /* temporary memory, but for a trace */
    size_t logits_bytes;    /* what a block's logits take in fp32 */
} dllm_decoder_report;

/**
 * Prepares.
 * context, model   stay the caller's and must outlive the decoder
 * Status   DLLM_OK, or that of the call that failed, with its message
 * Owner    release with dllm_decoder_destroy.
 */
dllm_status dllm_decoder_create(dllm_decoder **out, dllm_context *context, const dllm_model *model,
                                const dllm_decoder_options *options, dllm_message *message);

/** Releases; takes NULL. */
void dllm_decoder_destroy(dllm_decoder *decoder);

/** Positions of the canvas: prompt and generate, in whole blocks where blocks are aligned. */
int64_t dllm_decoder_length(const dllm_decoder_options *options);

/**
 * Decodes.
 * ids   (dllm_decoder_length) the prompt in front; the rest is written
 * Status  DLLM_OK, or with a message: DLLM_INVALID_ARGUMENT  the sequence's parameters
 *                                     DLLM_INCOMPLETE        it did not end as it should
 *                                     DLLM_DRIVER_FAILED     the device
 */
dllm_status dllm_decoder_run(dllm_decoder *decoder, int32_t *ids, dllm_message *message);

/** The trace of the run: `*count` records, valid until the next run; NULL without memory. */
const dllm_trace_record *dllm_decoder_trace(dllm_decoder *decoder, int64_t *count,
                                            dllm_message *message);

void dllm_decoder_read_report(const dllm_decoder *decoder, dllm_decoder_report *out);

#endif
