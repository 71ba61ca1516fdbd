/*
 * tune_shapes.h - the problems that `dllm-tune tune` is asked for
 *
 * A shapes file, and a capture log alike, has a problem a line: `head` or `sampler`, then pairs of
 * name and value: vocab, depth, hidden_type, weight_type (sampler: logits_type), rows_max,
 * valid_vocab, alignment_bytes. Only vocab and depth are needed; types default to bf16, rows_max to
 * all row buckets. Lines that begin with # are passed over; another name, a name without its value or
 * one that is given twice is refused: what was meant by it would be tuned otherwise.
 */
#ifndef TUNE_SHAPES_H
#define TUNE_SHAPES_H

#include "problem.h"
#include "tune.h"

typedef struct tune_shape {
    char name[40];        /* of its set, or "line 3" of a file */
    dllm_problem problem; /* rows_max is a row bucket */
} tune_shape;

typedef struct tune_shape_list {
    int count;
    int room;
    tune_shape *shapes;
} tune_shape_list;

/**
 * Collects what the options name, each row bucket a shape, none twice.
 * Returns  TUNE_DONE, or another exit code with the reason on stderr.
 * Owner    free(list->shapes), whatever is returned.
 */
int tune_shapes_collect(tune_shape_list *list, const tune_options *options);

#endif
