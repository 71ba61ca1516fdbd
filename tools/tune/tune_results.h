/*
 * tune_results.h - what tuning found, as JSON and as a line
 */
#ifndef TUNE_RESULTS_H
#define TUNE_RESULTS_H

#include <jansson.h>

#include "tune_shapes.h"
#include "tuning.h"

/** One shape: verdict, times, winner, default, and every candidate with what became of it. */
json_t *tune_result_json(const tune_shape *shape, const dllm_tuning *tuning);

/** A choice in a few words: "sm90 64x192 stages 7 splits 132". */
void tune_choice_words(char *out, size_t bytes, const dllm_choice *choice);

#endif
