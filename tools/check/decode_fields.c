/* decode_fields.c - the fields of a run of a decode case: numbers, lists, rules */
#include "decode_fields.h"

#include "known_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double field_value(const json_t *value, double otherwise)
{
    if (json_is_string(value)) return strtod(json_string_value(value), NULL);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

double field_number(const json_t *run, const char *name, double otherwise)
{
    return field_value(json_object_get(run, name), otherwise);
}

int32_t field_whole(double value)
{
    if (!(value > INT32_MIN)) return INT32_MIN;
    return value < INT32_MAX ? (int32_t)value : INT32_MAX;
}

int32_t field_integer(const json_t *run, const char *name, int32_t otherwise)
{
    return field_whole(field_number(run, name, otherwise));
}

uint32_t field_noise_word(const json_t *number, double denominator)
{
    const double word = field_value(number, 0) / denominator * 0x1p32;
    if (!(word > 0)) return 0;
    return word < UINT32_MAX ? (uint32_t)word : UINT32_MAX;
}

int field_word(const json_t *run, const char *name, const char *const *words)
{
    const char *word = json_string_value(json_object_get(run, name));
    return word ? known_word(word, words) : 0;
}

bool field_list_of(field_list *out, const json_t *list)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count > FIELD_LIST_MAX) return false;
    out->count = (int)count;
    for (size_t i = 0; i < count; i++)
        out->values[i] = field_value(json_array_get(list, i), (double)NAN);
    return true;
}

bool field_numbers(field_list *out, const json_t *run, const char *name)
{
    return field_list_of(out, json_object_get(run, name));
}

static void write_list(char *out, size_t size, const field_list *list)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < list->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%g", i ? ", " : "", list->values[i]);
}

bool field_same(const json_t *expected, const char *name, const field_list *got, dllm_message *why)
{
    field_list wanted;
    char got_text[160], wanted_text[160];
    if (!json_object_get(expected, name)) return true;
    if (!field_numbers(&wanted, expected, name))
        return DLLM_REFUSE(why, "expected %s is no list of numbers", name);
    bool same = wanted.count == got->count;
    for (int i = 0; same && i < wanted.count; i++)
        same = wanted.values[i] == got->values[i];
    if (same) return true;
    write_list(got_text, sizeof got_text, got);
    write_list(wanted_text, sizeof wanted_text, &wanted);
    return DLLM_REFUSE(why, "%s [%s], wanted [%s]", name, got_text, wanted_text);
}

bool field_near(const json_t *expected, const char *name, double got, double tolerance,
                dllm_message *why)
{
    const double wanted = field_number(expected, name, got);
    if (got == wanted || (isfinite(wanted) && fabs(got - wanted) <= tolerance)) return true;
    return DLLM_REFUSE(why, "%s %.9g, wanted %.9g within %g", name, got, wanted, tolerance);
}

bool field_all_near(const json_t *expected, const char *name, const field_list *got,
                    double tolerance, dllm_message *why)
{
    field_list wanted;
    if (!json_object_get(expected, name)) return true;
    if (!field_numbers(&wanted, expected, name) || wanted.count != got->count)
        return DLLM_REFUSE(why, "expected %s is no list of %d numbers", name, got->count);
    for (int i = 0; i < wanted.count; i++) {
        const double a = got->values[i], b = wanted.values[i];
        if (a != b && !(isfinite(b) && fabs(a - b) <= tolerance))
            return DLLM_REFUSE(why, "%s %d is %.9g, wanted %.9g within %g", name, i, a, b,
                               tolerance);
    }
    return true;
}
