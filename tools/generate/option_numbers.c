/*
 * option_numbers.c - see option_numbers.h
 */
#include "option_numbers.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

const char *dllm_option_shown(const char *text)
{
    return text[0] ? text : "\"\"";
}

bool dllm_option_parse(int64_t *out, const char *text, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || isspace((unsigned char)text[0]) ||
        value < least || value > most)
        return false;
    *out = value;
    return true;
}

bool dllm_option_integer(int64_t *out, const char *name, const char *text, int64_t least,
                         int64_t most, dllm_message *message)
{
    if (dllm_option_parse(out, text, least, most)) return true;
    return DLLM_REFUSE(message, "--%s %s is not a number from %jd to %jd", name,
                       dllm_option_shown(text), (intmax_t)least, (intmax_t)most);
}

/* A finite number; errno is ERANGE of one that is nearer to 0 than fp32 has them. */
static bool parse_real(float *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtof(text, &end);
    return end != text && *end == '\0' && !isspace((unsigned char)text[0]) && isfinite(*out);
}

bool dllm_option_real(float *out, const char *name, const char *text, float most,
                      dllm_message *message)
{
    if (!parse_real(out, text) || *out < 0 || *out > most)
        return DLLM_REFUSE(message, "--%s %s is not a number from 0 to %g", name,
                           dllm_option_shown(text), (double)most);
    if (errno == 0) return true;
    return DLLM_REFUSE(message, "--%s %s is below %g, the least number above 0", name, text,
                       (double)FLT_MIN);
}

bool dllm_option_share(float *out, const char *name, const char *text, dllm_message *message)
{
    if (parse_real(out, text) && *out > 0 && *out <= 1) return true;
    return DLLM_REFUSE(message, "--%s %s is not above 0 and at most 1", name,
                       dllm_option_shown(text));
}
