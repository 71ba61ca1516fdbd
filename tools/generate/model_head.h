/*
 * model_head.h - a model's head on a device, through dllm.h: hidden rows to tokens and confidences
 *
 * The trunk's hidden states are fp32, the weight is whatever the file has. A family that takes that
 * pair gets it as it is. One that wants a single 2-byte type gets both in the split form of
 * exact_split.h; which of the two is right is asked of dllm_head_prepare, not read off a name.
 */
#ifndef DLLM_TOOL_MODEL_HEAD_H
#define DLLM_TOOL_MODEL_HEAD_H

#include "dllm.h"
#include "llada.h"
#include "message.h"
#include "model.h"

/** The head of one model, prepared; one call at a time. */
typedef struct dllm_model_head dllm_model_head;

typedef struct dllm_model_head_options {
    int device;         /* the one the context is on: an ordinal or DLLM_DEVICE_CPU */
    const char *family; /* NULL: the library chooses */
    int64_t rows_max;   /* most rows of a call */
} dllm_model_head_options;

/** Sums over all calls so far, and sizes. */
typedef struct dllm_model_head_report {
    char family[24];
    int64_t rows;
    double ms;              /* in dllm_head_run, until its results were there */
    size_t workspace_bytes; /* the temporary memory that was there for the head */
    size_t logits_bytes;    /* what rows_max rows of logits take in fp32 */
} dllm_model_head_report;

/**
 * Prepares the head; ids from the mask id on are masked, and the mask must be the last id.
 * context, model   stay the caller's and must outlive the head
 * Status   DLLM_OK, or that of the call that failed, with its message
 * Owner    release with dllm_model_head_destroy.
 */
dllm_status dllm_model_head_create(dllm_model_head **out, dllm_context *context,
                                   const dllm_model *model, const dllm_model_head_options *options,
                                   dllm_message *message);

/** Releases the head; takes NULL. */
void dllm_model_head_destroy(dllm_model_head *head);

/**
 * Scores the rows `positions` (count <= rows_max) of hidden (length, hidden) fp32, contiguous.
 * False with a message when the device or the library refuses.
 */
bool dllm_model_head_score(dllm_model_head *head, const float *hidden, const int64_t *positions,
                           int64_t count, const dllm_row_scores *out, dllm_message *message);

void dllm_model_head_read_report(const dllm_model_head *head, dllm_model_head_report *out);

#endif
