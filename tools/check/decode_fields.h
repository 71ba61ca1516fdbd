/* decode_fields.h - the fields of a run of a decode case: numbers, lists, rules */
#ifndef DECODE_FIELDS_H
#define DECODE_FIELDS_H

#include "message.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { FIELD_LIST_MAX = 64 };

/** A list of numbers; null entries are NaN. */
typedef struct field_list {
    int count;
    double values[FIELD_LIST_MAX];
} field_list;

/** A number, "inf" and the like too; `otherwise` if it is missing or null. */
double field_value(const json_t *value, double otherwise);

/** A field's number, "inf" and the like too; `otherwise` if it is missing or null. */
double field_number(const json_t *run, const char *name, double otherwise);

/** A number as an integer, held within 32 bits; NaN is the lowest. */
int32_t field_whole(double value);

/** A field's number as such an integer. */
int32_t field_integer(const json_t *run, const char *name, int32_t otherwise);

/** n stands for u = n / denominator: the upper word n * 2^32 / denominator of it, the lower is 0. */
uint32_t field_noise_word(const json_t *number, double denominator);

/** Place of a field's word in a list of decode_shape.h; 0 if it is missing. */
int field_word(const json_t *run, const char *name, const char *const *words);

/** False if it is no list of at most FIELD_LIST_MAX numbers. */
bool field_list_of(field_list *out, const json_t *list);

/** False if the field is no list of at most FIELD_LIST_MAX numbers. */
bool field_numbers(field_list *out, const json_t *run, const char *name);

/** False with the two lists in the message. */
bool field_same(const json_t *expected, const char *name, const field_list *got, dllm_message *why);

/** False with both values in the message; nothing is compared if the field is missing. */
bool field_near(const json_t *expected, const char *name, double got, double tolerance,
                dllm_message *why);

/** As field_near for a list; an infinity equals itself. */
bool field_all_near(const json_t *expected, const char *name, const field_list *got,
                    double tolerance, dllm_message *why);

#endif
