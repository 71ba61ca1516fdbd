/*
 * decode_shape.h - what a decode case may hold: its fields, and the words of those that take one
 *
 * What is not listed is refused before anything runs: a field or word that is misspelt would else
 * act as one that is missing.
 */
#ifndef DECODE_SHAPE_H
#define DECODE_SHAPE_H

#include "message.h"

#include <jansson.h>

/* Words of fields, each list in the order of the enum or number that stands for them. */
extern const char *const decode_schedules[];
extern const char *const decode_selections[];
extern const char *const decode_variants[];
extern const char *const decode_entropy_orders[];
extern const char *const decode_run_ties[];
extern const char *const decode_eos_rules[];
extern const char *const decode_windows[];
extern const char *const decode_filter_orders[];
extern const char *const decode_mask_rules[];
extern const char *const decode_eos_confidences[];
extern const char *const decode_scores[];
extern const char *const decode_roundings[];
extern const char *const decode_flags[];
extern const char *const decode_states[];
extern const char *const decode_algs[];
extern const char *const decode_eligibles[];
extern const char *const decode_remaskings[];

/** The run's fields over those that all runs of the case have in common; a new reference. */
json_t *decode_run_of(const json_t *from, size_t run);

/** False with what is wrong with the file: every case is looked at, those that are skipped too. */
bool decode_shape_check(const json_t *cases, dllm_message *message);

#endif
